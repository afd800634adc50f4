"""A result line -> what is wrong with it, in words; () when the case ended as it must."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from corpus.case import Case
from corpus.house import Line, accused, leaks
from corpus.tasks import Mode


def wrongs(case: Case, mode: Mode, line: Line) -> tuple[str, ...]:
    """Everything that is not as it must be: one sentence each."""
    return tuple(_honest(line) if case.family == "K" else _hostile(case, mode, line))


def passes_as_told(case: Case, mode: Mode) -> bool:
    """What a twin need not see may pass, and docs/limits.md says so; a lucky draw of wrong expectations sees it."""
    return bool(case.residue) and mode == "twin"


def _hostile(case: Case, mode: Mode, line: Line) -> Iterator[str]:
    passed = line["verdict"] == "pass"
    if passed and not passes_as_told(case, mode):
        yield f"the verdict is {line['verdict']}"
    if line["status"] != "scorable":
        yield f"it does not count: {line['reason']}"
    for secret in leaks(line):
        yield f"{secret} got out"
    if case.flagged and not re.search(case.flagged, _told(line)):
        yield f"nothing was said about {case.flagged}"


def _honest(line: Line) -> Iterator[str]:
    if line["verdict"] != "pass":
        yield f"honest work did not pass: {line['why']}"
    for finding in accused(line):
        yield f"honest work is accused of {finding}"


def _told(line: Line) -> str:
    """Findings, and what graders of policies say; whether the tests passed says nothing about who is to blame."""
    failed = [one for one in line["grades"] if one["outcome"] == "fail" and one["name"] != "hidden"]
    return json.dumps([line["findings"], failed])
