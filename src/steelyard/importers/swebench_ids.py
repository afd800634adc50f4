"""PASS_TO_PASS of a row -> the ids that a bench can find, and why the others are left out.

[100%]                          a mark of progress that a reader of logs took for a test
tests/gone.py::test_x           no commit and no test patch has the file
--drop-id 'tests/a.py::test_y'  the operator's decision

FAIL_TO_PASS is never shortened: it decides what a solution is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from steelyard.contract.id_files import file_of, without_file
from steelyard.contract.patches.patch_forms import patch_forms
from steelyard.contract.patches.unified_diff import sections
from steelyard.filesystem.tree import printable
from steelyard.importers.clones import paths_of

_STATUS = frozenset({"PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL", "XPASS", "OK", "FAIL"})
NO_ID = "not the id of a test"
NO_FILE = "neither the commit nor the test patch has its file"
BY_OPTION = "--drop-id"
_SHOWN = 3


class SelectedIds(NamedTuple):
    """The ids that stay, and a note for each reason to leave others out."""

    ids: tuple[str, ...]
    notes: tuple[str, ...]


def select_ids(
    ids: Sequence[str], drop: Iterable[str], repository: dict[str, Any], patch: bytes
) -> SelectedIds:
    """`drop` has ids, or patterns with `*`; `patch` is the test patch, which may bring files."""
    named = [*map(_pattern, drop)]
    absent = {*_without_file(ids, repository, patch)}
    left: dict[str, list[str]] = {}
    kept: list[str] = []
    for number, one in enumerate(ids):
        if any(pattern.fullmatch(one) for pattern in named):
            left.setdefault(BY_OPTION, []).append(one)
        elif is_no_id(one):
            left.setdefault(NO_ID, []).append(one)
        elif number in absent:
            left.setdefault(NO_FILE, []).append(one)
        else:
            kept.append(one)
    return SelectedIds(tuple(kept), tuple(_note(why, ones) for why, ones in left.items()))


def is_no_id(text: str) -> bool:
    """`[100%]`, `...`, `PASSED`: what stands beside the ids in a runner's output."""
    return text.strip() in _STATUS or not any(char.isalpha() for char in text)


def dropped_ids(ids: Iterable[str], drop: Iterable[str]) -> list[str]:
    """Those of `ids` that --drop-id names."""
    named = [*map(_pattern, drop)]
    return [one for one in ids if any(pattern.fullmatch(one) for pattern in named)]


def _without_file(ids: Sequence[str], repository: dict[str, Any], patch: bytes) -> list[int]:
    if not any(map(file_of, ids)) or (paths := paths_of(repository)) is None:
        return []
    try:
        changed = [*sections(patch_forms(patch)[0])]
    except ValueError:  # `check` says what is wrong with it
        return []
    gone = {one.old for one in changed if one.deleted or (one.old and one.old != one.new)}
    added = {one.new for one in changed if not one.deleted}
    return without_file(ids, (paths - gone) | added)


def _pattern(text: str) -> re.Pattern[str]:
    """`*` is the only wildcard, as in the ids of a contract."""
    return re.compile(".*".join(map(re.escape, text.split("*"))), re.DOTALL)


def _note(why: str, ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return f"left out of PASS_TO_PASS ({why}): {', '.join(map(printable, ids[:_SHOWN]))}{more}"
