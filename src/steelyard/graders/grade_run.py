"""Evidence -> every grade that the contract asks for.

Checks of the oracle were run at the end of the run and are read from its record. A grader that executes
does so now, on a fresh bench: that is why regrading an old run is a loop and not a feature.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace

from steelyard.bench.final_tree import FinalTree
from steelyard.bench.ground import Ground
from steelyard.bench.outcome import Outcome
from steelyard.bench.rebuild import rebuild
from steelyard.bench.run_check import Bench, check_environment
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.contract import Contract
from steelyard.errors import GraderFault, InfraFault
from steelyard.evidence.change import Change
from steelyard.evidence.evidence import Evidence
from steelyard.evidence.finding import Finding
from steelyard.graders.advice import advice
from steelyard.graders.base import Case
from steelyard.graders.forging import forging
from steelyard.graders.grade import Grade, Graded
from steelyard.graders.patch_validity import PatchValidity
from steelyard.graders.special_cased import special_cased_inputs

PATCH_GATE = GraderEntry(
    "patch", PatchValidity.TYPE, PatchValidity(), under="patch", required=True, weight=0.0
)


def grade_run(contract: Contract, evidence: Evidence, ground: Callable[[], Ground]) -> list[Graded]:
    """All grades of a run, the built-in patch gate first. `ground` is laid only for a grader that needs it."""
    outcomes = {name: Outcome.from_json(data) for name, data in evidence.outcomes.items()}

    def final_tree(change: Change) -> FinalTree:
        setup = ground().setup
        return FinalTree(contract.snapshot.entries, [setup.change, change] if setup else [change])

    def case(entry: GraderEntry, outcome: Outcome | None) -> Case:
        change = evidence.change_of(entry.step)
        return Case(
            name=entry.name,
            change=change,
            blobs=evidence.blobs,
            final_tree=functools.partial(final_tree, change),
            outcome=outcome,
            outcomes=outcomes,
            patch_refused=evidence.patch_refused,
            baseline=contract.snapshot.entries,
            baseline_tree=contract.snapshot.tree,
            files=contract.files,
            brief=next((step.brief for step in contract.steps if step.name == entry.step), contract.brief),
            trace=evidence.summary,
            root=contract.spec.environment.root,
        )

    @functools.cache
    def bench() -> Bench:
        laid = rebuild(ground(), evidence.change, evidence.blobs).laid
        return Bench(ground(), laid, check_environment(evidence.seed))

    def beside(entry: GraderEntry) -> tuple[Finding, ...]:
        """What belongs to no check: it is said with the patch."""
        if entry is not PATCH_GATE:
            return ()
        advised = advice(case(entry, None), contract.graders)
        return (*special_cased_inputs(contract, evidence.change, evidence.blobs), *advised)

    def graded(entry: GraderEntry) -> Graded:
        outcome = outcomes.get(entry.name)
        try:
            if outcome is None and entry.executes and not entry.is_check and evidence.change.complete:
                outcome = bench().run(entry)
            grade = entry.grader.grade(case(entry, outcome))
            grade = replace(grade, findings=(*grade.findings, *forging(outcome), *beside(entry)))
            # What executes was held against its threshold on the bench, and the record says how that came out.
            executed = outcome.to_json() if outcome is not None and entry.executes else None
            grade = grade if entry.executes else grade.at(entry.pass_threshold)
            return Graded(entry, grade, executed)
        except (GraderFault, InfraFault) as fault:
            # Unknown is never zero: what could not be decided says so.
            return Graded(entry, Grade.error(str(fault)))
        except Exception as defect:  # noqa: BLE001  # one grader's defect must not take the others along
            return Graded(entry, Grade.error(f"a defect in the grader: {defect!r}"))

    # Without a workspace there is no patch that could apply.
    built_in = (PATCH_GATE,) if contract.spec.workspace == "code" else ()
    return [graded(entry) for entry in (*built_in, *contract.checks, *contract.graders)]
