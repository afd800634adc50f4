"""A run folder -> what the pages of one run show of it: its state, its result line, and whether the record holds.

A page looks at as much as a table of runs does (seal, manifest, outcomes, gradings, the end of the chain); the Evidence tab
verifies every byte. Reading never fails: of a damaged record the page shows what there is, and says that it does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.errors import DAMAGED
from steelyard.evidence.folder.folder import MANIFEST, RunFolder
from steelyard.evidence.folder.glance import glance
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.evidence.held_run import HeldRun, held_run
from steelyard.evidence.live_state import live_state
from steelyard.evidence.unfinished import unfinished_state
from steelyard.report.result import result_line
from steelyard.web.words import seconds

UNKNOWN = "unknown"  # the name of what a damaged record does not name


@dataclass(frozen=True, slots=True)
class RunRecord:
    """`state` is `finished`, `running`, `interrupted`, `not graded` or `altered`; `result` is missing without a grading."""

    folder: RunFolder
    state: str
    note: str = ""  # what a run without a result is doing, or why a record does not hold
    result: Mapping[str, Any] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    gradings: tuple[Mapping[str, Any], ...] = ()
    number: int = 1  # the grading that is shown
    held: HeldRun | None = None  # what a run without a result waits for, or waited for when its process died

    @property
    def run(self) -> str:
        return self.folder.run_id

    @property
    def contract(self) -> str:
        named = self.result.get("contract") or self.manifest.get("contract") or {}
        return str(named.get("id") or UNKNOWN) if isinstance(named, dict) else UNKNOWN

    @property
    def agent(self) -> str:
        named = self.manifest.get("agent")
        return str(
            self.result.get("agent") or (named.get("name") if isinstance(named, dict) else None) or UNKNOWN
        )

    @property
    def grading(self) -> Mapping[str, Any]:
        return self.gradings[self.number - 1] if self.number <= len(self.gradings) else {}

    @property
    def grades(self) -> list[Mapping[str, Any]]:
        """As the grading has them: with outputs that a result line leaves out."""
        found = self.grading.get("grades", ())
        return [grade for grade in found if isinstance(grade, dict)] if isinstance(found, list) else []


def read_record(folder: RunFolder, number: int = 1) -> RunRecord:
    state = unfinished_state(folder)
    if state:
        held = None if state == "not graded" else held_run(folder)
        return RunRecord(folder, state, _doing(folder, state), manifest=_manifest(folder), held=held)
    evidence, gradings = glance(folder)
    broken = evidence.broken or ""
    if not gradings:
        gradings = _readable(folder)
    try:
        number = number if 1 <= number <= len(gradings) else 1
        line = result_line(evidence, gradings[number - 1], len(gradings))
    except DAMAGED:
        return RunRecord(
            folder, "altered", broken or "its grading cannot be read", manifest=_manifest(folder)
        )
    if broken:
        line |= {
            "status": "invalid",
            "verdict": "invalid",
            "reward": None,
            "reason": f"record altered: {broken}",
        }
    return RunRecord(
        folder,
        "altered" if broken else "finished",
        broken,
        line,
        dict(evidence.manifest),
        tuple(gradings),
        number,
    )


def _readable(folder: RunFolder) -> list[dict[str, Any]]:
    try:
        return read_gradings(folder)
    except DAMAGED:
        return []


def _doing(folder: RunFolder, state: str) -> str:
    if state == "running":
        live = live_state(folder)
        return f"Running: {live.phase}, {seconds(live.elapsed_s)} so far. This page shows what is recorded up to now."
    if state == "not graded":
        return f"Sealed but not graded. `steelyard regrade {folder.typed}` grades it."
    return "Interrupted: the process that ran it ended before the record was sealed. It has no result and does not count."


def _manifest(folder: RunFolder) -> dict[str, Any]:
    try:
        found = folder.read_json(MANIFEST)
    except DAMAGED:
        return {}
    return found if isinstance(found, dict) else {}
