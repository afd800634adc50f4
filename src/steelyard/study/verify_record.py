"""A run folder -> everything in it that is not as it was left: sealed files, gradings, and the report derived again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import orjson

from steelyard.evidence.evidence import Evidence, read_evidence
from steelyard.evidence.finding import Finding
from steelyard.evidence.folder.annotations import read_annotations
from steelyard.evidence.folder.folder import EVENTS, REPORT, RunFolder
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.evidence.folder.seal import Break, check_seal
from steelyard.evidence.trace.chain import read_events
from steelyard.judge.judgement import Judgement
from steelyard.monitors.watchdog import replay_alerts
from steelyard.study.record import Record, bound_report, report_of
from steelyard.verdict.gates import Gate
from steelyard.verdict.steps import StepResult
from steelyard.verdict.verdict import Verdict

_ABSENT = object()
# What every report ever had.
_ALWAYS = (
    "schema",
    "run",
    "contract",
    "content_root",
    "final_tree",
    "status",
    "reason",
    "acceptance",
    "checks",
    "termination",
    "counts",
    "durations",
    "changed_files",
    "comparability_class",
    "replayable",
    "protocol",
    "cost",
    "alerts",
    "interventions",
)


def record_breaks(folder: RunFolder, public_key: Path | None = None, *, deep: bool = True) -> list[Break]:
    """As `check_seal`, with the annotations; where nothing else is wrong `report.json` is derived again and compared."""
    sealed = check_seal(folder, public_key, deep=deep)
    annotated = (
        [Break(*fault) for fault in read_annotations(folder).faults] if folder.state == "sealed" else []
    )
    return [*sealed, *annotated] or [*_derived_breaks(read_evidence(folder))]


def _derived_breaks(evidence: Evidence) -> list[Break]:
    return [*alert_breaks(evidence), *_report_breaks(evidence)]


def alert_breaks(evidence: Evidence) -> Iterator[Break]:
    """The monitors watch the log again: the same log gives the same alerts, byte for byte."""
    replay = replay_alerts(evidence.manifest, read_events(evidence.folder.events))
    if replay.why:
        yield Break(EVENTS, f"not what the monitors say: {replay.why}")


def derived_report(evidence: Evidence, grading: Mapping[str, Any]) -> dict[str, Any]:
    """`report.json` as the sealed evidence and that grading make it, as JSON."""
    # The report says nothing of the contract or of single grades that is not in the evidence or in the verdict.
    record = Record(cast("Any", None), evidence, (), _recorded(grading["verdict"]), cast("Any", None))
    report: dict[str, Any] = orjson.loads(orjson.dumps(report_of(record, grading.get("judge_cost"))))
    return report


def _report_breaks(evidence: Evidence) -> Iterator[Break]:
    gradings = read_gradings(evidence.folder)
    if not gradings or not evidence.folder.file(REPORT).exists():
        return  # killed between a grading and its report
    stored = evidence.folder.read_json(REPORT)
    yield from (Break(REPORT, f"altered: {why}") for why in _altered(stored, evidence, gradings[0]))


def _altered(stored: Mapping[str, Any], evidence: Evidence, grading: Mapping[str, Any]) -> list[str]:
    """What is wrong with a report. Another version, or an earlier commit of this one, may have written more or fewer members."""
    derived, bound = derived_report(evidence, grading), grading.get("report")
    if bound == bound_report(derived):
        names = sorted(stored.keys() | derived.keys())
        return [_differs(name) for name in names if stored.get(name, _ABSENT) != derived.get(name, _ABSENT)]
    both = sorted(stored.keys() & derived.keys()) if stored.get("schema") == derived["schema"] else []
    found = [_differs(name) for name in both if not _agree(stored[name], derived[name])]
    if bound is None:  # a grading from before gradings named their report
        return [*found, *(f"its `{name}` is missing" for name in _ALWAYS if name not in stored)]
    return found or ([] if bound == bound_report(stored) else ["it is not the report that grading 1 names"])


def _differs(name: str) -> str:
    return f"its `{name}` differs from the record"


def _agree(stored: Any, derived: Any) -> bool:
    """Whether two values are the same where both say something."""
    if isinstance(stored, dict) and isinstance(derived, dict):
        return all(_agree(stored[name], derived[name]) for name in stored.keys() & derived.keys())
    if isinstance(stored, list) and isinstance(derived, list):
        return len(stored) == len(derived) and all(map(_agree, stored, derived))
    return bool(stored == derived)


def _recorded(data: Mapping[str, Any]) -> Verdict:
    """A verdict as a grading keeps it."""
    gates = data["gates"]
    more = {name: data[name] for name in ("score", "mean_score", "reward", "badge", "checks")}
    return Verdict(
        verdict=data["verdict"],
        status=data["status"],
        acceptance=data["acceptance"],
        reason=data["reason"],
        gates=None if gates is None else {name: Gate(**gate) for name, gate in gates.items()},
        tags=tuple(data["tags"]),
        findings=tuple(map(Finding.from_json, data["findings"])),
        steps=tuple(StepResult(**step) for step in data["steps"]),
        judge=None if data["judge"] is None else Judgement.from_json(data["judge"]),
        disagreement=data["disagreement"],
        patch_verdict=data.get("patch_verdict"),
        patch_reward=data.get("patch_reward"),
        causes=data.get("causes"),
        **more,
    )
