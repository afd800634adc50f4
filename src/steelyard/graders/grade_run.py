"""Evidence -> every grade that the contract asks for.

Checks of the oracle were run at the end of the run and are read from its record. A grader that executes
does so now, on a fresh bench: that is why regrading an old run is a loop and not a feature.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any

from steelyard.bench import apply_patch, final_tree
from steelyard.bench.outcome import Outcome
from steelyard.bench.rebuild import rebuild
from steelyard.bench.run_check import Bench, check_environment
from steelyard.bench.step_files import StepFiles, kept_as_change, overlays_of, step_files_of
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.contract import Contract
from steelyard.deferred.data_class import dataclass
from steelyard.environment.prepare import Environment
from steelyard.errors import GraderFault, InfraFault
from steelyard.evidence.change.change import Change
from steelyard.evidence.evidence import Evidence
from steelyard.evidence.finding import Finding
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.filesystem.tree import printable
from steelyard.graders.base import Case, grader_of
from steelyard.graders.grade import Grade, WeightedGrade
from steelyard.graders.output import may_show_hidden
from steelyard.graders.patch_validity import PatchValidity
from steelyard.graders.tampering import advice, special_cased

_RESULT_FORGING = "result_forging"
_NAMED_FORGERIES = 10
ASKS_MODELS = frozenset({"model_judge", "llm_judge"})
PATCH_GATE = GraderEntry(
    "patch", PatchValidity.TYPE, PatchValidity(), under="patch", required=True, weight=0.0
)


def grade_run(
    contract: Contract,
    evidence: Evidence,
    environment: Callable[[], Environment],
    keys: Mapping[str, str] | None = None,
) -> list[WeightedGrade]:
    """All grades of a run, the built-in patch gate first. `environment` is prepared only for a grader that needs it.

    `keys` are those of models; without any, none is asked.
    """
    # Without a workspace there is no patch that could apply.
    built_in = (PATCH_GATE,) if contract.spec.workspace == "code" else ()
    grading = _Grading(contract, evidence, environment, keys or {})
    entries = (*built_in, *contract.checks, *contract.graders)
    # Those that combine others come last, and stand in the order of the contract all the same.
    combines = [bool(entry.grader.graders_named()) for entry in entries]
    first = [None if late else grading.of(entry) for entry, late in zip(entries, combines, strict=True)]
    alone = {one.entry.name: one.grade for one in first[len(built_in) :] if one is not None}
    combining = replace(grading, grades=alone)
    return [combining.of(entry) if one is None else one for entry, one in zip(entries, first, strict=True)]


@dataclass(frozen=True)
class _Grading:
    """One run, graded entry by entry; what several graders need is made once."""

    contract: Contract
    evidence: Evidence
    environment: Callable[[], Environment]
    keys: Mapping[str, str]
    grades: Mapping[str, Grade] = field(default_factory=dict)

    def of(self, entry: GraderEntry) -> WeightedGrade:
        hidden = entry.executes and may_show_hidden(self.contract, entry)
        try:
            return replace(self._grade(entry), hidden=hidden)
        except InfraFault as fault:
            # Unknown is never zero: what could not be decided says so.
            return WeightedGrade(entry, Grade.error(str(fault)))
        except GraderFault as fault:
            return WeightedGrade(entry, self._without_decision(entry, str(fault)))
        except Exception as defect:  # noqa: BLE001  # one grader's defect must not take the others along
            return WeightedGrade(
                entry, self._without_decision(entry, f"internal error in the grader: {defect!r}")
            )

    def _without_decision(self, entry: GraderEntry, why: str) -> Grade:
        """No decision about this change. If there is one about the reference's, or about none, this change is to blame:

        an undecided grade leaves the score, so a bad change would gain by breaking its grader.
        """
        if entry.executes or entry.type in ASKS_MODELS:
            return Grade.error(why)
        try:
            with self.environment().cache.temporary() as scratch:
                blobs = Blobs(scratch)
                trusted = self._trusted_change(blobs)
                case = replace(
                    self._case(entry, None),
                    change=trusted,
                    blobs=blobs,
                    final_tree=functools.partial(self._final_tree, trusted, entry.step),
                )
                there = grader_of(entry).grade(case)
        except Exception:  # noqa: BLE001  # it decides nothing, so no fault is recorded
            return Grade.error(why)
        if there.outcome == "error":
            return Grade.error(why)
        return Grade.of(False, f"{why}; the grader decides without this change, so the change is at fault")

    def _trusted_change(self, blobs: Blobs) -> Change:
        contract = self.contract
        empty = Change(contract.snapshot.root)
        if contract.reference is None or contract.spec.workspace != "code":
            return empty
        applied = apply_patch.apply_patch(self.environment(), contract.reference.read_bytes(), blobs)
        return empty if applied.refused else applied.change

    def _grade(self, entry: GraderEntry) -> WeightedGrade:
        outcome = self._outcomes.get(entry.name)
        if outcome is None and entry.executes and self.evidence.patch_refused:
            return WeightedGrade(entry, Grade.of(False, "not run: the patch does not apply"))
        if outcome is None and entry.executes and not entry.is_check and self.evidence.change.complete:
            outcome = self._bench.run(entry)
        grade = self._read(entry, grader_of(entry).grade(self._case(entry, outcome)))
        grade = replace(
            grade, findings=(*grade.findings, *_forgery_findings(outcome), *self._findings_of_patch(entry))
        )
        # What executes was held against its threshold on the bench, and the record says how that came out.
        executed = outcome.to_json() if outcome is not None and entry.executes else None
        return WeightedGrade(entry, grade if entry.executes else grade.at(entry.pass_threshold), executed)

    def _read(self, entry: GraderEntry, grade: Grade) -> Grade:
        """A model's reply that cannot be read decides nothing, unless the change asked for that."""
        if entry.type not in ASKS_MODELS or grade.outcome != "error":
            return grade
        steered = any(
            one.get("steered") or str(one.get("error", "")).startswith("a defect")
            for one in grade.data.get("opinions", ())
        )
        addressed = any(one.id == "addresses_judge" for one in self.evidence.findings)
        if not steered and not addressed:
            return grade
        return Grade.of(False, f"caused by the change: {grade.why}", data=grade.data)

    @cached_property
    def _outcomes(self) -> dict[str, Outcome]:
        return {name: Outcome.from_json(data) for name, data in self.evidence.outcomes.items()}

    @cached_property
    def _earlier(self) -> dict[str, Mapping[str, Any]]:
        """The newest grade of each name by this very contract; a damaged grading has none."""
        try:
            gradings = read_gradings(self.evidence.folder)
            mine = [one for one in gradings if one["contract"]["digest"] == self.contract.digest]
            return {grade["name"]: grade for grading in mine for grade in grading["grades"]}
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return {}

    @cached_property
    def _bench(self) -> Bench:
        overlays, _, data = rebuild(self.environment(), self.evidence.change, self.evidence.blobs)
        step_files = overlays_of(self._step_files, self.evidence.kept_of(None))
        environment = check_environment(self.evidence.seed)
        return Bench(self.environment(), (*step_files, *overlays), environment, given=step_files, data=data)

    @cached_property
    def _step_files(self) -> StepFiles:
        taken = [one for one in self.contract.steps if one.files and one.name in self.evidence.summary.steps]
        return step_files_of(self.environment(), taken) if taken else {}

    def _case(self, entry: GraderEntry, outcome: Outcome | None) -> Case:
        contract, evidence = self.contract, self.evidence
        change = evidence.change_of(entry.step)
        return Case(
            name=entry.name,
            change=change,
            blobs=evidence.blobs,
            final_tree=functools.partial(self._final_tree, change, entry.step),
            outcome=outcome,
            outcomes=self._outcomes,
            patch_refused=evidence.patch_refused,
            baseline=contract.snapshot.entries,
            baseline_tree=contract.snapshot.tree,
            files=contract.files,
            brief=next((step.brief for step in contract.steps if step.name == entry.step), contract.brief),
            trace=evidence.summary,
            root=contract.spec.environment.root,
            keys=self.keys,
            earlier=self._earlier.get(entry.name, {}),
            grades={name: self.grades[name] for name in entry.grader.graders_named() if name in self.grades},
        )

    def _final_tree(self, change: Change, step: str | None) -> final_tree.FinalTree:
        setup = self.environment().setup
        step_files = kept_as_change(self._step_files, self.evidence.kept_of(step))
        return final_tree.FinalTree(
            self.contract.snapshot.entries, [*([setup.change] if setup else []), step_files, change]
        )

    def _findings_of_patch(self, entry: GraderEntry) -> tuple[Finding, ...]:
        """What belongs to no check: it is reported with the patch."""
        if entry is not PATCH_GATE:
            return ()
        try:
            advised = advice.advice(self._case(entry, None), self.contract.graders)
            found = special_cased.special_cased_inputs(
                self.contract, self.evidence.change, self.evidence.blobs
            )
        except Exception as defect:  # noqa: BLE001  # advice decides nothing, and neither does its defect
            return (
                Finding(
                    "no_advice", "info", "change.json", f"internal error while looking for advice: {defect!r}"
                ),
            )
        return (*found, *advised)


def _forgery_findings(outcome: Outcome | None) -> tuple[Finding, ...]:
    """Forged results are a violation; controls that did not come to their end, or are weak, are worth a look."""
    if outcome is None:
        return ()
    if outcome.forged:
        named = "; ".join(printable(one) for one in outcome.forged[:_NAMED_FORGERIES])
        more = len(outcome.forged) - _NAMED_FORGERIES
        why = f"{named}; and {more} more" if more > 0 else named
        return (Finding(_RESULT_FORGING, "violation", f"checks/{outcome.id}", why),)
    if outcome.verified is not None and outcome.verified.is_of_others:
        why = printable(outcome.verified.errors[0])
        return (Finding("reward_of_others", "warning", f"checks/{outcome.id}", why),)
    controls = outcome.controls
    if controls is not None and controls.changed and controls.problem:
        return (Finding("no_controls", "warning", f"checks/{outcome.id}", printable(controls.problem)),)
    if controls is not None and controls.weak:
        return (Finding("weak_controls", "info", f"checks/{outcome.id}", printable(controls.weak)),)
    return ()
