"""`events.jsonl` -> its events, or the first line at which the chain is broken, and why.

Verifying slices the stored bytes and never re-serialises, in constant memory.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.filesystem.plain_file import open_plain

GENESIS = "0" * 64
LAST_BYTES = 64 << 10  # of a log, for who wants to know how it ended
MAX_LINE = 16 << 20  # a longer payload belongs in a blob; a reader never holds more than this

# Anchored at the end of the line: whatever an agent wrote sits in `payload`, before all of this.
_TAIL = re.compile(
    rb',"prev":"(?P<prev>[0-9a-f]{64})","seq":(?P<seq>\d{1,16}),"t":(?P<t>\d{1,16}),"type":"[a-z_.]{1,40}"'
    rb',"hash":"(?P<hash>[0-9a-f]{64})"\}\n\Z'
)
_TAIL_BYTES = 320  # longer than any match of _TAIL
_HASH_BYTES = len(b',"hash":""}\n') + 64


@dataclass(frozen=True, slots=True)
class Event:
    seq: int
    t: int
    at: str
    type: str
    actor: str
    payload: dict[str, Any]
    prev: str
    hash: str


@dataclass(frozen=True, slots=True)
class ChainBreak:
    line: int  # counted from 1
    why: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.why}"


class Chain(NamedTuple):
    head: str
    length: int


def read_events(path: Path) -> Iterator[Event]:
    """Every event, lazily, trusting the file; a cut last line ends it."""
    with open_plain(path) as stream:
        for line in iter(lambda: stream.readline(MAX_LINE), b""):
            if not line.endswith(b"\n"):
                return
            yield Event(**orjson.loads(line))


def verify_chain(path: Path, head: str | None = None, count: int | None = None) -> ChainBreak | None:
    """The first broken line, or None. `head` and `count` (from the seal) are what reveals a cut tail."""
    chain = measure_chain(path, count)
    if isinstance(chain, ChainBreak):
        return chain
    if count is not None and chain.length < count:
        return ChainBreak(chain.length + 1, f"truncated: {count} events were sealed, {chain.length} are here")
    if head is not None and chain.head != head:
        return ChainBreak(max(chain.length, 1), "replaced: the log does not end with the sealed hash")
    return None


def last_events(path: Path, head: str, back_to: str) -> list[Event] | ChainBreak:
    """The events at the end of a log, newest first, back to one of that type; each has the hash that the next one names."""
    try:
        with open_plain(path) as stream:
            stream.seek(max(0, stream.seek(0, os.SEEK_END) - LAST_BYTES))
            lines = stream.read(LAST_BYTES).splitlines(keepends=True)
    except OSError as error:
        return ChainBreak(1, f"the log cannot be read: {error.strerror}")
    found: list[Event] = []
    wanted = head.encode()
    for line in reversed(lines):
        tail = _TAIL.search(line, max(0, len(line) - _TAIL_BYTES))
        if tail is None or tail["hash"] != wanted or _hash_of(line) != wanted:
            break
        found.append(Event(**orjson.loads(line)))
        if found[-1].type == back_to:
            break
        wanted = tail["prev"]
    return found or ChainBreak(1, "replaced: the log does not end with the sealed hash")


def _hash_of(line: bytes) -> bytes:
    return hashlib.sha256(line[:-_HASH_BYTES] + b"}").hexdigest().encode()


def measure_chain(path: Path, most: int | None = None) -> Chain | ChainBreak:
    """Head and length of an unbroken chain of at most `most` events, or where it breaks."""
    try:
        with open_plain(path) as stream:
            return _measure(stream, most)
    except OSError as error:
        return ChainBreak(1, f"the log cannot be read: {error.strerror}")


def _measure(stream: BinaryIO, most: int | None) -> Chain | ChainBreak:
    prev, last, number = GENESIS.encode(), -1, 0
    for line in iter(lambda: stream.readline(MAX_LINE), b""):
        number += 1
        if most is not None and number > most:
            return ChainBreak(number, f"inserted: only {most} events were sealed")
        tail = _TAIL.search(line, max(0, len(line) - _TAIL_BYTES))
        why = _misshapen(line) if tail is None else _fault(line, tail, number, prev, last)
        if tail is None or why:
            return ChainBreak(number, why)
        prev, last = tail["hash"], int(tail["t"])
    return Chain(prev.decode(), number)


def _fault(line: bytes, tail: re.Match[bytes], number: int, prev: bytes, last: int) -> str:
    if _hash_of(line) != tail["hash"]:
        return "edited: its content does not match its hash"
    if int(tail["seq"]) != number:
        return _misplaced(int(tail["seq"]), number)
    if tail["prev"] != prev:
        return "wrong prev: it does not continue the line before it"
    if int(tail["t"]) <= last:
        return "time not monotone: it is not later than the line before it"
    return ""


def _misshapen(line: bytes) -> str:
    if not line.endswith(b"\n"):
        return "longer than an event can be" if len(line) == MAX_LINE else "truncated: the line is incomplete"
    try:
        orjson.loads(line)
    except ValueError:
        return "not JSON"
    return "edited: not a well-formed event"


def _misplaced(seq: int, number: int) -> str:
    if seq > number:
        return f"deleted or swapped: event {seq} stands where event {number} belongs"
    return f"inserted or repeated: event {seq} stands where event {number} belongs"
