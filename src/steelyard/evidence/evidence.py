"""A run folder -> `Evidence`: what graders may look at, and whether it can be trusted.

Reading never fails: of a damaged folder it gives what there is, and `broken` says why it counts for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from steelyard.deferred.data_class import dataclass
from steelyard.errors import DAMAGED
from steelyard.evidence.change.change import Change
from steelyard.evidence.finding import Finding
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.folder.folder import (
    CHANGE,
    CHECKS,
    FINDINGS,
    MANIFEST,
    OUTCOME,
    SEAL,
    STEP_FILES,
    STEPS,
    RunFolder,
)
from steelyard.evidence.folder.seal import check_seal
from steelyard.evidence.trace.chain import read_events
from steelyard.evidence.trace.summary import Summary, summarise_events
from steelyard.filesystem.tree import path_from_json

NO_CHANGE = Change(baseline="", complete=False)  # of a workspace that was never read


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that a sealed run left."""

    folder: RunFolder
    manifest: Mapping[str, Any]
    change: Change
    outcomes: Mapping[str, Mapping[str, Any]]  # check id -> checks/<id>/outcome.json
    findings: tuple[Finding, ...]
    summary: Summary
    head: str
    seal_digest: str
    broken: str | None = None  # why this record cannot be trusted

    @property
    def blobs(self) -> Blobs:
        return self.folder.blobs

    def change_of(self, step: str | None) -> Change:
        """The workspace as that step left it; of none, or of one that was not taken, as it was in the end."""
        if step is None or step not in self.summary.steps:
            return self.change
        return Change.from_bytes(self.folder.read_bytes(f"{STEPS}/{step}/{CHANGE}"))

    def kept_of(self, step: str | None) -> frozenset[str]:
        """Which files that came with steps were then as they came."""
        name = (
            STEP_FILES if step is None or step not in self.summary.steps else f"{STEPS}/{step}/{STEP_FILES}"
        )
        if not self.folder.file(name).exists():
            return frozenset()
        return frozenset(path_from_json(one) for one in orjson.loads(self.folder.read_bytes(name))["kept"])

    @property
    def changed_paths(self) -> tuple[str, ...]:
        return self.change.changed_paths

    @property
    def termination(self) -> str:
        return self.summary.termination

    @property
    def rationale(self) -> str:
        return self.summary.rationale

    @property
    def patch_refused(self) -> str:
        return self.summary.patch_refused

    @property
    def counts(self) -> Mapping[str, Any]:
        return self.summary.counts

    @property
    def durations(self) -> Mapping[str, float | None]:
        return self.summary.durations

    @property
    def cost_usd(self) -> float | None:
        return self.summary.cost_usd

    @property
    def seed(self) -> int:
        seeds = self.manifest.get("seeds")
        seed = seeds.get("grading") if isinstance(seeds, dict) else None
        return seed if isinstance(seed, int) else 0


def load_evidence(folder: RunFolder | Path, *, deep: bool = True) -> Evidence:
    """Read a run. Without `deep`, blobs are taken to be what their names say."""
    run = folder if isinstance(folder, RunFolder) else RunFolder(folder)
    broken = check_seal(run, deep=deep)
    return read_evidence(run, str(broken[0]) if broken else None)


def read_evidence(run: RunFolder, broken: str | None = None) -> Evidence:
    """Read a run whose record was verified before, and found to be `broken` or not."""
    reader = _Reader(run)
    seal, summary = reader.json(SEAL), reader.summary()
    # The machine failed before the workspace was read: sealed without a change, and nothing was taken away.
    is_absent = summary.termination == "infrastructure" and CHANGE not in seal.get("files", {CHANGE: ""})
    change = NO_CHANGE if is_absent else reader.change()
    return Evidence(
        folder=run,
        manifest=reader.json(MANIFEST),
        change=change,
        outcomes=reader.outcomes(),
        findings=reader.findings(change),
        summary=summary,
        head=str(seal.get("head", "")),
        seal_digest=str(seal.get("digest", "")),
        broken=broken or reader.first_fault,
    )


class _Reader:
    """Reads one file at a time and remembers the first that could not be read."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self.first_fault: str | None = None

    def _fault(self, name: str) -> None:
        self.first_fault = self.first_fault or f"{name}: missing or not readable"

    def json(self, name: str) -> dict[str, Any]:
        try:
            data = self._folder.read_json(name)
            if isinstance(data, dict):
                return data
        except DAMAGED:
            pass
        self._fault(name)
        return {}

    def change(self) -> Change:
        try:
            return Change.from_bytes(self._folder.read_bytes(CHANGE))
        except DAMAGED:
            self._fault(CHANGE)
            return NO_CHANGE

    def outcomes(self) -> dict[str, Mapping[str, Any]]:
        root = self._folder.file(CHECKS)
        found: dict[str, Mapping[str, Any]] = {}
        for path in sorted(root.iterdir()) if root.is_dir() else ():
            outcome = self.json(f"{CHECKS}/{path.name}/{OUTCOME}")
            if isinstance(outcome.get("outcome"), str):
                found[path.name] = outcome
            else:
                self._fault(f"{CHECKS}/{path.name}/{OUTCOME}")
        return found

    def findings(self, change: Change) -> tuple[Finding, ...]:
        """`findings.json` has those of the import and of the rebuilt tree; a run that got no further has none."""
        try:
            listed = orjson.loads(self._folder.read_bytes(FINDINGS))
            return tuple(Finding.from_json(item) for item in listed)
        except FileNotFoundError:
            return change.findings
        except DAMAGED:
            self._fault(FINDINGS)
            return ()

    def summary(self) -> Summary:
        try:
            return summarise_events(read_events(self._folder.events))
        except DAMAGED:
            self._fault("events.jsonl")
            return Summary()
