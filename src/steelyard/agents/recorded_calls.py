"""The trace of a recorded run -> the shell commands that its agent called, to be run again, and how each compares.

    tool.call    {"kind": "execute", "input": {"command": "pytest -q"}, "id": "toolu_1", ...}        a command
    tool.result  {"id": "toolu_1", "exit_status": 1, "output": {"digest", "bytes", "prefix"}}        what came of it

Left out, because they are no command that ends by itself with a result: a call without a result, a call that was denied, input
to a program that runs already, a command in the background, and a command of which the trace has only the beginning, or in
which something was redacted.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from steelyard.agents.base import Turn
from steelyard.evidence.trace.chain import Event
from steelyard.gateway.conversation import plain_text
from steelyard.sandboxes.base import Command, CommandResult

PREFIX_CHARS = 4096
_NAMES = ("command", "cmd")
_FOLDERS = ("workdir", "cwd", "dir_path", "directory")
_REDACTED = "[redacted:"
_UNREPEATABLE = ("is_input", "run_in_background", "is_background", "background")
_STAYS = frozenset({"claude_code", "openhands"})  # their shell goes on from call to call in its folder
_SHELL = (
    'if command -v bash >/dev/null 2>&1; then exec bash -c "$1" replay "$2"; fi; exec sh -c "$1" replay "$2"'
)
_PLACE = "/tmp/.steelyard-replay-folder"  # noqa: S108  # in a sandbox of its own
_STAY = f"cd -- \"$(cat {_PLACE} 2>/dev/null || pwd)\" 2>/dev/null; trap 'pwd > {_PLACE}' EXIT\n"


class RecordedCall(NamedTuple):
    """One shell command of the recorded agent."""

    event: int
    message: int  # after which message to the agent, counted from 1
    source: str  # the client
    command: str
    folder: str  # where the client ran it; empty: in the workspace
    exit_status: int | None  # None: the client does not report it
    is_error: bool  # as the client reports it
    output: Mapping[str, Any]  # digest, bytes and prefix, as the client reports it


class Repetition(NamedTuple):
    """How a command ended this time."""

    exit_status: int | None
    output: str

    def to_json(self) -> dict[str, Any]:
        data = self.output.encode(errors="replace")
        return {
            "exit_status": self.exit_status,
            "output": {
                "prefix": self.output[:PREFIX_CHARS],
                "digest": hashlib.sha256(data).hexdigest(),
                "bytes": len(data),
            },
        }


def read_calls(events: Iterable[Event]) -> list[RecordedCall]:
    """The commands that can be run again, in the order of their calls."""
    message = 0
    begun: dict[tuple[str, str], tuple[int, int, str, str]] = {}
    found: list[RecordedCall] = []
    for event in events:
        payload = event.payload
        key = (str(payload.get("source")), str(payload.get("id")))
        if event.type == "brief":
            message += 1
        elif event.type == "permission.decision" and payload.get("decision") == "deny":
            begun.pop((str(payload.get("by")), key[1]), None)
        elif event.actor != "agent" or payload.get("whole_agent"):
            continue
        elif event.type == "tool.call" and (command := _command(payload)):
            begun[key] = (event.seq, message, command, _folder(payload))
        elif event.type == "tool.result" and key in begun:
            seq, number, command, folder = begun.pop(key)
            output = payload.get("output")
            found.append(
                RecordedCall(
                    seq,
                    number,
                    key[0],
                    command,
                    folder,
                    payload.get("exit_status"),
                    bool(payload.get("is_error")),
                    output if isinstance(output, Mapping) else {},
                )
            )
    return sorted(found)


def repeat(turn: Turn, call: RecordedCall) -> dict[str, Any]:
    """Run the command in the sandbox of `turn`; what the event of its result says."""
    inner = (_STAY if call.source in _STAYS and not call.folder else "") + call.command
    argv = ("/bin/sh", "-c", _SHELL, "replay", inner, "")
    done = turn.sandbox.run(Command(argv, cwd=call.folder, env=turn.env, timeout_s=turn.wall_s))
    return compare_call(call, Repetition(done.exit_code, _output(done)))


def compare_call(call: RecordedCall, now: Repetition) -> dict[str, Any]:
    """Where the client reported no exit status, a command that failed and does not fail now is a difference.

    Of an output the beginning is compared, without times and other texts that differ from run to run.
    """
    status = call.exit_status
    is_same_exit = (
        not (call.is_error and now.exit_status == 0) if status is None else status == now.exit_status
    )
    before, after = str(call.output.get("prefix", "")), now.output[:PREFIX_CHARS]
    is_same_text = now.to_json()["output"]["digest"] == call.output.get("digest")
    return {
        "recorded": {
            "event": call.event,
            "exit_status": status,
            "is_error": call.is_error,
            "output": dict(call.output),
        },
        "same_exit": is_same_exit,
        "same_output": is_same_text or _plain(before) == _plain(after),
        **now.to_json(),
    }


def _command(payload: Mapping[str, Any]) -> str:
    given = payload.get("input")
    if payload.get("kind") != "execute" or not isinstance(given, Mapping):
        return ""
    if any(given.get(name) is True for name in _UNREPEATABLE):
        return ""
    for name in _NAMES:
        value = given.get(name)
        if isinstance(value, str) and value.strip():
            return "" if _REDACTED in value else value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return shlex.join(value)
    return ""


def _folder(payload: Mapping[str, Any]) -> str:
    given = payload["input"]
    named = next((given[name] for name in _FOLDERS if isinstance(given.get(name), str)), "")
    return named if named.startswith("/") else ""


def _output(done: CommandResult) -> str:
    if done.not_started:
        return str(done.not_started)
    return done.stdout.text + done.stderr.text


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in plain_text(text, {}).strip().splitlines())
