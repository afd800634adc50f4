"""Codex, by OpenAI."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.agents.clients.base import Client, Launch, Task, program
from steelyard.agents.installation.package import Package
from steelyard.agents.options import ClientOptions, option
from steelyard.agents.traces.codex import parse_codex, rejected_calls
from steelyard.agents.traces.items import Item, NativeFile, Parser
from steelyard.agents.traces.recorder import decoded_lines


@dataclass(frozen=True, kw_only=True)
class Options(ClientOptions):
    model: str = option(about="the model, for example gpt-5.5-codex")
    effort: str = option("", "reasoning effort: minimal, low, medium, high")


class Codex(Client):
    """Its own sandbox cannot work inside ours, and fails without an error: it is switched off."""

    kind = "codex"
    title = "Codex"
    package = Package(
        *("npm", "@openai/codex", "0.166.0", "native"),
        program="node_modules/@openai/codex-linux-{machine}/vendor/{triple}/bin/codex",
        is_static=True,
    )
    options = Options
    providers = ("openai",)
    gives = ("messages", "tool calls", "tool results", "exit codes", "rejected calls", "tokens", "session")
    session_files = ("codex/sessions/*/*/*/rollout-*.jsonl",)

    def parser(self) -> Parser:
        return parse_codex

    def launch(self, options: Options, task: Task) -> Launch:
        url = json.dumps(task.endpoint.url("openai"))
        provider = f'{{name="gateway",base_url={url},env_key="OPENAI_API_KEY",wire_api="responses",request_max_retries=3,stream_max_retries=2}}'
        settings = [
            f"model={json.dumps(options.model)}",
            'model_provider="gateway"',
            f"model_providers.gateway={provider}",
            "check_for_update_on_startup=false",
            "analytics.enabled=false",
            "feedback.enabled=false",
        ]
        settings += [f"model_reasoning_effort={json.dumps(options.effort)}"] if options.effort else []
        argv = [program(self), "exec", *(["resume", task.session] if task.session else [])]
        argv += ["--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"]
        argv += [word for setting in settings for word in ("-c", setting)]
        env = {"OPENAI_API_KEY": task.endpoint.key, "CODEX_HOME": f"{task.home}/codex"}
        files = {"codex/config.toml": b""}
        return Launch(
            (*argv, "-"), env, stdin=task.text.encode(errors="replace"), files={} if task.session else files
        )

    def read_session(self, files: Sequence[NativeFile], output: str) -> Iterable[Item]:
        del output
        for file in files:
            yield from rejected_calls(decoded_lines(file.content))
