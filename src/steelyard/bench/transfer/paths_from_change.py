"""Words of a command -> those that lead to something which the change added, moved or removed.

A command that starts `.venv/bin/python` must find the interpreter of the snapshot or of setup there. Links are
followed as data, so a link of the snapshot that leads to a file of the change is found out too.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence

from steelyard.evidence.change.change import Change
from steelyard.filesystem.tree import Entry, prefixes
from steelyard.sandboxes.base import WORKSPACE, FileOverlay

MAX_LINKS = 40


def changed_words(
    words: Sequence[str],
    path_variable: str,
    tree: Iterable[Mapping[str, Entry]],
    overlays: Sequence[FileOverlay],
) -> frozenset[str]:
    """`tree`: snapshot and setup, the later on top. The first word is also looked for on PATH."""
    links, theirs = _links(tree, overlays), {one.path for one in overlays}
    return frozenset(
        word
        for number, word in enumerate(words)
        if any(
            _hit(place, links, theirs) is not None
            for place in _places(word, path_variable if number == 0 else "")
        )
    )


def found_on_path(
    programs: Iterable[str],
    path_variable: str,
    tree: Iterable[Mapping[str, Entry]],
    overlays: Sequence[FileOverlay],
) -> frozenset[str]:
    """The paths of the change over which a shell would come to one of these programs."""
    links, theirs = _links(tree, overlays), {one.path for one in overlays}
    hits = (_hit(place, links, theirs) for name in programs for place in _places(name, path_variable))
    return frozenset(hit for hit in hits if hit)


def _links(tree: Iterable[Mapping[str, Entry]], overlays: Sequence[FileOverlay]) -> dict[str, str]:
    links = {path: one.target for layer in tree for path, one in layer.items() if one.kind == "symlink"}
    return links | {one.path: one.target for one in overlays if one.kind == "symlink"}


def entries_of(change: Change | None) -> Mapping[str, Entry]:
    found = change.entries if change is not None else ()
    return {one.path: one.new for one in found if one.new is not None}


def python_modules(baseline: Iterable[str]) -> frozenset[str]:
    """The names that can be imported from the root of a tree, or from its `src` or `lib`."""
    names = set()
    for path in baseline:
        parts = path.split("/")
        if parts[0] in {"src", "lib"} and len(parts) > 1:
            parts = parts[1:]
        if len(parts) == 1 and parts[0].endswith(".py"):
            names.add(parts[0].removesuffix(".py"))
        elif len(parts) == 2 and parts[1].endswith(".py"):
            names.add(parts[0])
    return frozenset(names)


def _places(word: str, path_variable: str) -> list[str]:
    """Where in the tree a word may point, relative to it."""
    if "/" not in word:
        return [
            posixpath.join(folder, word)
            for folder in map(_in_tree, path_variable.split(":"))
            if folder is not None
        ]
    place = _in_tree(word)
    return [place] if place is not None else []


def _in_tree(path: str) -> str | None:
    inside = posixpath.relpath(posixpath.join(WORKSPACE, path), WORKSPACE)
    return None if inside.startswith("..") else inside


def _hit(place: str, links: Mapping[str, str], theirs: set[str]) -> str | None:
    """The first thing on the way to a place that is the change's; "" for a way without an end."""
    path = place.removeprefix("./")
    for _ in range(MAX_LINKS):
        hit = next((part for part in prefixes(path) if part in theirs), None)
        if hit is not None:
            return hit
        link = next((part for part in prefixes(path) if part in links), None)
        if link is None:
            return None
        target = posixpath.normpath(posixpath.join(posixpath.dirname(link), links[link]) + path[len(link) :])
        inside = _in_tree(target)
        if inside is None:
            return None
        path = inside
    return ""
