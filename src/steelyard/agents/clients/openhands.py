"""OpenHands, by All Hands AI: its command line without its terminal interface."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.agents.clients.base import INSTALLED_AT, Client, Launch, Task
from steelyard.agents.installation.package import Package
from steelyard.agents.options import ClientOptions, option
from steelyard.agents.traces.items import Failure, Item, NativeFile, Parser
from steelyard.agents.traces.openhands import parse_openhands, parse_state

_FOLDER = "openhands"


@dataclass(frozen=True, kw_only=True)
class Options(ClientOptions):
    model: str = option(
        about="the model with its provider, for example anthropic/claude-opus-5-5 or openai/gpt-5"
    )


class OpenHands(Client):
    """It asks GitHub for skills and PyPI for updates when it starts; the sandbox has no way there, and it goes on without."""

    kind = "openhands"
    title = "OpenHands"
    package = Package(
        *("pypi", "openhands", "1.16.0", "python"),
        program="runtime/bin/python3",
        python="3.12",
        extra=("func-timeout==4.3.5",),
        built=("func-timeout",),
    )
    options = Options
    providers = ("anthropic", "openai")
    gives = ("messages", "tool calls", "tool results", "exit codes", "tokens", "cost", "session")
    session_files = (f"{_FOLDER}/conversations/*/base_state.json",)
    prints_text = True

    def provider(self, options: Options) -> str:
        first = options.model.partition("/")[0]
        return first if first in self.providers else self.providers[0]

    def parser(self) -> Parser:
        return parse_openhands

    def launch(self, options: Options, task: Task) -> Launch:
        provider = self.provider(options)
        model = options.model if "/" in options.model else f"{provider}/{options.model}"
        # -u: each event is printed when it happens.
        python = (f"{INSTALLED_AT}/runtime/bin/python3", "-I", "-B", "-u", "-m", "openhands_cli.entrypoint")
        argv = [*python, "--headless", "--json", "--override-with-envs", "--exit-without-confirmation"]
        argv += ["--resume", task.session] if task.session else []
        env = {
            "LLM_MODEL": model,
            "LLM_API_KEY": task.endpoint.key,
            "LLM_BASE_URL": task.endpoint.url(provider),
            "OPENHANDS_PERSISTENCE_DIR": f"{task.home}/{_FOLDER}",
            "OPENHANDS_SUPPRESS_BANNER": "1",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_TELEMETRY": "False",
        }
        return Launch((*argv, "-t", task.text), env)

    def read_session(self, files: Sequence[NativeFile], output: str) -> Iterable[Item]:
        del output
        for file in files:
            record = file.json_object()
            if record is None:
                yield Failure("error", f"{file.name} is no state")
            else:
                yield from parse_state(record)
