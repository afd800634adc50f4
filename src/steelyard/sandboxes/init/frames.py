"""Bytes on a socket -> frames; the alphabet of docs/init-protocol.md, shared by the client and the fake.

u32 length | u8 type | u32 id | payload     little endian, payload at most 1 MiB
"""

from __future__ import annotations

import math
import os
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence

from steelyard.deferred.named_tuple import NamedTuple

PROTOCOL = 6
MAX_FRAME = 1 << 20
STDIN_WINDOW = 1 << 16  # bytes of stdin that may be under way, unacknowledged
STREAM_WINDOW = 1 << 16  # likewise of a connection to an allowed host, each way
OF_STREAMS = frozenset({b"c", b"b", b"a", b"r"})  # from init: their id is a stream's, never a command's

_HEADER = struct.Struct("<IcI")
_EXIT = struct.Struct("<iQQQ")
_NOT_STARTED = struct.Struct("<ic")
_HELLO = struct.Struct("<II")

_STEPS = {b"c": "cwd: ", b"e": "", b"f": "fork: ", b"p": "pipe: ", b"j": "too many commands at once: "}


class Frame(NamedTuple):
    type: bytes
    id: int
    payload: bytes


class Exit(NamedTuple):
    """How a process ended, as wait4 tells it."""

    status: int
    user_us: int
    system_us: int
    max_rss_bytes: int


class Hello(NamedTuple):
    protocol: int
    pid: int


def pack(kind: bytes, number: int, payload: bytes = b"") -> bytes:
    return _HEADER.pack(len(payload), kind, number) + payload


class Splitter:
    """Feed it what the socket gave; it yields whole frames and keeps the rest."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        self._rest += data
        while len(self._rest) >= _HEADER.size:
            length, kind, number = _HEADER.unpack_from(self._rest)
            end = _HEADER.size + length
            if length > MAX_FRAME:
                raise ValueError(f"a frame of {length} bytes: the two sides are out of step")
            if len(self._rest) < end:
                return
            payload = bytes(self._rest[_HEADER.size : end])
            del self._rest[:end]
            yield Frame(kind, number, payload)


def pack_request(  # noqa: PLR0913  # the fields of a frame
    argv: Sequence[str],
    cwd: str,
    env: Mapping[str, str],
    *,
    wants_input: bool,
    time_s: float | None = None,
    ends_all: bool = False,
) -> bytes:
    """The payload of E. Raises ValueError for what no process can be given."""
    flags = ("i" if wants_input else "") + ("k" if ends_all else "")
    flags += f"t{math.ceil(time_s * 1000)}" if time_s is not None else ""
    variables = [f"{name}={value}" for name, value in env.items()]
    fields = [flags, cwd, str(len(argv)), *argv, str(len(variables)), *variables]
    encoded = [os.fsencode(field) for field in fields]
    if any(b"\0" in field for field in encoded):
        raise ValueError("an argument or variable holds a NUL byte")
    payload = b"\0".join([*encoded, b""])
    if not argv or len(payload) > MAX_FRAME:
        raise ValueError(
            "the argument list is empty" if not argv else "the argument list is longer than 1 MiB"
        )
    return payload


class Request(NamedTuple):
    wants_input: bool
    cwd: str
    argv: list[str]
    env: dict[str, str]


def unpack_request(payload: bytes) -> Request:
    flags, cwd, argc, *rest = [os.fsdecode(field) for field in payload.split(b"\0")[:-1]]
    argv, variables = rest[: int(argc)], rest[int(argc) + 1 :]
    pairs = (variable.partition("=") for variable in variables)
    return Request("i" in flags, cwd, argv, {name: value for name, _, value in pairs})


def pack_exit(ended: Exit) -> bytes:
    return _EXIT.pack(*ended)


def unpack_exit(payload: bytes) -> Exit:
    return Exit(*_EXIT.unpack(payload))


def pack_not_started(error: int, step: bytes = b"e") -> bytes:
    return _NOT_STARTED.pack(error, step)


def unpack_not_started(payload: bytes) -> str:
    """Why in words, in the shape of strerror."""
    error, step = _NOT_STARTED.unpack(payload)
    return _STEPS.get(step, "") + os.strerror(error)


def pack_hello(hello: Hello) -> bytes:
    return _HELLO.pack(*hello)


def unpack_hello(payload: bytes) -> Hello:
    return Hello(*_HELLO.unpack(payload[: _HELLO.size]))


def pack_count(count: int) -> bytes:
    return struct.pack("<I", count)


def unpack_count(payload: bytes) -> int:
    return int(struct.unpack("<I", payload)[0])


def pack_size(count: int) -> bytes:
    return struct.pack("<Q", count)


def unpack_size(payload: bytes) -> int:
    return int(struct.unpack("<Q", payload)[0])


def pack_signal(number: int) -> bytes:
    return struct.pack("<i", number)


def unpack_watching(payload: bytes) -> tuple[int, int]:
    """Why init has no listener, and why it has no filter either; 0: it has."""
    listener, plain = struct.unpack("<ii", payload)
    return int(listener), int(plain)


def unpack_sizes(payload: bytes) -> list[int]:
    return [size for (size,) in struct.iter_unpack("<Q", payload)]


def pack_address(address: str, port: int) -> bytes:
    return socket.inet_aton(address) + struct.pack("<H", port)


def unpack_counts(payload: bytes) -> list[int]:
    return [count for (count,) in struct.iter_unpack("<I", payload)]
