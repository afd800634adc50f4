"""A run folder -> what was said and done in it, in order: each message, each answer, each tool call.

    user       brief.text, as the agent read it
    assistant  what it printed: agent/stdout*.txt, as far as that was kept; else the event's own prefix, as of the messages in
               the trace of a client
    tool       calls that an agent reported; the one that is the whole agent is none

Everything but the user's words was written by an agent. It is bounded: of a long text its ends are kept, of many
messages the first and the last.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import orjson

from steelyard.errors import DAMAGED
from steelyard.evidence.folder.folder import FINAL_RESPONSE, RunFolder
from steelyard.evidence.trace.chain import Event, read_events
from steelyard.filesystem.plain_file import open_plain

MOST_MESSAGES = 400
MOST_BYTES = 16 << 10  # of one text
MOST_TOOL_BYTES = 1 << 10
_POINTER = re.compile(r"agent/std(?:out|err)(?:-\d{1,4})?\.txt|final_response\.txt")


class Message(NamedTuple):
    """One message, or one thing that was done."""

    role: str  # user | assistant | tool
    text: str
    step: str = ""  # of a contract with steps: in which


class Transcript(NamedTuple):
    messages: tuple[Message, ...]
    last_words: str  # of the agent's process, on its standard output
    errors: str  # the end of what it last printed on the other one
    exit_code: int | None


def read_transcript(folder: RunFolder) -> Transcript:
    """Reading never fails: of a damaged folder it gives what there is."""
    messages: list[Message] = []
    pointers: list[str] = []  # pointers
    final = ""
    exit_code = None
    for event in _events(folder):
        if line := _message(event, folder.path):
            messages.append(line)
        if event.type == "agent.message" and "source" not in event.payload:
            pointers.append(str(event.payload.get("pointer")))
        elif event.type == "agent.trace":
            final, traced = FINAL_RESPONSE, event.payload.get("stdout")
            pointers.append(str(traced.get("pointer")) if isinstance(traced, dict) else "")
        elif event.type == "tool.result" and "source" not in event.payload:
            status = event.payload.get("exit_status")
            exit_code = status if isinstance(status, int) else None
    last = pointers[-1] if pointers else ""
    # All that a client with a trace prints is its trace; its final response is a file of its own.
    return Transcript(
        messages=_some(messages),
        last_words=ends_of(folder.path, final or last),
        errors=ends_of(folder.path, last.replace("stdout", "stderr")),
        exit_code=exit_code,
    )


def _events(folder: RunFolder) -> Iterator[Event]:
    try:
        yield from read_events(folder.events)
    except DAMAGED:
        return


def _message(event: Event, folder: Path) -> Message | None:
    payload, step = event.payload, str(event.payload.get("step") or "")
    if event.type == "brief":
        return Message("user", _cut(str(payload.get("text", "")).encode(errors="replace"), MOST_BYTES), step)
    if event.type == "agent.message":
        text = ends_of(folder, str(payload.get("pointer"))) or str(payload.get("prefix", ""))
        return Message("assistant", text, step)
    if event.type == "tool.call" and payload.get("whole_agent") is not True:
        return Message("tool", _cut(orjson.dumps(dict(payload)), MOST_TOOL_BYTES), step)
    return None


def ends_of(folder: Path, pointer: str, most: int = MOST_BYTES) -> str:
    """The beginning and the end of a file that an event points to; nothing where there is none."""
    if not _POINTER.fullmatch(pointer):
        return ""
    try:
        with open_plain(folder / pointer) as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(0)
            if size <= most:
                return stream.read(most).decode(errors="replace")
            head = stream.read(most // 2)
            stream.seek(size - most // 2)
            return _join(head, stream.read(most // 2), size - most)
    except DAMAGED:
        return ""


def _cut(text: bytes, most: int) -> str:
    if len(text) <= most:
        return text.decode(errors="replace")
    return _join(text[: most // 2], text[-(most // 2) :], len(text) - most)


def _join(head: bytes, tail: bytes, left_out: int) -> str:
    return f"{head.decode(errors='replace')}\n[... {left_out} bytes ...]\n{tail.decode(errors='replace')}"


def _some(messages: list[Message]) -> tuple[Message, ...]:
    if len(messages) <= MOST_MESSAGES:
        return tuple(messages)
    half = MOST_MESSAGES // 2
    gap = Message("tool", f"[... {len(messages) - 2 * half} messages ...]")
    return (*messages[:half], gap, *messages[-half:])
