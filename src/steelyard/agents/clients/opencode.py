"""opencode, by SST."""

from __future__ import annotations

import json
from dataclasses import dataclass

from steelyard.agents.clients.base import Client, Launch, Task, program
from steelyard.agents.installation.package import Package
from steelyard.agents.options import ClientOptions, option
from steelyard.agents.traces.items import Parser
from steelyard.agents.traces.opencode import parse_opencode

_LIBRARY = {
    "openai": "@ai-sdk/openai-compatible",
    "anthropic": "@ai-sdk/anthropic",
    "gemini": "@ai-sdk/google",
}


@dataclass(frozen=True, kw_only=True)
class Options(ClientOptions):
    model: str = option(about="the model, for example gpt-5")
    provider: str = option("openai", "whose wire format is spoken: openai, anthropic, gemini")


class Opencode(Client):
    """The model is configured as one of a provider of our own, so that no list of models is fetched."""

    kind = "opencode"
    title = "opencode"
    package = Package(
        *("npm", "opencode-ai", "1.18.33", "native"),
        program="node_modules/opencode-linux-{machine}/bin/opencode",
    )
    options = Options
    providers = ("openai", "anthropic", "gemini")
    gives = ("messages", "tool calls", "tool results", "exit codes", "denials", "tokens", "session")
    session_files = ("data/opencode/log/*.log",)

    def provider(self, options: Options) -> str:
        return options.provider if options.provider in self.providers else self.providers[0]

    def parser(self) -> Parser:
        return parse_opencode

    def launch(self, options: Options, task: Task) -> Launch:
        argv = [program(self), "run", "--format", "json", "--auto", "-m", f"gateway/{options.model}"]
        argv += ["--session", task.session] if task.session else []
        return Launch((*argv, task.text), opencode_variables(self.provider(options), options.model, task))


def opencode_variables(provider: str, model: str, task: Task) -> dict[str, str]:
    url = task.endpoint.url(provider)
    path = {"openai": "", "anthropic": "/v1", "gemini": "/v1beta"}[provider]
    config = {
        "provider": {
            "gateway": {
                "npm": _LIBRARY[provider],
                "options": {"baseURL": f"{url}{path}", "apiKey": task.endpoint.key},
                "models": {model: {}},
            }
        },
        "small_model": f"gateway/{model}",
        "share": "disabled",
        "autoupdate": False,
    }
    folders = {name: f"{task.home}/{name.split('_')[1].lower()}"
               for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}  # fmt: skip
    return {
        **folders,
        "OPENCODE_CONFIG_CONTENT": json.dumps(config),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    }
