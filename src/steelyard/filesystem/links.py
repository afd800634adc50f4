"""Entries of a tree -> the symlinks that must not be followed.

A snapshot is laid over other trees and read by programs that follow links, so a link may lead anywhere
inside the tree, even to nothing, but never out of it and never round in a circle.
"""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.filesystem.tree import Entry

MOST_HOPS = 40  # the kernel's own limit


class BadLink(NamedTuple):
    path: str
    why: str


def bad_links(entries: Mapping[str, Entry]) -> list[BadLink]:
    """Every symlink that is absolute, leaves the tree, or never arrives."""
    verdicts = ((path, _why_bad(path, entries)) for path, entry in entries.items() if entry.kind == "symlink")
    return [BadLink(path, why) for path, why in sorted(verdicts) if why]


def _why_bad(path: str, entries: Mapping[str, Entry]) -> str:
    """Resolve as the kernel would, one name at a time, with the root as a wall."""
    done: list[str] = []
    todo = path.split("/")[::-1]
    hops = 0
    while todo:
        part = todo.pop()
        if part in {"", "."}:
            continue
        if part == "..":
            if not done:
                return "leads out of the repository"
            done.pop()
            continue
        done.append(part)
        entry = entries.get("/".join(done))
        if entry is None or entry.kind != "symlink":
            continue
        hops += 1
        if entry.target.startswith("/"):
            return "is absolute"
        if hops > MOST_HOPS:
            return "is part of a loop"
        done.pop()
        todo.extend(entry.target.split("/")[::-1])
    return ""
