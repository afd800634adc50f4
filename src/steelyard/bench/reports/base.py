"""What every reader of reports shares: the one fault it may raise, and its limits.

A report is bytes that were written beside the candidate's code: no size, depth, count or character in it is to be
trusted. A reader returns one `Result` for each test that the report names, in its order, or raises `BadReport`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from steelyard.bench.suite.reported import MAX_RESULTS, MAX_TEXT, Result, ResultOutcome
from steelyard.sandboxes.base import WORKSPACE

MAX_REPORT_BYTES = 32 << 20
MAX_LINES = 1_000_000
MAX_PARTS = 4_000_000  # elements of XML, values of JSON: a small part each, a lot of memory together
RERUN = "passed only when run again"
NO_TEST = "the report has no test in it"

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class BadReport(Exception):  # named for the culprit, as all faults
    """The report is broken, or says two things at once; `results` is what could be read all the same."""

    def __init__(self, why: str, results: Sequence[Result] = ()) -> None:
        super().__init__(why)
        self.results = tuple(results)


def one_line(text: object) -> str:
    """Text of a report as it may be kept: one line, short, nothing that cannot be written as UTF-8."""
    whole = text if isinstance(text, str) else "" if text is None else str(text)
    flat = _UNPRINTABLE.sub(" ", whole[: 2 * MAX_TEXT]).strip()
    return flat.encode(errors="replace").decode()[:MAX_TEXT]


def one_result(
    id_: object, outcome: ResultOutcome, detail: object = "", file: object = "", title: object = ""
) -> Result:
    return Result(
        one_line(id_) or "(no name)", outcome, one_line(detail), in_workspace(file), one_line(title)
    )


def join_id(group: object, name: object) -> str:
    """`group::name`; once, where both are the same or one of them is missing."""
    parts = [one_line(group), one_line(name)]
    return "::".join(dict.fromkeys(part for part in parts if part))


def in_workspace(path: object) -> str:
    """A path as the workspace knows it: reports name files absolutely, with `./`, or not at all."""
    text = one_line(path)
    if text.startswith("/") and f"{WORKSPACE}/" in text:  # without isolation, the workspace lies deeper
        text = text.partition(f"{WORKSPACE}/")[2]
    return text.removeprefix("./")


def within_size(data: bytes, *parts: bytes) -> bytes:
    """The report, if it is of a size, and of as many `parts`, as may be read."""
    if len(data) > MAX_REPORT_BYTES:
        raise BadReport(f"the report is larger than {MAX_REPORT_BYTES >> 20} MB")
    if sum(map(data.count, parts)) > MAX_PARTS:
        raise BadReport(f"the report has more than {MAX_PARTS} parts")
    if not data.strip():
        raise BadReport("the report is empty")
    return data


def lines_of(data: bytes) -> list[bytes]:
    if within_size(data).count(b"\n") > MAX_LINES:
        raise BadReport(f"the report has more than {MAX_LINES} lines")
    return data.split(b"\n")


def some(results: list[Result]) -> list[Result]:
    """A report in which nothing ran says nothing, and one without end is no report."""
    if not results:
        raise BadReport(NO_TEST)
    if len(results) > MAX_RESULTS:
        raise BadReport(f"the report has more than {MAX_RESULTS} tests", results[:MAX_RESULTS])
    return results


def as_declared(what: str, declared: object, found: int, results: Sequence[Result]) -> None:
    """The count that the report gives of itself, against the entries in it."""
    if isinstance(declared, int) and not isinstance(declared, bool) and declared != found:
        raise BadReport(f"the report declares {declared} {what} and has {found}", results)
