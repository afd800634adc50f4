"""A split suite on a tree that is trusted -> what it reports there, and the kinds of everything that it looks up.

The tree is the snapshot with the reference's change, or without any. The answer is kept in the cache, for a contract, a
suite and its hidden files. A run that did not end normally is used once and never kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import orjson

from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.split.kinds import Kinds
from steelyard.bench.suite.reported import SuiteReport
from steelyard.bench.twin.trusted import how_badly_ended, reference_change, reference_fault
from steelyard.environment.prepare import Environment
from steelyard.errors import AgentFault
from steelyard.sandboxes.base import ExitStats, FileOverlay

FORMAT = "steelyard.split/2"
ENDED_BADLY = "the suite did not finish"


class TrustedSplit(NamedTuple):
    reported: SuiteReport
    has_reference: bool
    kinds: Mapping[str, frozenset[str]]


RunSplit = Callable[[tuple[FileOverlay, ...], Kinds], RunnerResult]


class _NotKeptError(Exception):
    """The run says nothing that may be kept."""

    def __init__(self, report: TrustedSplit) -> None:
        super().__init__()
        self.report = report


def trusted_split(
    environment: Environment, run: RunSplit, suite: object, *, again: bool = False
) -> TrustedSplit:
    """`run` runs the suite on a change, `suite` says which it is; with `again`, what a second run reports."""

    def build(folder: Path) -> None:
        with environment.cache.temporary() as scratch:
            change = reference_change(environment, scratch)
            report, ended = _run(run, change)
        if not ended:
            raise _NotKeptError(report)
        kept = {
            "reported": report.reported.to_json(),
            "has_reference": report.has_reference,
            "kinds": {place: sorted(kinds) for place, kinds in report.kinds.items()},
        }
        (folder / "report.json").write_bytes(orjson.dumps(kept))

    material = orjson.dumps([FORMAT, *environment.identity, suite, again])
    try:
        folder = environment.cache.build("controls", hashlib.sha256(material).hexdigest(), build)
    except _NotKeptError as one:
        return one.report
    kept = orjson.loads((folder / "report.json").read_bytes())
    kinds = {place: frozenset(found) for place, found in kept["kinds"].items()}
    return TrustedSplit(SuiteReport.from_json(kept["reported"]), kept["has_reference"], kinds)


def _run(run: RunSplit, change: tuple[FileOverlay, ...] | None) -> tuple[TrustedSplit, bool]:
    kinds = Kinds()
    try:
        finished, reported = run(change or (), kinds)
    except AgentFault as fault:  # of this tree, not of the candidate's
        return TrustedSplit(
            SuiteReport("", "reporter", problems=(str(fault),)), change is not None, {}
        ), False
    if change is not None and (finished.timed_out or finished.lost):
        raise reference_fault(how_badly_ended(finished, ExitStats()), round(finished.wall_ns / 1e9))
    ended = finished.exit_code is not None and not (finished.timed_out or finished.lost) and kinds.whole
    if not ended:
        reported = replace(reported, problems=(*reported.problems, ENDED_BADLY))
    found = {place: frozenset(one) for place, one in kinds.recorded().items()}
    return TrustedSplit(reported, change is not None, found), ended


def digests(pieces: tuple[FileOverlay, ...]) -> list[tuple[str, str]]:
    """Paths and contents of hidden files, for the key of what is kept."""
    return sorted(
        (one.path.encode(errors="surrogateescape").hex(), hashlib.sha256(one.source.read_bytes()).hexdigest())
        for one in pieces
        if one.source is not None
    )
