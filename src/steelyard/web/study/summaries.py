"""A study -> its summary, computed once: of few runs while a reader waits, of many in a thread while pages say so.

    look(study, state, runs)    -> the summary, or the last one and whether a new one is being computed

`state` is a text that changes whenever the runs or the log of the study do.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from steelyard.errors import OperatorFault, SteelyardError
from steelyard.report.study_summary import read_results, summarise
from steelyard.store.entry import ALTERED, UNFINISHED
from steelyard.store.query import Query
from steelyard.web.records import Records

if TYPE_CHECKING:
    from steelyard.report.study_summary.model import StudySummary

ALL = "all"  # the study that every run of the folder belongs to
RUNS_AT_ONCE = 2_000  # of which a page computes the numbers while a reader waits
MOST_RUNS = 50_000  # whose records fit in memory
_KEPT = 8
_REST = 10  # a study that runs is summarised again after so many times the time that it took
# Members of a result line that no number of a summary comes from; they are most of its size.
_UNUSED = frozenset({"grades", "findings", "assurance", "breakdown", "steps", "why"})


class FoundSummary(NamedTuple):
    summary: StudySummary | None
    is_pending: bool = False  # a newer summary is being computed
    is_old: bool = False  # of an earlier state; a newer one is computed in a while


class _Last(NamedTuple):
    """What was computed last of a large study: for which state, when it was done, how long it took."""

    state: str
    summary: StudySummary | None
    fault: str
    done_at: float
    took_s: float


class Summaries:
    """Summaries that were computed last; one is made again when the runs it is about have changed."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._known: OrderedDict[tuple[str, str], StudySummary] = OrderedDict()
        self._last: dict[str, _Last] = {}
        self._working: dict[str, threading.Thread] = {}
        self._lock = threading.Lock()

    def look(self, study: str, state: str, runs: int) -> FoundSummary:
        """Of few runs the summary of this state. Of many the last one, while a thread makes the one of this state."""
        if runs <= RUNS_AT_ONCE:
            return FoundSummary(self.of(study, state))
        with self._lock:
            last = self._last.get(study)
            thread = self._working.get(study)
            if last and (
                last.state == state or time.monotonic() < last.done_at + max(2.0, _REST * last.took_s)
            ):
                if last.fault:
                    raise OperatorFault(last.fault)
                return FoundSummary(last.summary, is_old=last.state != state)
            if thread is None or not thread.is_alive():
                thread = threading.Thread(target=self._make, args=(study, state), name="summary", daemon=True)
                self._working[study] = thread
                thread.start()
            return FoundSummary(last.summary if last else None, is_pending=True)

    def _make(self, study: str, state: str) -> None:
        started, summary, fault = time.monotonic(), None, ""
        try:
            summary = self._summarise(study)
        except SteelyardError as error:
            fault = str(error)
        except Exception:  # noqa: BLE001  # a defect of one summary must not leave its page waiting
            sys.stderr.write(f"steelyard: a summary failed: {study!r}\n{traceback.format_exc()}")
            fault = "The numbers cannot be computed; the terminal of `steelyard view` says why."
        now = time.monotonic()
        with self._lock:
            self._last[study] = _Last(state, summary, fault, now, now - started)

    def of(self, study: str, state: str) -> StudySummary:
        """The summary of this state, computed now if it is not known."""
        key = study, state
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        summary = self._summarise(study)
        with self._lock:
            self._known[key] = summary
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return summary

    def _summarise(self, study: str) -> StudySummary:
        query = Query() if study == ALL else Query(study=study)
        counts = {str(row["state"]): int(row["runs"]) for row in self._records.tally(("state",), query)}
        without = {name: count for name, count in counts.items() if name in {*UNFINISHED, ALTERED}}
        lines = list(_slim(self._records.results(query)))
        root = self._records.root
        plan = read_results.plan_of(root, lines)
        return summarise.summarise_study(
            read_results.of_lines(str(root), lines, without_result=without, **plan)
        )


def _slim(lines: Iterator[dict[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for line in lines:
        yield {name: value for name, value in line.items() if name not in _UNUSED}
