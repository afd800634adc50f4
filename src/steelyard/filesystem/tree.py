"""Paths and entries of a tree -> one content root.

A path is a `str` decoded with surrogateescape, so that any bytes survive; in JSON a path that is not UTF-8
is `{"b64": "..."}`. An entry is a file, a symlink or a directory, as small as equality needs:

    {"kind": "file", "mode": "644", "size": 3, "sha256": "..."}
    {"kind": "symlink", "target": "../lib"}
    {"kind": "dir"}
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Mapping
from typing import Any, Literal

from steelyard.deferred.data_class import dataclass

Kind = Literal["file", "symlink", "dir"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands at one path. Modes are 644 or 755: only the owner's execute bit means anything.

    In a change of a whole system every permission does: 600.
    """

    kind: Kind
    mode: str = ""
    size: int = 0
    sha256: str = ""
    target: str = ""

    def to_json(self) -> dict[str, Any]:
        if self.kind == "file":
            return {"kind": "file", "mode": self.mode, "size": self.size, "sha256": self.sha256}
        if self.kind == "symlink":
            return {"kind": "symlink", "target": path_to_json(self.target)}
        return {"kind": "dir"}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Entry:
        if data["kind"] == "file":
            return cls("file", data["mode"], data["size"], data["sha256"])
        if data["kind"] == "symlink":
            return cls("symlink", target=path_from_json(data["target"]))
        return cls("dir")


def path_to_json(path: str) -> str | dict[str, str]:
    """A path as JSON; `{"b64": ...}` when its bytes are not UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return {"b64": base64.b64encode(os.fsencode(path)).decode()}
    return path


def path_from_json(data: str | Mapping[str, str]) -> str:
    return data if isinstance(data, str) else os.fsdecode(base64.b64decode(data["b64"]))


def prefixes(path: str) -> tuple[str, ...]:
    """`a/b/c` -> `a`, `a/b`, `a/b/c`."""
    return (*(path[:index] for index, char in enumerate(path) if char == "/"), path)


def is_within(path: str, place: str) -> bool:
    """Is it that place, or below it?"""
    return path == place or path.startswith(f"{place}/")


def printable(path: str) -> str:
    r"""A path that is safe to print: control, bidi and undecodable characters escaped."""
    if path.isascii() and path.isprintable():
        return path
    return "".join(_printable_char(char) for char in path)


def _printable_char(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if char.isprintable() and not 0x200B <= code <= 0x206F:
        return char
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def content_root(entries: Mapping[str, Entry]) -> str:
    """The digest of a whole tree: every path, kind, mode and content, in byte order, and nothing else."""
    digest = hashlib.sha256(b"steelyard.tree/1\n")
    for path in sorted(entries, key=os.fsencode):
        entry = entries[path]
        body = os.fsencode(entry.target) if entry.kind == "symlink" else entry.sha256.encode()
        for part in (entry.kind.encode(), entry.mode.encode(), os.fsencode(path), body):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
