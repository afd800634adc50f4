"""Shell-style patterns over changed paths, as seed scorers define them: `*` also crosses `/`."""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from steelyard.contract.catalogue import Doubt
from steelyard.contract.tree import Entry, shown
from steelyard.evidence.change import Change, ChangeEntry

SHOWN_PATHS = 10


def matches(path: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def matches_folded(path: str, patterns: Iterable[str]) -> bool:
    """For rules that forbid: `.GitHub/` and compatibility characters do not slip by."""
    folded = _fold(path)
    return any(fnmatchcase(folded, _fold(pattern)) for pattern in patterns)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def claimed_paths(entry: ChangeEntry) -> tuple[str, ...]:
    """Every path that an entry lays claim to: both names, and for a symlink what it stands for and points at."""
    paths = list(entry.paths)
    if entry.new is not None and entry.new.kind == "symlink":
        # A link named like a forbidden folder, or one that points into it, is as good as a file in it.
        paths.append(f"{entry.path}/-")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(entry.path), entry.new.target))
        paths += [target, f"{target}/-"]
    return tuple(paths)


def listed(paths: Sequence[str]) -> str:
    """Some paths for a human, safe to print and never endless."""
    some = ", ".join(shown(path) for path in paths[:SHOWN_PATHS])
    more = len(paths) - SHOWN_PATHS
    return f"{some} and {more} more" if more > 0 else some


def touched(change: Change, paths: Sequence[str]) -> list[str]:
    """Which of these exact paths the change touches, under either name."""
    changed = set(change.changed_paths)
    return [path for path in paths if path in changed]


def unmatched(patterns: Sequence[str], baseline: Mapping[str, Entry]) -> tuple[Doubt, ...]:
    return tuple(
        Doubt(f"patterns[{index}]", f"{pattern!r} matches nothing in the snapshot", fatal=False)
        for index, pattern in enumerate(patterns)
        if not any(fnmatchcase(path, pattern) for path in baseline)
    )


def missing(paths: Sequence[str], baseline: Mapping[str, Entry]) -> tuple[Doubt, ...]:
    return tuple(
        Doubt(f"paths[{index}]", f"{path!r} is not in the snapshot", fatal=True)
        for index, path in enumerate(paths)
        if path not in baseline
    )
