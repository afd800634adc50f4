"""The bytes of an answer, as they arrive -> what was metered in them.

    meter = AnswerMeter("messages", is_stream=True)
    meter.feed(chunk); ...; meter.end()
    meter.usage, meter.stop_reason, meter.tool_calls, meter.output_chars

A stream is parsed event by event (`data: {...}`), and an event that is not JSON is counted in `malformed`. Nothing here
raises for what a server sends: the client decides what to make of it. Memory is bounded: of an answer that is not a
stream, and of one event, at most `MOST_EVENT_BYTES` are parsed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from steelyard.providers.usage import Usage, usage_of

MOST_EVENT_BYTES = 8 << 20
BYTES_IN_TOKEN = 4  # of text, as a rule; used where no count is given


class AnswerMeter:
    """Fed with every byte of one answer."""

    def __init__(self, wire: str, *, is_stream: bool, keeps_parts: bool = False) -> None:
        self.wire = wire
        self.parts: list[list[str]] = []  # kind and text of what the model said, where they are wanted
        self._keeps_parts = keeps_parts
        self._parts_room = MOST_EVENT_BYTES  # characters
        self._part_calls = 0  # calls that had begun when the last part did
        self.is_stream = is_stream
        self.usage: Usage | None = None
        self.model = ""  # as the server names the one that answered
        self.stop_reason: str | None = None
        self.tool_calls = 0
        self.output_chars = 0  # of text, reasoning and arguments of tool calls
        self.malformed = 0  # events that are not JSON
        self.error = ""  # the type of an error that the stream reports
        self.is_done = False  # the end that the format prescribes was seen
        self._buffer = bytearray()
        self._skipping = False  # in an event that is too large

    def feed(self, chunk: bytes) -> None:
        if not self.is_stream:
            self._keep(chunk)
            return
        if b"\n" not in chunk:
            self._keep(chunk)
            return
        lines = (bytes(self._buffer) + chunk).split(b"\n")
        self._buffer = bytearray()
        rest = lines.pop()
        for line in lines:
            if self._skipping:  # this was the end of the event that is too large
                self._skipping = False
                self.malformed += 1
            else:
                self._line(line)
        self._keep(rest)

    def end(self) -> None:
        """No byte follows."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        if self._skipping:
            self.malformed += 1
        elif self.is_stream:
            self._line(rest)
        elif rest:
            self._whole(rest)

    def estimated_usage(self, prompt_bytes: int) -> Usage:
        """Where the server gave no usage, or broke off before it did: counted from the text."""
        out = -(-self.output_chars // BYTES_IN_TOKEN)
        if self.usage is not None:
            return Usage(
                self.usage.tokens_in,
                max(self.usage.tokens_out, out),
                self.usage.cache_read,
                self.usage.cache_write,
                self.usage.cache_write_1h,
                self.usage.reasoning,
                estimated=True,
            )
        return Usage(-(-prompt_bytes // BYTES_IN_TOKEN), out, estimated=True)

    @property
    def output_tokens(self) -> int:
        """How many there are so far, by the server's count or by the text."""
        reported = 0 if self.usage is None else self.usage.tokens_out
        return max(reported, self.output_chars // BYTES_IN_TOKEN)

    def _keep(self, data: bytes) -> None:
        if self._skipping:
            return
        if len(self._buffer) + len(data) > MOST_EVENT_BYTES:
            self._skipping = True
            self._buffer.clear()
            return
        self._buffer += data

    def _line(self, line: bytes) -> None:
        line = line.strip()
        if not line.startswith(b"data:"):
            if line.startswith((b"{", b"[")) and not line.startswith(b"[DONE"):
                self._whole(line)  # a server that answers a request for a stream with plain JSON
            return
        data = line[5:].strip()
        if data == b"[DONE]":
            self.is_done = True
            return
        event = _object(data)
        if event is None:
            self.malformed += bool(data)
            return
        self._event(event)

    def _whole(self, data: bytes) -> None:
        try:
            answer = orjson.loads(data)
        except ValueError:
            self.malformed += 1
            return
        for part in answer if isinstance(answer, list) else [answer]:
            if isinstance(part, dict):
                self._answer(part)

    def _answer(self, answer: Mapping[str, Any]) -> None:
        """A complete answer; of gemini also each part of a stream."""
        if self.wire == "generate":
            self._gemini(answer)
            return
        self.usage = usage_of(self.wire, answer.get("usage"), self.usage)
        self._name(answer.get("model"))
        self._report_error(answer)
        if self.wire == "messages":
            self._stop(answer.get("stop_reason"))
            self._count_items(answer.get("content"), ("tool_use", "server_tool_use"))
        elif self.wire == "responses":
            self._stop(answer.get("status"))
            self._count_items(answer.get("output"), ("function_call", "custom_tool_call", "local_shell_call"))
        else:
            self._choices(answer, "message")
        self.is_done = self.is_done or self.stop_reason is not None

    def _event(self, event: Mapping[str, Any]) -> None:
        if self.wire == "messages":
            self._anthropic(event)
        elif self.wire == "chat":
            self.usage = usage_of("chat", event.get("usage"), self.usage)
            self._name(event.get("model"))
            self._report_error(event)
            self._choices(event, "delta")
        elif self.wire == "responses":
            self._responses(event)
        else:
            self._gemini(event)

    def _anthropic(self, event: Mapping[str, Any]) -> None:
        kind = event.get("type")
        if kind == "message_start":
            message = _dict(event.get("message"))
            self.usage = usage_of("messages", message.get("usage"), self.usage)
            self._name(message.get("model"))
        elif kind == "content_block_start":
            block = _dict(event.get("content_block"))
            self.tool_calls += block.get("type") in {"tool_use", "server_tool_use"}
            self._count_text(block)
        elif kind == "content_block_delta":
            self._count_text(_dict(event.get("delta")))
        elif kind == "message_delta":
            self.usage = usage_of("messages", event.get("usage"), self.usage)
            self._stop(_dict(event.get("delta")).get("stop_reason"))
        elif kind == "message_stop":
            self.is_done = True
        self._report_error(event)

    def _responses(self, event: Mapping[str, Any]) -> None:
        kind = str(event.get("type"))
        if kind.endswith(".delta") and isinstance(event.get("delta"), str):
            self._take_text(kind.split(".")[1], event["delta"])
        elif kind == "response.output_item.added":
            item = _dict(event.get("item")).get("type")
            self.tool_calls += item in {"function_call", "custom_tool_call", "local_shell_call"}
        elif kind in {"response.completed", "response.incomplete", "response.failed"}:
            response = _dict(event.get("response"))
            self.usage = usage_of("responses", response.get("usage"), self.usage)
            self._name(response.get("model"))
            self._stop(response.get("status"))
            self._report_error(response)
            self.is_done = True
        elif kind == "response.created":
            self._name(_dict(event.get("response")).get("model"))
        elif kind == "error":
            self.error = self.error or str(event.get("code") or "error")[:100]

    def _gemini(self, part: Mapping[str, Any]) -> None:
        self.usage = usage_of("generate", part.get("usageMetadata"), self.usage)
        self._name(part.get("modelVersion"))
        self._report_error(part)
        for candidate in _dicts(part.get("candidates")):
            for piece in _dicts(_dict(candidate.get("content")).get("parts")):
                self.tool_calls += isinstance(piece.get("functionCall"), dict)
                self._count_text(piece)
            self._stop(candidate.get("finishReason"))
            self.is_done = self.is_done or self.stop_reason is not None

    def _choices(self, event: Mapping[str, Any], name: str) -> None:
        for choice in _dicts(event.get("choices")):
            piece = _dict(choice.get(name))
            for call in _dicts(piece.get("tool_calls")):
                function = _dict(call.get("function"))
                self.tool_calls += isinstance(call.get("id"), str) and bool(call["id"])
                self._count_text(function)
            self._count_text(piece)
            self._stop(choice.get("finish_reason"))

    def _count_items(self, items: Any, calls: tuple[str, ...]) -> None:
        for item in _dicts(items):
            self.tool_calls += item.get("type") in calls
            self._count_text(item)
            for part in _dicts(item.get("content")):
                self._count_text(part)

    def _count_text(self, piece: Mapping[str, Any]) -> None:
        for name in ("text", "thinking", "partial_json", "content", "reasoning_content", "arguments"):
            if isinstance(piece.get(name), str):
                self._take_text(name, piece[name])

    def _take_text(self, kind: str, text: str) -> None:
        self.output_chars += len(text)
        if not self._keeps_parts or self._parts_room <= 0 or not text:
            return
        text = text[: self._parts_room]
        self._parts_room -= len(text)
        if self.parts and self.parts[-1][0] == kind and self._part_calls == self.tool_calls:
            self.parts[-1][1] += text
        else:
            self.parts.append([kind, text])
            self._part_calls = self.tool_calls

    def _stop(self, reason: Any) -> None:
        if isinstance(reason, str) and reason:
            self.stop_reason = reason[:100]

    def _name(self, model: Any) -> None:
        if isinstance(model, str) and model:
            self.model = model[:200]

    def _report_error(self, event: Mapping[str, Any]) -> None:
        error = event.get("error")
        if isinstance(error, dict):
            self.error = self.error or str(error.get("type") or error.get("code") or "error")[:100]


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        event = orjson.loads(data)
    except ValueError:
        return None
    return event if isinstance(event, dict) else None


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
