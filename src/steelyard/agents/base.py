"""The interface of agents: what an agent is given, what it brings, and what it returns.

An agent either *delivers* a change as data (a reference, a patch, a folder: no process of its own), or *works* in
a sandbox through commands. Either way the same importer makes the change, when nothing that made it is alive.

An agent that works opens one `Session` for a trial. The session answers every message of it, turn by turn or step by
step, and is closed at the end.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, ClassVar, Literal, Protocol

from steelyard.agents.traces import items
from steelyard.bench import apply_patch
from steelyard.bench.kept_output import STREAM_BYTES
from steelyard.contract.model import Policy
from steelyard.deferred.data_class import dataclass
from steelyard.environment.prepare import Environment
from steelyard.errors import AgentFault, InfraFault
from steelyard.evidence.change.change import Change
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.redact import Secrets
from steelyard.evidence.trace.events import EventLog
from steelyard.evidence.trace.termination import Termination
from steelyard.gateway import address
from steelyard.sandboxes.base import (
    AllowedHost,
    Command,
    CommandResult,
    HostFolder,
    Mount,
    OnOutput,
    Sandbox,
)
from steelyard.sandboxes.init.feed import Feed

# It can run the control command of stages; it is the contract's own or a replay; it cannot run commands.
StageRole = Literal["asks", "exempt", "cannot"]
NOT_FOUND = 127  # what a shell says of a command that is not there
AGENT_BYTES = 4 << 20  # of what an agent's process prints on one stream, in `agent/`
STOPPED = "the run was stopped"


@dataclass(frozen=True, slots=True)
class Ending:
    """Why an agent stopped working."""

    code: Termination
    rationale: str
    finished: CommandResult | None = None  # the agent's own process, where it is one
    answer: str | None = None  # its final response, where that is not all that its process printed
    trace: Mapping[str, Any] | None = None  # facts from the client's own trace, where it has one
    native: tuple[items.NativeFile, ...] = ()  # session files that the client left
    is_lasting: bool = False  # of `infrastructure`: another attempt would end the same


@dataclass(frozen=True, slots=True)
class Delivery:
    """A change handed over as data and imported as such: no sandbox of the agent's is needed."""

    change: Change
    applied: apply_patch.PatchResult | None = None  # how a patch became that change


@dataclass(frozen=True, slots=True)
class AgentResources:
    """What an agent brings of its own. No part of it belongs to the contract, to setup or to a check."""

    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # of the agent's processes only
    hosts: tuple[AllowedHost, ...] = ()  # that its sandbox may reach beside the contract's
    folders: tuple[HostFolder, ...] = ()  # of this machine, mounted read-only in its sandbox
    # Whose wire formats it speaks; with any, a run opens the model gateway
    providers: frozenset[str] = frozenset()

    @property
    def secrets(self) -> Secrets:
        """The values of its variables, which no record shows."""
        return Secrets(self.env)


NO_RESOURCES = AgentResources()


@dataclass(frozen=True, slots=True)
class Workplace:
    """What an agent has for the whole trial."""

    sandbox: Sandbox
    events: EventLog
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # the agent's own variables
    is_stopped: Callable[[], bool] = lambda: False  # then no process is started any more
    # Where the agent finds its models; its variables are in `env` already
    gateway: address.GatewayAddress | None = None
    # The contract's, by which requests for permission are answered
    policy: Policy = field(default_factory=Policy)
    allows_writes: Callable[[], bool] = lambda: True  # false in an enforced stage `inspect`


@dataclass(frozen=True, slots=True)
class Turn:
    """One message to the agent, and the means to work on it."""

    workplace: Workplace
    brief: str
    placeholders: Mapping[str, str]
    wall_s: float
    env: Mapping[str, str] = field(default_factory=dict)  # beside the workplace's
    number: int = 1  # which message of the run this is
    place: Mapping[str, Any] = field(default_factory=dict)  # of the answer: its conversation, index and step
    on_output: OnOutput | None = None  # receives what the agent's process prints, while it prints

    @property
    def sandbox(self) -> Sandbox:
        return self.workplace.sandbox

    @property
    def events(self) -> EventLog:
        return self.workplace.events

    def put(self, name: str, content: bytes) -> str:
        """Write a file into HOME, which no other sandbox shares and no capture reads; its path inside.

        The home of an image's user may not exist, or belong to another user.
        """
        place = 'h="$HOME"; [ -d "$h" ] && [ -w "$h" ] || h=/tmp'
        file = f'{place}; f="$h/.steelyard-{name}"; rm -rf -- "$f"'
        script = f'umask 077; {file}; cat > "$f" && chmod 700 "$f" && printf %s "$f"'
        done = self.sandbox.run(Command(("/bin/sh", "-c", script), stdin=content, timeout_s=60))
        if done.exit_code != 0 and self.number > 1 and not done.lost:
            # The file could be written before: an agent that locks or fills its own HOME gets no second run.
            reason = done.stderr.text.strip() or done.not_started or f"exit code {done.exit_code}"
            raise AgentFault(f"{name} could not be delivered to the agent again: {reason}")
        if done.exit_code != 0:
            raise InfraFault(f"{name} could not be delivered to the agent: {done.stderr.text.strip()}")
        return os.fsdecode(done.stdout.head + done.stdout.tail)

    def run(self, argv: tuple[str, ...], stdin: bytes | Feed = b"") -> CommandResult:
        """The agent's main process: logged as one tool call, ended by the run's wall-clock budget."""
        if self.workplace.is_stopped():
            return CommandResult(None, not_started=STOPPED)
        call = {
            "kind": "execute",
            "argv": list(argv),
            "whole_agent": True,
            "ceiling_s": round(self.wall_s, 3),
        }
        seq = self.events.append("tool.call", "agent", call)
        command = Command(
            argv,
            env={**self.workplace.env, **self.env},
            stdin=stdin,
            timeout_s=self.wall_s,
            keep_bytes=AGENT_BYTES,
            whole_bytes=STREAM_BYTES,
        )
        finished = self.sandbox.run(command, self.on_output)
        self.events.append(
            "tool.result",
            "agent",
            {
                "call": seq,
                "whole_agent": True,
                "exit_status": finished.exit_code,
                "signal": finished.signal,
                "timed_out": finished.timed_out,
                "wall_ns": finished.wall_ns,
                "stdout": {"digest": finished.stdout.sha256, "bytes": finished.stdout.size},
                "stderr": {"digest": finished.stderr.sha256, "bytes": finished.stderr.size},
            },
        )
        return finished


class Session(Protocol):
    """One agent in one trial. Its processes live on between turns; after a step every process is counted and killed."""

    def respond(self, turn: Turn) -> Ending:
        """Work on one message until done."""

    def close(self) -> None:
        """No further message comes. Every process of the sandbox is killed afterwards."""


@dataclass(frozen=True, slots=True)
class EachTurnAlone:
    """The session of an agent that starts afresh for each message."""

    work: Callable[[Turn], Ending]

    def respond(self, turn: Turn) -> Ending:
        return self.work(turn)

    def close(self) -> None:
        """Nothing is open between turns."""


class Agent(Protocol):
    @property
    def name(self) -> str:
        """As tables, folders and the manifest show it: `noop`, `script:fix.sh`."""

    @property
    def in_sandbox(self) -> bool:
        """Does a process of the agent's run in the sandbox?"""

    @property
    def resources(self) -> AgentResources:
        """Variables, hosts and folders of the agent's own."""

    @property
    def stage_role(self) -> StageRole:
        """How the agent keeps the stages of a contract."""

    @property
    def delivers_by_step(self) -> bool:
        """Whether its change as data grows with each step of a contract: then `deliver_until` is asked for each."""

    def parameters(self) -> Mapping[str, Any]:
        """What the manifest records: digests of scripts, command lines, models."""

    def extra_mounts(self) -> tuple[Mount, ...]:
        """Folders of the agent's own beside the workspace, in its sandbox and in no other."""

    def programs(self) -> tuple[str, ...]:
        """What must be in its sandbox for it to start at all, as far as that is known."""

    def deliver(self, environment: Environment, blobs: Blobs) -> Delivery | None:
        """The whole change as data; None from an agent that works in a sandbox."""

    def deliver_until(self, environment: Environment, blobs: Blobs, step: int) -> Delivery | None:
        """The change as data as it is after that many steps."""

    def open(self, workplace: Workplace) -> Session:
        """Begin a trial; however it ends, everything that the agent left is killed afterwards."""


class BareAgent:
    """What agents have in common that bring nothing of their own, and hand over no change as data."""

    resources: ClassVar[AgentResources] = NO_RESOURCES
    delivers_by_step: ClassVar[bool] = False
    stage_role: ClassVar[StageRole] = "exempt"

    def parameters(self) -> Mapping[str, Any]:
        return {}

    def extra_mounts(self) -> tuple[Mount, ...]:
        return ()

    def programs(self) -> tuple[str, ...]:
        return ()

    def deliver(self, environment: Environment, blobs: Blobs) -> Delivery | None:
        del environment, blobs
        return None

    def deliver_until(self, environment: Environment, blobs: Blobs, step: int) -> Delivery | None:
        del step
        return self.deliver(environment, blobs)


def ending_of(finished: CommandResult) -> Ending:
    """How an agent that is one process ended."""
    if finished.timed_out:
        return Ending("wall_time", "the wall-clock budget of the run was used up", finished)
    if finished.not_started:
        return Ending("agent_crash", f"could not start: {finished.not_started}", finished)
    if finished.lost:
        return Ending("infrastructure", "the sandbox died under the agent", finished)
    if finished.signal is not None:
        return Ending("agent_crash", f"killed by signal {finished.signal}", finished)
    if finished.exit_code:
        absent = ": a command was not found in the sandbox" if finished.exit_code == NOT_FOUND else ""
        return Ending("agent_crash", f"exit code {finished.exit_code}{absent}", finished)
    return Ending("completed", "the agent finished", finished)
