"""A recorded run -> an agent that makes the same changes again, in the same order, in a fresh sandbox.

    replay:FOLDER          every `workspace.change` of the run, message by message: a file is written, a link made, a path removed
    replay_tools:FOLDER    the shell commands of the trace are run again, and the changes that no command made are made so

`replay` starts nothing that the recorded agent started. `replay_tools` records how each command compares with its record, in
its `tool.result`. A content that was not kept while the agent worked, because it was large or one
of thousands, is left out if the path changed again later; otherwise it ends the replay with the number of its event.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from steelyard.agents.base import BareAgent, EachTurnAlone, Ending, Session, Turn, Workplace, ending_of
from steelyard.agents.recorded_calls import RecordedCall, read_calls, repeat
from steelyard.deferred.data_class import dataclass
from steelyard.errors import AgentFault, OperatorFault
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.folder.folder import FINAL_RESPONSE, MANIFEST, RunFolder
from steelyard.evidence.trace.chain import read_events
from steelyard.filesystem.tree import Entry, path_from_json, printable
from steelyard.sandboxes.base import Command, CommandResult

_STEP_S = 60.0
_REMOVE = 'rm -rf -- "$1"'
_PARENT = 'd=${1%/*}; [ "$d" = "$1" ] || mkdir -p -- "$d"'
_REPLACE = f'{_PARENT}; if [ -d "$1" ] || [ -L "$1" ]; then {_REMOVE}; fi'
SCRIPTS = {
    "file": f'{_REPLACE}; cat > "$1" && chmod "$2" -- "$1"',
    "symlink": f'{_PARENT}; {_REMOVE}; ln -s -- "$2" "$1"',
    "dir": f'if [ -L "$1" ] || ! [ -d "$1" ]; then {_REMOVE}; mkdir -p -- "$1"; fi',
}


class Mutation(NamedTuple):
    """What an event says that stands at a path from then on."""

    event: int
    path: str
    after: Entry | None
    message: int  # after which message to the agent, counted from 1
    call: int | None = None  # the event of the call that made it


def read_mutations(folder: RunFolder) -> Iterator[Mutation]:
    """In the order of the log; a rename is a removal and what came of it."""
    message = 0
    for event in read_events(folder.events):
        if event.type == "brief":
            message += 1
        elif event.type == "workspace.change":
            payload = event.payload
            call = payload.get("attributed_to")
            for gone in () if payload.get("renamed_from") is None else (payload["renamed_from"],):
                yield Mutation(event.seq, path_from_json(gone), None, message, call)
            after = payload.get("after")
            entry = Entry.from_json(after) if after else None
            yield Mutation(event.seq, path_from_json(payload["path"]), entry, message, call)
        elif event.type == "workspace.changes":
            for path, renamed_from, _, after in event.payload["rows"]:
                if renamed_from is not None:
                    yield Mutation(event.seq, path_from_json(renamed_from), None, message)
                yield Mutation(event.seq, path_from_json(path), _row_entry(after), message)


def _row_entry(mark: str | None) -> Entry | None:
    """A row has no mode and no target of a link."""
    if mark is None:
        return None
    return Entry(mark) if mark in {"dir", "symlink"} else Entry("file", "644", 0, mark)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Replay(BareAgent):
    """Applies the recorded changes of one run. The recorded agent kept the stages, or did not."""

    path: Path
    with_tools: bool = False
    in_sandbox: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self._folder.events.is_file():
            raise OperatorFault(f"{self.path} is not a run folder: it has no events")

    @property
    def _folder(self) -> RunFolder:
        return RunFolder(self.path)

    @property
    def name(self) -> str:
        kind = "replay_tools" if self.with_tools else "replay"
        return f"{kind}:{printable(self.path.resolve().name)[-6:]}"

    def parameters(self) -> Mapping[str, Any]:
        return {
            "replay": {
                "run": self.path.resolve().name,
                "mutations": sum(1 for _ in read_mutations(self._folder)),
                "tools": self.with_tools,
            }
        }

    def open(self, workplace: Workplace) -> Session:
        del workplace
        return EachTurnAlone(self.work)

    def work(self, turn: Turn) -> Ending:
        """The changes that followed the message of this number, and in the end the recorded answer."""
        folder = self._folder
        manifest = folder.read_json(MANIFEST)
        cwd = "/" if manifest.get("environment", {}).get("scope") == "system" else ""
        call = {"kind": "write", "tool": "replay", "whole_agent": True, "argv": ["replay", folder.run_id]}
        seq = turn.events.append("tool.call", "agent", call)
        applied = 0
        last = {one.path: one.event for one in read_mutations(folder)}
        for step in self._steps(turn.number):
            if turn.workplace.is_stopped():
                break
            if isinstance(step, RecordedCall):
                _repeat_call(turn, step)
            elif not _is_passing(step, folder.blobs, last):
                apply_mutation(turn, folder.blobs, step, cwd)
                applied += 1
        done = self._answer(turn, folder)
        turn.events.append(
            "tool.result",
            "agent",
            {"call": seq, "whole_agent": True, "exit_status": done.exit_code, "wall_ns": done.wall_ns, "applied": applied},
        )  # fmt: skip
        return ending_of(done)

    def _steps(self, message: int) -> list[Mutation | RecordedCall]:
        """What followed that message, in its order. A change that a repeated command made is no step.

        A change is logged a moment after it was made, perhaps after the next call, so it goes where its own call is. The order
        of changes stays.
        """
        folder = self._folder
        calls = read_calls(read_events(folder.events)) if self.with_tools else []
        repeated = {one.event for one in calls}
        places: list[tuple[int, Mutation | RecordedCall]] = [(one.event, one) for one in calls]
        at = 0
        for mutation in read_mutations(folder):
            at = max(at, mutation.call or mutation.event)
            if mutation.call not in repeated:
                places.append((at, mutation))
        in_order = sorted(places, key=lambda place: place[0])
        return [step for _, step in in_order if max(1, step.message) == message]

    @staticmethod
    def _answer(turn: Turn, folder: RunFolder) -> CommandResult:
        """What the recorded agent said last, printed again: it is the output of a contract without a workspace."""
        name = FINAL_RESPONSE
        answer = folder.read_bytes(name) if folder.file(name).is_file() else b""
        return turn.sandbox.run(Command(("/bin/sh", "-c", "cat"), stdin=answer, timeout_s=_STEP_S))


def _repeat_call(turn: Turn, call: RecordedCall) -> None:
    name = f"replay-{call.event}"
    payload = {"kind": "execute", "tool": "replay", "id": name, "source": "replay"}
    turn.events.append("tool.call", "agent", {**payload, "input": {"command": call.command}})
    begun = time.monotonic_ns()
    result = repeat(turn, call)
    spent = {"wall_ns": time.monotonic_ns() - begun, "is_error": bool(result["exit_status"])}
    turn.events.append(
        "tool.result", "agent", {"id": name, "tool": "replay", "source": "replay", **spent, **result}
    )


def _is_passing(mutation: Mutation, blobs: Blobs, last: Mapping[str, int]) -> bool:
    """Whether a content is not on record, and something else stands there in the end."""
    after = mutation.after
    is_unknown = after is not None and after.kind == "file" and after.sha256 not in blobs
    return is_unknown and last[mutation.path] != mutation.event


def apply_mutation(turn: Turn, blobs: Blobs, mutation: Mutation, cwd: str) -> None:
    """One change, by a command in the sandbox. Raises AgentFault where it cannot be made."""
    after, path = mutation.after, f"./{mutation.path}"
    where = f"event {mutation.event}: {printable(mutation.path)}"
    content, second, script = b"", "", _REMOVE
    if after is not None:
        script, second = SCRIPTS[after.kind], after.target if after.kind == "symlink" else after.mode
        if after.kind == "file":
            if after.sha256 not in blobs:
                raise AgentFault(f"{where}: its content is not on record, so the run cannot be replayed")
            content = blobs.read(after.sha256)
    argv = ("/bin/sh", "-c", script, "replay", path, second)
    done = turn.sandbox.run(Command(argv, cwd=cwd, stdin=content, timeout_s=_STEP_S))
    if done.exit_code != 0:
        reason = done.stderr.text.strip() or done.not_started or f"exit code {done.exit_code}"
        raise AgentFault(f"{where}: the change could not be made again: {reason}")
