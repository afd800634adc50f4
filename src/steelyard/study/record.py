"""Sealed evidence -> a graded record: `gradings/NNNN.json`, with the first a `report.json`, and the result in memory."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.contract.contract import Contract
from steelyard.contract.digest import graders_digest
from steelyard.deferred.data_class import dataclass
from steelyard.environment.prepare import Environment, prepare_environment
from steelyard.evidence.cost import cost_items, listed_prices
from steelyard.evidence.evidence import Evidence
from steelyard.evidence.folder.folder import REPORT, json_bytes
from steelyard.evidence.folder.gradings import SCHEMA, append_grading, grading_files
from steelyard.evidence.in_use import InUse
from steelyard.evidence.replay_ways import replay_ways
from steelyard.evidence.run_use import RunUse, use_of_cost
from steelyard.evidence.trace.termination import CLASS_OF
from steelyard.filesystem.disk_reserve import Reserve
from steelyard.filesystem.tree import printable
from steelyard.graders.grade import WeightedGrade
from steelyard.graders.grade_run import grade_run
from steelyard.judge import cost as judge_costs
from steelyard.judge import judgement
from steelyard.study import answer_status
from steelyard.study.alert_findings import alert_findings, quarantine_reason
from steelyard.study.deviations import protocol_of
from steelyard.study.judging import Judging
from steelyard.study.run_facts import run_facts
from steelyard.verdict.assurance import Assurance, assure
from steelyard.verdict.evaluation import evaluate
from steelyard.verdict.run_facts import RunFacts
from steelyard.verdict.status import Status, decide_status
from steelyard.verdict.steps import step_results
from steelyard.verdict.verdict import GradedRun, Rule, Verdict, decide

REPORT_SCHEMA = "steelyard.report/1"  # a further member leaves it as it is; another value for the same run needs the next number
MOST_CHANGED = 1000  # changed files that a report names


@dataclass(frozen=True, slots=True)
class Record:
    """One run, graded."""

    contract: Contract
    evidence: Evidence
    grades: tuple[WeightedGrade, ...]
    verdict: Verdict
    assurance: Assurance
    number: int = 1  # of the grading; the first is the result of record
    use: RunUse | None = None  # what the envelopes of a study charge for the run, once it is graded
    grading: Mapping[str, Any] = field(default_factory=dict)  # as it was appended


def grade_evidence(  # noqa: PLR0913  # engines pass the last one
    contract: Contract,
    evidence: Evidence,
    environment: Callable[[], Environment] | None = None,
    signer: Path | None = None,
    judging: Judging | None = None,
    *,
    reserve: Reserve | None = None,
) -> Record:
    """Grade a run and append the grading to its folder, signed like its seal; earlier gradings stay.

    The first is the result of record: `report.json` shows it, whatever later gradings say. Without `judging` no model is
    asked for its opinion. `reserve` is room on the disk for what is written here.
    """
    lazily = functools.cache(environment or (lambda: prepare_environment(contract)))
    status = _status(contract, evidence)
    scorable = status.status == "scorable"
    keys = judging.env if judging else {}
    with InUse(evidence.folder.path):
        if judging and scorable:
            judging.announce_graders(contract)
        grades = tuple(grade_run(contract, evidence, lazily, keys)) if scorable else ()
        judge = judging.judge(contract, evidence, grades) if judging and scorable else None
        record = _decided(contract, evidence, grades, status, judge)
        return _append_grading(record, signer, reserve.use if reserve else lambda write: write())


def _append_grading(record: Record, signer: Path | None, use: Callable[[Callable[[], Path]], Path]) -> Record:
    folder = record.evidence.folder
    report = report_of(record, cost_of_judging(record))
    bound = {} if grading_files(folder) else {"report": bound_report(report)}
    grading = _describe(record)
    number = int(use(lambda: append_grading(folder, {**grading, **bound}, signer)).stem)
    record = replace(
        record, number=number, use=use_of_cost(report["cost"]), grading={**grading, "number": number}
    )
    if record.number == 1:
        use(lambda: folder.write_json(REPORT, report))
    return record


def bound_report(report: Mapping[str, Any]) -> dict[str, str]:
    """What a grading says of the file `report.json`, so that any version can tell whether it was altered."""
    return {"schema": report["schema"], "digest": hashlib.sha256(json_bytes(report)).hexdigest()}


def _status(contract: Contract, evidence: Evidence) -> Status:
    return decide_status(
        [entry.name for entry in contract.checks],
        evidence.outcomes,
        broken=_why_invalid(contract, evidence),
        termination=evidence.termination,
    )


def _decided(
    contract: Contract,
    evidence: Evidence,
    grades: tuple[WeightedGrade, ...],
    status: Status,
    judge: judgement.Judgement | None,
) -> Record:
    findings = (
        *evidence.findings,
        *alert_findings(evidence.summary),
        *(finding for one in grades for finding in one.grade.findings),
    )
    spec = contract.spec
    rule = Rule(
        pass_threshold=spec.pass_threshold,
        reward=spec.reward,
        workspace=spec.workspace,
        step_reward=spec.step_reward,
        expected_outcome=spec.expected_outcome,
        policy_effect=spec.policy.effect,
        quality=spec.quality,
        contract_score=spec.contract_score,
    )
    steps = step_results(contract.steps, grades, evidence.summary.steps, spec.reward)
    answer = (
        answer_status.answer_status(evidence.change, evidence.blobs) if spec.workspace == "none" else "given"
    )
    facts = run_facts(contract, evidence) if status.status == "scorable" else RunFacts()
    run = GradedRun(grades, findings, status, evidence.termination, steps, judge, answer, facts)
    verdict = decide(run, rule)
    return Record(contract, evidence, grades, verdict, assure(evidence.manifest, grades, len(findings)))


def _why_invalid(contract: Contract, evidence: Evidence) -> str | None:
    if evidence.termination == "infrastructure":
        return f"infrastructure: {evidence.rationale}"
    recorded = evidence.manifest.get("contract", {}).get("digest")
    if recorded != contract.digest:
        return f"the run has contract digest {recorded}, not {contract.digest}"
    return evidence.broken or quarantine_reason(evidence)


def _describe(record: Record) -> dict[str, Any]:
    """What `gradings/NNNN.json` holds: everything a reader needs to see why the verdict is what it is."""
    evaluation = evaluate(record.verdict, record.grades)
    return {
        "schema": SCHEMA,
        "number": record.number,
        "harness": {"name": "steelyard", "version": __version__},
        "contract": {"id": record.contract.id, "digest": record.contract.digest},
        "graders": graders_digest(record.contract.graders),
        "grades": [one.to_json() for one in record.grades],
        "verdict": record.verdict.to_json(),
        "evaluation": None if evaluation is None else evaluation.model_dump(mode="json"),
        "assurance": record.assurance.to_json(),
        "judge_cost": cost_of_judging(record),
    }


def report_of(record: Record, judge_cost: Mapping[str, Any] | None) -> dict[str, Any]:
    """The run report: identity, final state, outcomes, counts and durations; what is not known is null."""
    evidence, verdict = record.evidence, record.verdict
    manifest, change, counts = evidence.manifest, evidence.change, _counts(evidence)
    ways = replay_ways(manifest, evidence.summary)
    return {
        "schema": REPORT_SCHEMA,
        "run": manifest.get("run"),
        "contract": manifest.get("contract"),
        "content_root": manifest.get("repository", {}).get("content_root"),
        "final_tree": hashlib.sha256(f"{change.baseline}:{change.digest}".encode()).hexdigest(),
        "status": verdict.status,
        "reason": verdict.reason,
        "acceptance": verdict.acceptance,
        "verdict": verdict.verdict,
        "patch_verdict": verdict.patch_verdict,
        "judge": None if verdict.judge is None else verdict.judge.verdict,
        "disagreement": verdict.disagreement,
        "checks": {name: outcome["outcome"] for name, outcome in evidence.outcomes.items()},
        "turns": evidence.summary.turns,
        "steps": [step.to_json() for step in verdict.steps],
        "termination": {
            "code": evidence.termination,
            "class": CLASS_OF[evidence.termination],
            "rationale": evidence.rationale,
            "by": evidence.summary.stopped_by,
            "alert": evidence.summary.alert,
            "event": evidence.summary.event,
        },
        "counts": counts,
        "durations": evidence.durations,
        "usage": _usage(evidence, counts),
        "changed_files": [printable(path) for path in change.changed_paths[:MOST_CHANGED]],
        "changed_files_left_out": max(0, len(change.changed_paths) - MOST_CHANGED),
        "comparability_class": manifest.get("configuration", {}).get("comparability_class"),
        "replayable": bool(ways),
        "replay": [way.to_json() for way in ways],
        "protocol": protocol_of(manifest, evidence.outcomes),
        "cost": cost_of(record, judge_cost),
        "alerts": evidence.summary.alerts,
        "interventions": evidence.summary.interventions,
        "decisions": evidence.summary.decisions,
        "left_out": dict(evidence.summary.left_out),
        "causes": verdict.causes,
    }


def cost_of_judging(record: Record) -> dict[str, Any] | None:
    """What our own requests to models cost: the judge's, and those of graders that ask models."""
    judge = record.verdict.judge
    opinions: list[Mapping[str, Any]] = [] if judge is None else [asdict(one) for one in judge.opinions]
    for one in record.grades:
        data = one.grade.data or {}
        opinions += [] if data.get("reused") else data.get("opinions") or ()
    if not opinions:
        return None
    return judge_costs.judge_cost(judge_costs.requests_of(opinions), listed_prices(record.evidence))


def cost_of(record: Record, judge_cost: Mapping[str, Any] | None) -> dict[str, Any]:
    """Dollars, or the units of answers that have no price; by which list."""
    evidence = record.evidence
    models = evidence.summary.models
    return {
        "usd": models.cost_usd,
        "units": models.units,
        "method": models.method,
        "id": models.prices,
        "matched_models": dict(models.models),
        "estimated_answers": models.estimated,
        "items": cost_items(evidence, judge=judge_cost),
        "claimed": claimed_by_client(evidence),
    }


def claimed_by_client(evidence: Evidence) -> dict[str, Any] | None:
    """What the agent's client says that it used, and by how much that differs from what the gateway metered; never counted."""
    claims = evidence.summary.claims
    if not claims:
        return None
    tokens_in, tokens_out = evidence.summary.usage or (None, None)
    metered = {"usd": evidence.cost_usd, "tokens_in": tokens_in, "tokens_out": tokens_out}
    difference = {name: _difference(value, metered[name]) for name, value in claims.items()}
    return {**claims, "difference": difference}


def _difference(claimed: float, metered: float | None) -> float | None:
    return None if metered is None else round(claimed - metered, 9)


def _counts(evidence: Evidence) -> dict[str, Any]:
    """Where no model can be reached, none was asked."""
    requests = evidence.counts["requests"]
    return {**evidence.counts, "requests": 0 if requests is None and _is_offline(evidence) else requests}


def _usage(evidence: Evidence, counts: Mapping[str, Any]) -> dict[str, Any]:
    """What the work took; a value that was not metered is null, never 0."""
    offline = (0, 0) if counts["requests"] == 0 and _is_offline(evidence) else (None, None)
    tokens_in, tokens_out = evidence.summary.usage or offline
    calls = counts["tool_calls"]
    return {
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        **dict.fromkeys(evidence.summary.models.parts, None),
        **(evidence.summary.models.parts if evidence.summary.usage else {}),
        "model_calls": evidence.summary.models.calls if evidence.summary.usage else counts["requests"],
        "waited_s": evidence.durations["waited_s"],
        "exec_s": evidence.durations["active_tool_s"],
        "wall_s": evidence.durations["wall_s"],
        "tool_calls": None if calls is None else sum(calls.values()),
        "test_cycles": counts["test_cycles"],
    }


def _is_offline(evidence: Evidence) -> bool:
    return bool(evidence.manifest.get("environment", {}).get("network") == "none")
