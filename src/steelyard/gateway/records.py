"""What went through the gateway -> events of the run, with the verbatim bytes in blobs.

    model.request   {"request": 3, "provider", "wire", "model", "conversation", "index", "role", "stream", "max_tokens",
                     "messages", "tools", "digest", "bytes", "length", "blob", "delta", "changed": ["stream_options"]}
    model.response  {"request": 3, "status", "usage": {...}, "cost": {...}, "projected": [...], "stop_reason",
                     "tool_calls_requested", "first_byte_ns", "total_ns", "attempts", "waited_ns", "cut", "digest", "bytes", "blob"}
    model.error     {"request": 3, "kind", "status", "why", ...}: there was no answer, or not a whole one
    model.wait      {"request": 3, "attempt": 1, "why": "HTTP 429", "wait_ns", "total_ns": of the run, parallel waits once}
    cost            {"request": 3, "usd", "units", "method", "id", "matched_model"}: once for each answer that was billed

Under a privacy policy `blob` is null ("digest"), or has the text with placeholders ("redacted"): of a request its body, of an answer
`{"parts": [["text", "..."], ["arguments", "..."]]}`. `redacted` has then the spans that were replaced. Digests are of the bytes as
they were.

`conversation` tells the conversations of a run apart by their first message; `index` is the number of messages in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import orjson

from steelyard.deferred.data_class import dataclass
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.text_rules import TextRules
from steelyard.evidence.trace.events import EventLog
from steelyard.evidence.trace.request_bodies import MOST_STORED_BYTES, RequestStore
from steelyard.plan.agent_options import ModelText
from steelyard.providers.requests import ModelRequest

MOST_KEPT_BYTES = 8 << 20  # of one answer, verbatim; a longer one is recorded by its digest and its beginning
MOST_CONVERSATIONS = 10_000
_CACHE_MARK = re.compile(rb',?"cache_control":\{[^{}]*\}')


class KeptBytes:
    """Bytes as they come: a digest of all, and the beginning verbatim."""

    def __init__(self) -> None:
        self.size = 0
        self._digest = hashlib.sha256()
        self._parts: list[bytes] = []
        self._kept = 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        self._digest.update(data)
        room = MOST_KEPT_BYTES - self._kept
        if room > 0:
            self._parts.append(data[:room])
            self._kept += min(len(data), room)

    @property
    def beginning(self) -> bytes:
        return b"".join(self._parts)

    def to_json(self, blobs: Blobs | None) -> dict[str, Any]:
        """Without `blobs`, the fields of bytes that are not kept."""
        beginning = self.beginning if blobs is not None else b""
        blob = blobs.put_bytes(beginning).sha256 if blobs is not None and beginning else None
        return {
            "digest": self._digest.hexdigest(),
            "bytes": self.size,
            "blob": blob,
            "blob_cut": max(0, self.size - len(beginning)),
        }


@dataclass
class Recorder:
    """Writes the events of one run. Called on the loop of the gateway."""

    events: EventLog
    blobs: Blobs
    model_text: ModelText = "verbatim"
    rules: TextRules | None = None  # of "redacted"
    count: int = 0  # requests so far
    requests: RequestStore = field(init=False)
    _conversations: dict[str, int] = field(default_factory=dict)
    _kept_bytes: int = 0  # of answers

    def __post_init__(self) -> None:
        self.requests = RequestStore(self.blobs)

    def request(self, request: ModelRequest, changed: Sequence[str] = ()) -> int:
        """The number of the request in this run."""
        self.count += 1
        conversation = self._conversation(request)
        stored: dict[str, Any] = {"blob": None, "delta": None}
        if self.model_text == "verbatim":
            stored = self.requests.put(self.count, conversation, request.body)
        elif self.rules is not None:
            safe = self.rules.redact_json(request.data)
            stored = self.requests.put(self.count, conversation, orjson.dumps(safe.value))
            stored["redacted"] = safe.to_json()
        self.events.append(
            "model.request",
            "harness",
            {
                "request": self.count,
                "provider": request.endpoint.provider,
                "wire": request.endpoint.wire,
                "model": self.rules.redact_json(request.model).value if self.rules else request.model,
                "role": "user",
                "conversation": conversation,
                "index": request.messages,
                "metered": request.endpoint.is_metered,
                "stream": request.is_stream,
                "max_tokens": request.max_output if request.names_limit else None,
                "messages": request.messages,
                "tools": request.tools,
                "length": len(request.body),
                "changed": list(changed),
                "digest": hashlib.sha256(request.body).hexdigest(),
                "bytes": len(request.body),
                **stored,
            },
        )
        return self.count

    def response(
        self, number: int, kept: KeptBytes, payload: dict[str, Any], parts: Sequence[Sequence[str]] = ()
    ) -> None:
        """`parts`: kind and text of what the model said, which are kept instead of the bytes under a privacy policy."""
        data = {
            "request": number,
            "role": "assistant",
            **payload,
            "length": kept.size,
            **self._stored(kept, {"parts": list(parts)}),
        }
        self.events.append("model.response", "harness", data)

    def error(self, number: int | None, kept: KeptBytes, payload: dict[str, Any]) -> None:
        text = kept.beginning.decode(errors="replace")
        stored = self._stored(kept, {"parts": [["error", text]]} if text else None)
        self.events.append("model.error", "harness", {"request": number, **payload, **stored})

    def defect(self, number: int | None, why: str) -> None:
        """An error of the gateway itself. One without a number counts as a request of its own."""
        self.count += number is None
        self.events.append(
            "model.error", "harness", {"request": number, "kind": "defect", "why": why, "status": 500}
        )

    def wait(self, number: int, payload: dict[str, Any]) -> None:
        """An overloaded upstream was waited for."""
        self.events.append("model.wait", "harness", {"request": number, **payload})

    def cost(self, number: int, cost: dict[str, Any]) -> None:
        self.events.append("cost", "harness", {"request": number, **cost})

    def _stored(self, kept: KeptBytes, text: dict[str, Any] | None) -> dict[str, Any]:
        self._kept_bytes += len(kept.beginning)
        has_room = self._kept_bytes <= MOST_STORED_BYTES
        stored = kept.to_json(self.blobs if self.model_text == "verbatim" and has_room else None)
        if self.rules is None or not has_room or text is None:
            return stored
        safe = self.rules.redact_json(text)
        blob = self.blobs.put_bytes(orjson.dumps(safe.value)).sha256
        return {**stored, "blob": blob, "redacted": safe.to_json()}

    def _conversation(self, request: ModelRequest) -> int:
        """Side requests and subagents have a beginning of their own."""
        digest = hashlib.sha256(_beginning(request)).hexdigest()
        if digest not in self._conversations and len(self._conversations) >= MOST_CONVERSATIONS:
            return 0
        return self._conversations.setdefault(digest, len(self._conversations) + 1)


def _beginning(request: ModelRequest) -> bytes:
    data = request.data
    listed = data.get("messages") or data.get("contents") or data.get("input")
    first: Any = listed
    if isinstance(listed, list):
        # A system prompt among the messages is no beginning of a conversation.
        users = [one for one in listed if isinstance(one, dict) and one.get("role") in {"user", None}]
        first = (users or listed)[:1]
    stored = orjson.dumps(first)
    # Clients move this mark along a conversation.
    return _CACHE_MARK.sub(b"", stored) if b'"cache_control"' in stored else stored
