"""Options of the command line -> what an agent brings of its own, each checked before anything starts.

--agent-env NAME          the variable NAME of this process, for the agent's processes; its value is in no record
--agent-host HOST:PORT    a host that the agent's sandbox may reach, and no other sandbox
--agent-path DIR[:AT]     a folder of this machine, read-only in the agent's sandbox at AT (as a rule at its own path)
--agent-provider NAME     a provider whose models the agent reaches through the gateway: anthropic, openai, gemini
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.agents.base import Agent, AgentResources, Delivery, Session, StageRole, Workplace
from steelyard.contract.allowed_hosts import check_host
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.pattern import deferred_pattern
from steelyard.environment.prepare import Environment
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.tree import is_within
from steelyard.plan.agent_options import AgentOptions
from steelyard.providers.provider import PROVIDERS
from steelyard.sandboxes.base import HOME, WORKSPACE, AllowedHost, HostFolder, Mount

_NAME = deferred_pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_HOST = deferred_pattern(r"[^\s:/]+:[0-9]{1,5}")
_RESERVED = "STEELYARD_"
# Of the sandbox itself, of the kernel, and of verifiers and solutions.
_TAKEN = (
    *(WORKSPACE, HOME, "/proc", "/sys", "/dev", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/run"),
    *("/tests", "/logs", "/solution", "/solutions"),
)
_OTHERS_READ = 0o005


@dataclass(frozen=True)
class ConfiguredAgent:
    """An agent with a name and resources of the operator's choice."""

    agent: Agent
    name: str
    resources: AgentResources

    @property
    def in_sandbox(self) -> bool:
        return self.agent.in_sandbox

    @property
    def stage_role(self) -> StageRole:
        return self.agent.stage_role

    @property
    def delivers_by_step(self) -> bool:
        return self.agent.delivers_by_step

    def parameters(self) -> Mapping[str, Any]:
        return self.agent.parameters()

    def extra_mounts(self) -> tuple[Mount, ...]:
        return self.agent.extra_mounts()

    def programs(self) -> tuple[str, ...]:
        """Those of the sandbox; what the agent's own folders must have is looked for right here."""
        inside = [name for name in self.agent.programs() if not self._is_own(name)]
        return tuple(inside)

    def deliver(self, environment: Environment, blobs: Blobs) -> Delivery | None:
        return self.agent.deliver(environment, blobs)

    def deliver_until(self, environment: Environment, blobs: Blobs, step: int) -> Delivery | None:
        return self.agent.deliver_until(environment, blobs, step)

    def open(self, workplace: Workplace) -> Session:
        return self.agent.open(workplace)

    def _is_own(self, program: str) -> bool:
        """Whether a program is in a folder of the agent's own."""
        folder = next((one for one in self.resources.folders if is_within(program, one.path)), None)
        if folder is None:
            return False
        there = folder.source / posixpath.relpath(program, folder.path)
        if not os.path.lexists(there):  # a link may lead to where it is only inside the sandbox
            raise OperatorFault(f"agent {self.name}: there is no {program}; {folder.source} has no such file")
        return True


def mounted_name(agent: Agent, program: str) -> str | None:
    """The whole path of a program in a folder of the agent's own: such a folder is mounted, and is not on PATH."""
    for folder in agent.resources.folders:
        for place in (program, f"bin/{program}"):
            if not program.startswith("/") and (folder.source / place).is_file():
                return posixpath.join(folder.path, place)
    return None


def configure_agent(agent: Agent, name: str, options: AgentOptions, environ: Mapping[str, str]) -> Agent:
    """The agent with a name of its own and what the options give it. An agent without a process is given nothing."""
    own = agent.resources
    if agent.in_sandbox and options:
        own = AgentResources(
            {**own.env, **_variables(options.env, environ)},
            tuple(dict.fromkeys((*own.hosts, *map(_host, options.hosts)))),
            (*own.folders, *_folders(options.paths)),
            own.providers.union(map(_provider, options.providers)),
        )
    if not name and own == agent.resources:
        return agent
    shown = name or agent.name
    if own.secrets.redact_text(shown) != shown:
        raise OperatorFault(
            "the name of an agent shows the value of one of its variables; give it another name"
        )
    return ConfiguredAgent(agent, shown, own)


def _variables(names: tuple[str, ...], environ: Mapping[str, str]) -> dict[str, str]:
    return {name: _value(name, environ) for name in names}


def _value(name: str, environ: Mapping[str, str]) -> str:
    if "=" in name:
        variable = name.partition("=")[0]
        raise OperatorFault(
            f"--agent-env takes only the name: other users of this machine can read a command line. "
            f"Set {variable} in the environment and say --agent-env {variable}"
        )
    if not _NAME.fullmatch(name):
        raise OperatorFault(f"--agent-env {name}: not a name of a variable")
    if name.startswith(_RESERVED):
        raise OperatorFault(f"--agent-env {name}: names that begin with {_RESERVED} are set by Steelyard")
    value = environ.get(name)
    if value is None:
        raise OperatorFault(f"--agent-env {name}: the variable is not set; `export {name}=...` sets it")
    if not value:
        raise OperatorFault(f"--agent-env {name}: the variable is set, but empty")
    return value


def _host(text: str) -> AllowedHost:
    if not _HOST.fullmatch(text):
        raise OperatorFault(f"--agent-host {text}: write HOST:PORT, for example api.example.com:443")
    try:
        return AllowedHost.of(check_host(text))
    except ValueError as error:
        raise OperatorFault(f"--agent-host {text}: {error}") from error


def _provider(name: str) -> str:
    if name not in PROVIDERS:
        raise OperatorFault(f"--agent-provider {name}: the providers are {', '.join(PROVIDERS)}")
    return name


def _folders(texts: tuple[str, ...]) -> list[HostFolder]:
    folders = [_folder(text) for text in texts]
    for number, one in enumerate(folders):
        for other in folders[:number]:
            if is_within(one.path, other.path) or is_within(other.path, one.path):
                raise OperatorFault(
                    f"--agent-path {one.source}: {one.path} and {other.path} are in each other's way"
                )
    return folders


def _folder(text: str) -> HostFolder:
    folder, _, at = text.partition(":")
    source = Path(folder).expanduser().absolute()
    problem = _unfit(source)
    if problem:
        raise OperatorFault(f"--agent-path {folder}: {problem}")
    at = at or str(source)
    if not at.startswith("/") or posixpath.normpath(at) != at or at == "/":
        raise OperatorFault(f"--agent-path {text}: {at} is not an absolute path below the root")
    taken = next((one for one in _TAKEN if is_within(at, one) or is_within(one, at)), None)
    if taken is not None:
        raise OperatorFault(
            f"--agent-path {text}: {at} is in the way of {taken} of the sandbox; say where else: {folder}:/opt/agent"
        )
    return HostFolder(at, source.resolve())


def _unfit(source: Path) -> str:
    if not source.exists():
        return "there is no such folder"
    if not source.is_dir():
        return "not a folder"
    if os.geteuid() == 0 and source.stat().st_mode & _OTHERS_READ != _OTHERS_READ:
        return f"the agent, which is not root, could not read it; `chmod o+rx {source}` lets it"
    return ""
