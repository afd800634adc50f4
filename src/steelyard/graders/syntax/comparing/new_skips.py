"""Skips before and after -> those that are new. A test that moves or is renamed takes its skip along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from steelyard.graders.syntax.comparing.compare import SyntaxFinding
from steelyard.graders.syntax.reading.outline import Outline, Skip

MOST_SKIPS = 1000  # that are compared one by one; beyond that every skip counts as new


class _Old(NamedTuple):
    skip: Skip
    path: str  # where the file is now


def new_skips(old: list[Outline], new: list[Outline], renamed: Mapping[str, str]) -> list[SyntaxFinding]:
    before = [
        _Old(skip, renamed.get(outline.path, outline.path)) for outline in old for skip in outline.skips
    ]
    known = {name for outline in old for name in _names(outline)}
    standing = {(outline.path, name) for outline in new for name in (*_names(outline), "")}
    anywhere = {name for _, name in standing}
    before = before[:MOST_SKIPS]
    found: list[SyntaxFinding] = []
    for outline in new:
        for skip in outline.skips:
            known_as = before if len(found) < MOST_SKIPS else []
            earlier = _earlier(skip, outline.path, known_as, standing, anywhere)
            if earlier is not None:
                before.remove(earlier)
                if earlier.skip.conditional and not skip.conditional and earlier.skip.marker != skip.marker:
                    found.append(
                        _skip_finding("skip_widened", outline.path, skip, "is now always switched off")
                    )
            elif not skip.only_if_old or skip.target in known:
                found.append(_skip_finding("new_skip", outline.path, skip, "is switched off"))
    return sorted(found, key=lambda one: (one.path, one.line, one.id))


def _names(outline: Outline) -> set[str]:
    return {unit.qual for unit in outline.units} | outline.groups


def _earlier(
    skip: Skip, path: str, before: list[_Old], standing: set[tuple[str, str]], anywhere: set[str]
) -> _Old | None:
    """The skip that this one was: on the same test, or on one that moved or was renamed."""
    here = [one for one in before if (one.path, one.skip.target) == (path, skip.target)]
    moved = [
        one for one in before if one.skip.target == skip.target and (one.path, skip.target) not in standing
    ]
    called = [one for one in before if one.skip.marker == skip.marker and one.skip.target not in anywhere]
    for candidates in (here, moved, called):
        if candidates:
            return next((one for one in candidates if one.skip.marker == skip.marker), candidates[0])
    return None


def _skip_finding(slug: str, path: str, skip: Skip, what: str) -> SyntaxFinding:
    on = " on a condition" if skip.conditional else ""
    return SyntaxFinding(
        slug, path, skip.line, False, f"{skip.target or 'the whole file'} {what}{on}: {skip.marker}"
    )
