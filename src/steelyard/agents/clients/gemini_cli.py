"""Gemini CLI, by Google."""

from __future__ import annotations

import json
from dataclasses import dataclass

from steelyard.agents.clients.base import INSTALLED_AT, Client, Launch, Task, program
from steelyard.agents.installation.package import Package
from steelyard.agents.options import ClientOptions, option
from steelyard.agents.traces.gemini_cli import parse_gemini_cli
from steelyard.agents.traces.items import Parser

SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"disableAutoUpdate": True, "disableUpdateNag": True, "enableAutoUpdate": False},
}
NODE = f"{INSTALLED_AT}/runtime/bin/node"


@dataclass(frozen=True, kw_only=True)
class Options(ClientOptions):
    model: str = option(about="the model, for example gemini-2.5-pro")
    max_turns: int = option(0, "stop after so many turns; 0: no limit")


class GeminiCli(Client):
    """Tools are not asked for: the sandbox is the boundary."""

    kind = "gemini_cli"
    title = "Gemini CLI"
    package = Package(
        *("npm", "@google/gemini-cli", "0.61.0", "node"),
        program="node_modules/@google/gemini-cli/bundle/gemini.js",
    )
    options = Options
    providers = ("gemini",)
    gives = ("messages", "tool calls", "tool results", "tokens", "session")
    session_files = (".gemini/tmp/*/chats/*.json", ".gemini/tmp/*/chats/*.jsonl")

    def parser(self) -> Parser:
        return parse_gemini_cli

    def launch(self, options: Options, task: Task) -> Launch:
        argv = [
            NODE,
            program(self),
            "-p",
            task.text,
            "-y",
            "--skip-trust",
            "-o",
            "stream-json",
            "-m",
            options.model,
        ]
        argv += ["--resume", task.session] if task.session else []
        return Launch(tuple(argv), gemini_variables(task), files=gemini_files(options, task))


def gemini_variables(task: Task) -> dict[str, str]:
    return {
        "GEMINI_API_KEY": task.endpoint.key,
        "GOOGLE_GEMINI_BASE_URL": task.endpoint.url("gemini"),
        "GEMINI_CLI_HOME": task.home,
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_TELEMETRY_ENABLED": "false",
    }


def gemini_files(options: Options, task: Task) -> dict[str, bytes]:
    limit = {"model": {"maxSessionTurns": options.max_turns}} if options.max_turns else {}
    return {} if task.session else {".gemini/settings.json": json.dumps({**SETTINGS, **limit}).encode()}
