"""Requests of an agent to its models, each of which repeats the one before -> blobs of what is new, and back again.

    model.request {"request": 7, "blob": "<sha256>", "delta": {"base": 6, "prefix": 90112, "suffix": 2048}}

A request is stored whole, or as what stands between its beginning and its end that an earlier request has too. So a conversation
of a thousand turns takes the room of its turns, and not of its square. After `MOST_STEPS` such steps one is stored whole. Beyond
`MOST_STORED_BYTES` an event has the digest of a request, and no blob.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.trace.chain import Event

MOST_STEPS = 64
LEAST_BYTES = 4096  # a shorter request is stored whole
MOST_HELD_BYTES = 64 << 20  # of requests that later ones are compared with
MOST_HELD = 16
# Of one run; an agent may send as much as it likes, and not all of it costs tokens
MOST_STORED_BYTES = 1 << 30


class _HeldBody(NamedTuple):
    number: int
    body: bytes
    steps: int


class RequestStore:
    """Stores the requests of one run; `conversation` tells which earlier request is like this one."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._held: OrderedDict[int, _HeldBody] = OrderedDict()
        self._bytes = 0
        self._stored = 0

    def put(self, number: int, conversation: int, body: bytes) -> dict[str, Any]:
        """What its event says about the stored bytes."""
        body = self._blobs.secrets.redact(body)
        before = self._held.get(conversation)
        delta, steps, new = None, 0, body
        if before is not None and before.steps < MOST_STEPS and len(body) >= LEAST_BYTES:
            prefix = _common_prefix(before.body, body)
            suffix = _common_suffix(before.body[prefix:], body[prefix:])
            if prefix + suffix > len(body) // 2:
                delta = {"base": before.number, "prefix": prefix, "suffix": suffix}
                steps, new = before.steps + 1, body[prefix : len(body) - suffix]
        if self._stored + len(new) > MOST_STORED_BYTES:
            self._drop(conversation)  # what is not stored is no base
            return {"blob": None, "delta": None}
        self._stored += len(new)
        self._hold(conversation, _HeldBody(number, body, steps))
        return {"blob": self._blobs.put_bytes(new).sha256, "delta": delta}

    def _hold(self, conversation: int, held: _HeldBody) -> None:
        self._drop(conversation)
        self._bytes += len(held.body)
        self._held[conversation] = held
        while self._held and (self._bytes > MOST_HELD_BYTES or len(self._held) > MOST_HELD):
            _, oldest = self._held.popitem(last=False)
            self._bytes -= len(oldest.body)

    def _drop(self, conversation: int) -> None:
        before = self._held.pop(conversation, None)
        self._bytes -= len(before.body) if before else 0


def request_bodies(events: Iterable[Event], blobs: Blobs) -> Iterator[tuple[int, bytes]]:
    """Number and whole body of each request, in their order; those that later ones stand on are held on the way."""
    held: dict[int, bytes] = {}
    for event in events:
        if event.type != "model.request" or event.actor != "harness" or not event.payload.get("blob"):
            continue
        number, delta = event.payload["request"], event.payload.get("delta")
        body = blobs.read(event.payload["blob"])
        if delta is not None:
            base = held.pop(delta["base"])
            body = base[: delta["prefix"]] + body + base[len(base) - delta["suffix"] :]
        held[number] = body
        yield number, body


def _common_prefix(one: bytes, other: bytes) -> int:
    """By halves, and every byte is compared at most twice."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_suffix(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low
