"""Shell-style patterns over changed paths, as seed scorers define them: `*` also crosses `/`."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated

from steelyard.contract.catalogue import LintWarning
from steelyard.contract.model import NonEmpty
from steelyard.deferred.model import AfterValidator
from steelyard.evidence.change.change import Change
from steelyard.filesystem.tree import Entry, printable

SHOWN_PATHS = 10


def _inside(path: str) -> str:
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if not parts or path.startswith("/") or {"..", ".git"} & set(parts) or "\0" in path:
        raise ValueError("must be a relative path inside the repository, without `..` and not in .git")
    return "/".join(parts)


PathInside = Annotated[NonEmpty, AfterValidator(_inside)]


def matches(path: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def matches_folded(path: str, patterns: Iterable[str]) -> bool:
    """For rules that forbid: `.GitHub/` and compatibility characters do not slip by."""
    folded = _fold(path)
    return any(fnmatchcase(folded, _fold(pattern)) for pattern in patterns)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def list_paths(paths: Sequence[str]) -> str:
    """Some paths for a human, safe to print and never endless."""
    some = ", ".join(printable(path) for path in paths[:SHOWN_PATHS])
    more = len(paths) - SHOWN_PATHS
    return f"{some} and {more} more" if more > 0 else some


def touched_paths(change: Change, paths: Sequence[str]) -> list[str]:
    """Which of these exact paths the change touches, under either name."""
    changed = set(change.changed_paths)
    return [path for path in paths if path in changed]


def unmatched_pattern_warnings(
    patterns: Sequence[str], baseline: Mapping[str, Entry]
) -> tuple[LintWarning, ...]:
    return tuple(
        LintWarning(f"patterns[{index}]", f"{pattern!r} matches nothing in the snapshot", fatal=False)
        for index, pattern in enumerate(patterns)
        if not any(fnmatchcase(path, pattern) for path in baseline)
    )


def missing_path_warnings(paths: Sequence[str], baseline: Mapping[str, Entry]) -> tuple[LintWarning, ...]:
    return tuple(
        LintWarning(f"paths[{index}]", f"{path!r} is not in the snapshot", fatal=True)
        for index, path in enumerate(paths)
        if path not in baseline
    )
