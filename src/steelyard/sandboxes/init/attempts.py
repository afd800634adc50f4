"""Frames N of init -> system calls that a sandbox refused, or that left it for another machine.

    u32 number | u32 error | u32 pid | u32 wanted | u32 length | 16 bytes name of the process | detail

`wanted` is of an open: 1 to read, 2 to write, 4 a folder. The detail is an address (`struct sockaddr`) or a path, as it was in the caller's memory when the call was made; the caller can
change it afterwards, so it is evidence and nothing is decided by it. A length of 2^32-1: the memory could not be read.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Callable, Mapping
from posixpath import normpath
from typing import Literal

from steelyard.deferred.named_tuple import NamedTuple

# `open` is for writing, `read` is of a file, `list` of a folder.
Kind = Literal["call", "connect", "exec", "open", "read", "list"]
# What a watched sandbox reports; the manifest names them.
SEEN = (
    "denied_calls",
    "connects",
    "denied_execs",
    "denied_write_opens",
    "denied_changes",
    "denied_read_opens",
)
_HEAD = struct.Struct("<IIIII16s")
_WRITES, _FOLDER = 2, 4
_UNREAD = 0xFFFFFFFF
_KINDS: Mapping[str, Kind] = {
    "connect": "connect",
    "sendto": "connect",
    "sendmsg": "connect",
    "sendmmsg": "connect",
    "execve": "exec",
    "execveat": "exec",
    "open": "open",
    "openat": "open",
    "openat2": "open",
    "creat": "open",
    # Changes of a folder, of a file's size and of its modes are writes, too.
    "mkdir": "open",
    "mkdirat": "open",
    "rmdir": "open",
    "unlink": "open",
    "unlinkat": "open",
    "rename": "open",
    "renameat": "open",
    "renameat2": "open",
    "link": "open",
    "linkat": "open",
    "symlink": "open",
    "symlinkat": "open",
    "truncate": "open",
    "chmod": "open",
    "fchmodat": "open",
    "fchmodat2": "open",
}


class Attempt(NamedTuple):
    """One system call of a sandbox. `error` is empty for a connection, whose end the kernel decides later."""

    kind: Kind
    call: str
    error: str
    pid: int  # inside the sandbox
    process: str
    target: str  # an address with its port, or a path; empty where the call has none or hid it
    is_hidden: bool = False  # the caller's memory could not be read


OnAttempt = Callable[[Attempt], None]


def unpack_attempt(payload: bytes, names: Mapping[int, str]) -> Attempt:
    """Raises struct.error for a payload that is too short."""
    number, error, pid, wanted, length, process = _HEAD.unpack_from(payload)
    name = names.get(number, str(number))
    kind = _KINDS.get(name, "call")
    if kind == "open" and not wanted & _WRITES:
        kind = "list" if wanted & _FOLDER else "read"
    detail = payload[_HEAD.size :]
    target = _address(detail) if kind == "connect" else _path(detail)
    return Attempt(
        kind,
        name,
        errno.errorcode.get(error, str(error)) if error else "",
        pid,
        process.split(b"\0")[0].decode(errors="replace"),
        "" if length == _UNREAD else target,
        length == _UNREAD,
    )


def _path(data: bytes) -> str:
    path = os.fsdecode(data)
    return f"/{normpath(path).lstrip('/')}" if path.startswith("/") else path


def _address(data: bytes) -> str:
    """`192.0.2.7:443`, `[2001:db8::1]:443`, or the family of another address."""
    if len(data) < 2:
        return ""
    (family,) = struct.unpack_from("<H", data)
    if family == socket.AF_INET and len(data) >= 8:
        return f"{socket.inet_ntop(socket.AF_INET, data[4:8])}:{int.from_bytes(data[2:4], 'big')}"
    if family == socket.AF_INET6 and len(data) >= 24:
        return f"[{socket.inet_ntop(socket.AF_INET6, data[8:24])}]:{int.from_bytes(data[2:4], 'big')}"
    return f"address family {family}"
