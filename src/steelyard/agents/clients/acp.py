"""Any agent that speaks the Agent Client Protocol: those that we know how to install, or a command of the operator's."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.agents.base import AgentResources, Session, Turn, Workplace
from steelyard.agents.clients.acp_conversation import Conversation
from steelyard.agents.clients.base import (
    INSTALLED_AT,
    Client,
    ClientAgent,
    ClientSession,
    Launch,
    Task,
    Work,
    both,
    endpoint_of,
)
from steelyard.agents.clients.gemini_cli import NODE, GeminiCli, gemini_files, gemini_variables
from steelyard.agents.clients.gemini_cli import Options as GeminiOptions
from steelyard.agents.clients.opencode import Opencode, opencode_variables
from steelyard.agents.installation.installed import Installation, find_installed
from steelyard.agents.installation.package import Package
from steelyard.agents.options import ClientOptions, option
from steelyard.agents.traces.recorder import TraceRecorder
from steelyard.errors import OperatorFault

COMMAND = "command"
CLAUDE_AGENT_ACP = Package(
    *("npm", "@agentclientprotocol/claude-agent-acp", "0.99.1", "node"),
    program="node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js",
)


@dataclass(frozen=True, kw_only=True)
class Options(ClientOptions):
    model: str = option("", "the model, for an agent whose model we know how to choose")
    agent: str = option("gemini_cli", "gemini_cli, opencode, claude_agent_acp, or command")
    command: str = option("", "with agent=command: the agent's command line in the sandbox; see --agent-path")
    provider: str = option("", "with agent=command: whose wire format it speaks: anthropic, openai, gemini")


class KnownAgent(NamedTuple):
    """An agent that we know how to install and to start."""

    installed_as: str
    package: Package
    provider: str
    launch: Callable[[Options, Task], Launch]
    auth_method: str = ""


def _gemini(options: Options, task: Task) -> Launch:
    model = ["-m", options.model] if options.model else []
    argv = (NODE, f"{INSTALLED_AT}/{GeminiCli.package.program_path}", "--acp", "--skip-trust", *model)
    return Launch(argv, gemini_variables(task), files=gemini_files(GeminiOptions(model=options.model), task))


def _opencode(options: Options, task: Task) -> Launch:
    config = opencode_variables("openai", options.model or "gpt-5", task)
    config["OPENCODE_CONFIG_CONTENT"] = config["OPENCODE_CONFIG_CONTENT"].replace(
        '"small_model":', f'"model": "gateway/{options.model or "gpt-5"}", "small_model":', 1
    )
    return Launch((f"{INSTALLED_AT}/{Opencode.package.start_path}", "acp"), config)


def _claude(options: Options, task: Task) -> Launch:
    env = {
        "ANTHROPIC_BASE_URL": task.endpoint.url("anthropic"),
        "ANTHROPIC_API_KEY": task.endpoint.key,
        "CLAUDE_CONFIG_DIR": f"{task.home}/config",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        **(
            {"ANTHROPIC_MODEL": options.model, "ANTHROPIC_SMALL_FAST_MODEL": options.model}
            if options.model
            else {}
        ),
    }
    return Launch((NODE, f"{INSTALLED_AT}/{CLAUDE_AGENT_ACP.program_path}"), env)


KNOWN: Mapping[str, KnownAgent] = {
    "gemini_cli": KnownAgent("gemini_cli", GeminiCli.package, "gemini", _gemini, "gemini-api-key"),
    "opencode": KnownAgent("opencode", Opencode.package, "openai", _opencode),
    "claude_agent_acp": KnownAgent("claude_agent_acp", CLAUDE_AGENT_ACP, "anthropic", _claude),
}


class AcpClient(Client):
    """The package of `agents` is that of the default agent; `agents install acp` installs that one."""

    kind = "acp"
    title = "Agent Client Protocol"
    package = GeminiCli.package
    options = Options
    providers = ("anthropic", "openai", "gemini")
    gives = (
        "messages",
        "tool calls",
        "tool results",
        "permission requests",
        "session",
        "tokens of some agents",
    )

    @property
    def installed_as(self) -> str:
        return "gemini_cli"

    def provider(self, options: Options) -> str:
        return options.provider if options.agent == COMMAND else KNOWN[options.agent].provider

    def agent(self, options: Options) -> ClientAgent:
        if options.agent == COMMAND:
            return AcpAgent(self, _check(options), Installation("acp", "", Path(), {}))
        if options.agent not in KNOWN:
            raise OperatorFault(
                f"agent acp: there is no agent={options.agent}; choose from {', '.join((*KNOWN, COMMAND))}"
            )
        known = KNOWN[options.agent]
        return AcpAgent(self, options, find_installed(known.installed_as, known.package, options.version))

    def launch(self, options: Options, task: Task) -> Launch:
        if options.agent == COMMAND:
            return Launch(tuple(shlex.split(options.command)))
        return KNOWN[options.agent].launch(options, task)


@dataclass(frozen=True)
class AcpAgent(ClientAgent):
    @property
    def resources(self) -> AgentResources:
        own = super().resources
        return own if self.installed.record else replace(own, folders=())

    def open(self, workplace: Workplace) -> Session:
        return AcpSession(self, endpoint_of(self, workplace))


class AcpSession(ClientSession):
    """A process for each message; a later one loads the session of the one before, where the agent can."""

    def work(self, turn: Turn, launch: Launch, task: Task, recorder: TraceRecorder) -> Work:
        options: Any = self._agent.options
        known = KNOWN.get(options.agent)
        auth = known.auth_method if known is not None else ""
        policy = turn.workplace.policy
        may_write = turn.workplace.allows_writes
        talk = Conversation(turn.events, policy, recorder, task.text, task.session, auth, may_write)
        conducted = talk.start()
        with_variables = replace(turn, env={**turn.env, **launch.env}, on_output=both(turn, talk.take))
        finished = with_variables.run(launch.argv, talk.feed)
        talk.end()
        conducted.join(timeout=30)
        if talk.is_answered and not finished.timed_out and not finished.lost:
            finished = replace(finished, exit_code=0, signal=None)  # we ended it: its answer was complete
        return Work(finished, (talk.record,))


def _check(options: Options) -> Options:
    if not options.command or options.provider not in AcpClient.providers:
        raise OperatorFault(
            "agent acp: agent=command needs command=LINE and provider=anthropic, openai or gemini, for example "
            "--agent 'acp:agent=command,command=/opt/mine/bin/agent --acp,provider=openai' --agent-path DIR:/opt/mine"
        )
    return options
