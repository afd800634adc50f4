"""mini-swe-agent, by the SWE-agent team: one tool, bash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from steelyard.agents.clients.base import Client, Launch, Task, python_module
from steelyard.agents.installation.package import Package
from steelyard.agents.options import ClientOptions, option
from steelyard.agents.traces.items import Failure, Item, NativeFile
from steelyard.agents.traces.mini_swe_agent import parse_trajectory


@dataclass(frozen=True, kw_only=True)
class Options(ClientOptions):
    model: str = option(
        about="the model with its provider, for example openai/gpt-5 or anthropic/claude-opus-5-5"
    )
    cost_limit: float = option(0.0, "the client's own limit of cost in USD; 0: none")


class MiniSweAgent(Client):
    """Its trajectory is a file, so its calls become events when it has ended. Each message is a new session."""

    kind = "mini_swe_agent"
    title = "mini-swe-agent"
    package = Package(
        *("pypi", "mini-swe-agent", "2.4.6", "python"),
        program="runtime/bin/python3",
        extra=("mcp",),  # litellm imports it and does not declare it
    )
    options = Options
    providers = ("openai", "anthropic", "gemini")
    gives = ("messages", "tool calls", "tool results", "exit codes", "tokens", "cost")
    session_files = ("mini/*.traj.json",)
    is_resumable = False

    def provider(self, options: Options) -> str:
        first = options.model.partition("/")[0]
        return first if first in self.providers else "openai"

    def launch(self, options: Options, task: Task) -> Launch:
        provider = self.provider(options)
        model = options.model if "/" in options.model else f"{provider}/{options.model}"
        argv = [*python_module("minisweagent.run.mini"), "-y", "--exit-immediately"]
        argv += [
            "-m",
            model,
            "-t",
            task.text,
            "-o",
            f"{task.home}/mini/run.traj.json",
            "-l",
            f"{options.cost_limit:g}",
        ]
        name = provider.upper()
        env = {
            f"{name}_API_KEY": task.endpoint.key,
            f"{name}_API_BASE": task.endpoint.url(provider),
            "MSWEA_CONFIGURED": "true",
            "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "MSWEA_GLOBAL_CONFIG_DIR": f"{task.home}/mini",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_TELEMETRY": "False",
        }
        return Launch(tuple(argv), env, files={"mini/.env": b""})

    def read_session(self, files: Sequence[NativeFile], output: str) -> Iterable[Item]:
        del output
        for file in files:
            record = file.json_object()
            items = None if record is None else parse_trajectory(record)
            yield from items if items is not None else (Failure("error", f"{file.name} is no trajectory"),)
