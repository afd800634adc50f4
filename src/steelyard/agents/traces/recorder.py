"""A client's output, piece by piece -> events of the run, and what the client says of how it ended.

    tool.call    agent   {"kind": "execute", "tool": "Bash", "id": "toolu_1", "input": {...}, "source": "claude_code"}
    tool.result  agent   {"id": "toolu_1", "is_error": false, "exit_status": null, "wall_ns": 12, "output": {...}, "source": ...}
    cost         agent   {"usd": 0.03, "tokens_in": 11400, ..., "method": "claim of claude_code"}     never counted
    agent.trace  harness {"client": ..., "lines": 14, "unknown": 0, "samples": [], "files": [...], ...}

The output is hostile: a line, the number of events and the number of unknown lines are bounded. A line that is not understood
stays in `agent/stdout.txt`, is counted, and the first of them are shown in `agent.trace`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from steelyard.agents.traces.items import (
    Claim,
    Denial,
    Failure,
    Item,
    Message,
    Parser,
    Retry,
    SessionStart,
    Success,
    ToolCall,
    ToolResult,
    kind_of,
)
from steelyard.evidence.trace.events import EventLog
from steelyard.evidence.trace.json_safe import json_safe

MOST_LINE_BYTES = 8 << 20  # a longer line is not parsed
MOST_EVENTS = 50_000  # of one message to the agent; what follows is only counted
MOST_UNKNOWN = 20_000  # lines; after so many the output is no trace
MOST_SAMPLES, SAMPLE_CHARS = 5, 200
MOST_PIECES = 100_000  # of one message
MOST_CALLS = 10_000  # that wait for their result
PREFIX_CHARS = 4096
INPUT_BYTES = 16 << 10
WHY_CHARS = 500


@dataclass
class TraceFacts:
    """The facts of a client's trace so far."""

    session: str = ""
    version: str = ""
    model: str = ""
    lines: int = 0
    unknown: int = 0
    oversized: int = 0
    is_flooded: bool = False
    left_out: int = 0  # items without an event
    samples: list[str] = field(default_factory=list)
    messages: int = 0
    calls: int = 0
    denials: dict[str, Denial] = field(default_factory=dict)
    retries: int = 0
    failure: Failure | None = None
    success: Success | None = None
    answer: str = ""  # the last message
    claim: Claim | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "session": self.session[:200],
            "version": self.version[:100],
            "model": self.model[:200],
            "lines": self.lines,
            "unknown": self.unknown,
            "oversized": self.oversized,
            "flooded": self.is_flooded,
            "left_out": self.left_out,
            "samples": self.samples,
            "messages": self.messages,
            "tool_calls": self.calls,
            "denials": len(self.denials),
            "retries": self.retries,
            "failure": None if self.failure is None else [self.failure.cause, self.failure.why[:WHY_CHARS]],
        }


class TraceRecorder:
    """Appends the events of one message to a client. Called by one thread at a time."""

    def __init__(
        self,
        events: EventLog,
        client: str,
        parser: Parser | None,
        place: Mapping[str, Any],
        *,
        skips_text: bool = False,
    ) -> None:
        self.facts = TraceFacts()
        self._events = events
        self._client = client
        self._parser = parser
        self._place = place  # conversation and index of the message
        self._skips_text = skips_text  # lines that are no JSON object are no part of the trace
        self._waiting = bytearray()
        self._is_skipping = False  # the rest of a line that is too long
        self._written = 0
        self._pieces: list[str] = []  # of a message that is not whole yet
        self._is_live = True
        self._begun: dict[str, tuple[str, int]] = {}  # calls without a result: tool, when

    def take(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        """Bytes of the client's output, as they come."""
        if stream != "stdout" or self._parser is None or self.facts.is_flooded:
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._waiting += line
            self._end_line()
            if self.facts.is_flooded:
                return
        self._waiting += rest
        if len(self._waiting) > MOST_LINE_BYTES:
            self._waiting.clear()
            self._is_skipping = True

    def end_output(self) -> None:
        """The process has ended: what it printed last has no line end."""
        if self._waiting or self._is_skipping:
            self._end_line()
        self._is_live = False
        self._join(Claim(is_total=False))

    def take_records(self, records: Iterable[Any], parser: Parser) -> None:
        """The lines of a file."""
        for record in records:
            self._take_record(record, parser)

    def take_items(self, items: Iterable[Item]) -> None:
        for item in items:
            if not self._join(item):
                self._take_item(item)

    def claim_cost(self) -> None:
        """The client's own numbers, kept beside those of the gateway."""
        claim = self.facts.claim
        if claim is not None:
            numbers = {"tokens_in": claim.tokens_in, "tokens_out": claim.tokens_out,
                       "cache_read": claim.cache_read, "cache_write": claim.cache_write}  # fmt: skip
            self._events.append(
                "cost", "agent", {"usd": claim.usd, **numbers, "method": f"claim of {self._client}"}
            )

    def _end_line(self) -> None:
        line = bytes(self._waiting)
        self._waiting.clear()
        if self._is_skipping:
            self._is_skipping = False
            self.facts.lines += 1
            self.facts.oversized += 1
            return
        if not line.strip() or (self._skips_text and not line.lstrip().startswith(b"{")):
            return
        self.facts.lines += 1
        record = _decode(line)
        if record is None or self._parser is None:
            self._count_unknown(line)
        else:
            self._take_record(record, self._parser, line)

    def _take_record(self, record: Any, parser: Parser, line: bytes = b"") -> None:
        try:
            items = parser(record) if isinstance(record, Mapping) else None
        except Exception:  # noqa: BLE001  # a record that a parser did not expect is an unknown one
            items = None
        if items is None:
            self._count_unknown(line or _encode(record))
            return
        self.take_items(items)

    def _count_unknown(self, line: bytes) -> None:
        self.facts.unknown += 1
        if len(self.facts.samples) < MOST_SAMPLES:
            self.facts.samples.append(line[:SAMPLE_CHARS].decode(errors="replace"))
        self.facts.is_flooded = self.facts.unknown > MOST_UNKNOWN

    def _say(self, text: str) -> None:
        facts = self.facts
        facts.messages += 1
        facts.answer = text
        place = {"role": "assistant", **self._place, "part": facts.messages}
        self._append("agent.message", {**place, **_bound(text), "source": self._client})

    def _join(self, item: Item) -> bool:
        """Whether the item is a piece of a message, which is recorded when another item comes."""
        if isinstance(item, Message) and item.is_delta:
            if len(self._pieces) < MOST_PIECES:
                self._pieces.append(item.text)
            return True
        pieces, self._pieces = self._pieces, []
        if message := "".join(pieces):
            self._say(message)
        return False

    def _take_item(self, item: Item) -> None:  # one branch for each kind of item
        facts = self.facts
        if isinstance(item, SessionStart):
            facts.session, facts.model = item.id or facts.session, item.model or facts.model
            facts.version = item.version or facts.version
        elif isinstance(item, Message):
            self._say(item.text)
        elif isinstance(item, ToolCall):
            self._call(item)
        elif isinstance(item, ToolResult):
            self._result(item)
        elif isinstance(item, Denial):
            self._deny(item)
        elif isinstance(item, Claim):
            facts.claim = item if item.is_total or facts.claim is None else _sum(facts.claim, item)
        elif isinstance(item, Retry):
            facts.retries += 1
        elif isinstance(item, Failure):
            facts.failure, facts.success = item, None
        else:
            facts.success, facts.failure = item, None  # the last word counts
            facts.answer = item.answer or facts.answer

    def _call(self, call: ToolCall) -> None:
        if call.id in self._begun:
            return
        self.facts.calls += 1
        if len(self._begun) < MOST_CALLS:
            self._begun[call.id] = (call.tool, time.monotonic_ns())
        kind = call.kind or kind_of(call.tool)
        payload = {"kind": kind, "tool": call.tool[:200], "id": call.id[:200], "source": self._client}
        self._append("tool.call", {**payload, **_input(call.input)})

    def _result(self, result: ToolResult) -> None:
        tool, begun = self._begun.pop(result.id, ("", 0))
        measured = time.monotonic_ns() - begun if begun and self._is_live else None
        wall_ns = measured if result.wall_ns is None else result.wall_ns
        payload = {
            "id": result.id[:200],
            "tool": tool[:200],
            "is_error": result.is_error,
            "exit_status": result.exit_code,
            "wall_ns": wall_ns,
            "output": _bound(result.output),
            "source": self._client,
        }
        self._append("tool.result", payload)

    def _deny(self, denial: Denial) -> None:
        key = denial.id or f"#{len(self.facts.denials)}"
        if key in self.facts.denials or len(self.facts.denials) >= MOST_CALLS:
            return
        self.facts.denials[key] = denial
        payload = {"decision": "deny", "by": self._client, "tool": denial.tool[:200], "id": denial.id[:200]}
        self._append("permission.decision", {**payload, "why": denial.why[:WHY_CHARS]})

    def _append(self, kind: str, payload: Mapping[str, Any]) -> None:
        if self._written >= MOST_EVENTS:
            self.facts.left_out += 1
            return
        self._written += 1
        self._events.append(kind, "agent", payload)


def _decode(line: bytes) -> Any:
    """None for a line that is no JSON object."""
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


def decoded_lines(content: bytes) -> list[Any]:
    """The JSON objects of a file of lines; a line that is none is an empty object, which no parser knows."""
    return [_decode(line) or {} for line in content.split(b"\n") if line.strip()]


def _encode(record: Any) -> bytes:
    try:
        return orjson.dumps(record)[:SAMPLE_CHARS]
    except TypeError:
        return repr(record)[:SAMPLE_CHARS].encode(errors="replace")


def _bound(text: str) -> dict[str, Any]:
    data = text.encode(errors="replace")
    return {"prefix": text[:PREFIX_CHARS], "digest": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def _input(value: Any) -> dict[str, Any]:
    """The whole input of a call, or of a long one its digest and beginning."""
    data = orjson.dumps(json_safe(value), option=orjson.OPT_SORT_KEYS)
    digest = hashlib.sha256(data).hexdigest()
    if len(data) <= INPUT_BYTES:
        return {"input": value, "input_digest": digest}
    return {
        "input": None,
        "input_prefix": data[:PREFIX_CHARS].decode(errors="replace"),
        "input_digest": digest,
    }


def _sum(one: Claim, other: Claim) -> Claim:
    usd = None if one.usd is None and other.usd is None else (one.usd or 0.0) + (other.usd or 0.0)
    return Claim(
        one.tokens_in + other.tokens_in,
        one.tokens_out + other.tokens_out,
        one.cache_read + other.cache_read,
        one.cache_write + other.cache_write,
        usd,
    )
