"""Who is tried: what an agent is given, and what it gives back.

An agent either *delivers* a change as data (a reference, a patch, a folder: no process of its own), or *works* in
a sandbox through commands. Either way the same importer makes the change, when nothing that made it is alive.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from steelyard.bench.apply_patch import Applied
from steelyard.bench.kept_output import STREAM_BYTES
from steelyard.environment.prepare import Environment
from steelyard.errors import AgentFault, InfraFault
from steelyard.evidence.change.change import Change
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.trace.events import EventLog
from steelyard.evidence.trace.termination import Termination
from steelyard.sandboxes.base import Command, CommandResult, Mount, Sandbox

NOT_FOUND = 127  # what a shell says of a command that is not there
AGENT_BYTES = 4 << 20  # of what an agent's process prints on one stream, in `agent/`


@dataclass(frozen=True, slots=True)
class Ending:
    """Why an agent stopped working."""

    code: Termination
    rationale: str
    finished: CommandResult | None = None  # the agent's own process, where it is one


@dataclass(frozen=True, slots=True)
class Delivery:
    """A change handed over as data and imported as such: no sandbox of the agent's is needed."""

    change: Change
    applied: Applied | None = None  # how a patch became that change


@dataclass(frozen=True, slots=True)
class Session:
    """One agent's time in one sandbox."""

    sandbox: Sandbox
    brief: str
    placeholders: Mapping[str, str]
    events: EventLog
    wall_s: float
    env: Mapping[str, str] = field(default_factory=dict)
    turn: int = 1  # which message of the run's this is about

    def put(self, name: str, content: bytes) -> str:
        """Write a file into HOME, which no other sandbox shares and no capture reads; its path inside.

        A user of an image may have a home that is not there, or not his.
        """
        place = 'h="$HOME"; [ -d "$h" ] && [ -w "$h" ] || h=/tmp'
        file = f'{place}; f="$h/.steelyard-{name}"; rm -rf -- "$f"'
        script = f'umask 077; {file}; cat > "$f" && chmod 700 "$f" && printf %s "$f"'
        done = self.sandbox.run(Command(("/bin/sh", "-c", script), stdin=content, timeout_s=60))
        if done.exit_code != 0 and self.turn > 1 and not done.lost:
            # It was there before: whoever locks or fills his own HOME has not found a way to be tried again.
            said = done.stderr.text.strip() or done.not_started or f"exit code {done.exit_code}"
            raise AgentFault(f"{name} could not be delivered to the agent again: {said}")
        if done.exit_code != 0:
            raise InfraFault(f"{name} could not be delivered to the agent: {done.stderr.text.strip()}")
        return os.fsdecode(done.stdout.head + done.stdout.tail)

    def run(self, argv: tuple[str, ...]) -> CommandResult:
        """The agent's main process: logged as one tool call, ended by the run's wall-clock budget."""
        call = {
            "kind": "execute",
            "argv": list(argv),
            "whole_agent": True,
            "ceiling_s": round(self.wall_s, 3),
        }
        self.events.append("tool.call", "agent", call)
        command = Command(
            argv, env=self.env, timeout_s=self.wall_s, keep_bytes=AGENT_BYTES, whole_bytes=STREAM_BYTES
        )
        finished = self.sandbox.run(command)
        self.events.append(
            "tool.result",
            "agent",
            {
                "exit_status": finished.exit_code,
                "signal": finished.signal,
                "timed_out": finished.timed_out,
                "wall_ns": finished.wall_ns,
                "stdout": {"digest": finished.stdout.sha256, "bytes": finished.stdout.size},
                "stderr": {"digest": finished.stderr.sha256, "bytes": finished.stderr.size},
            },
        )
        return finished


class Agent(Protocol):
    @property
    def name(self) -> str:
        """As the contract's readers know it: `noop`, `script:fix.sh`."""

    @property
    def in_sandbox(self) -> bool:
        """Does a process of the agent's run in the sandbox?"""

    def parameters(self) -> Mapping[str, Any]:
        """What the manifest records: digests of scripts, command lines, models."""

    def extra_mounts(self) -> tuple[Mount, ...]:
        """Folders of the agent's own beside the workspace, in its sandbox and in no other."""

    def programs(self) -> tuple[str, ...]:
        """What must be in its sandbox for it to start at all, as far as that is known."""

    def deliver(self, environment: Environment, blobs: Blobs) -> Delivery | None:
        """The whole change as data; None from an agent that works in a sandbox."""

    def work(self, session: Session) -> Ending:
        """Work until done; however it ends, everything it left is killed afterwards."""


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
