"""Grades of one run -> its Verdict. Pure: the same grades always give the same verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from steelyard.contract.model import ContractScore, Quality
from steelyard.contract.threshold import is_enough
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.finding import Finding
from steelyard.graders.grade import VerifierEvaluation, WeightedGrade
from steelyard.judge import judgement
from steelyard.verdict.auto_fail import AnswerStatus, auto_fail_reason
from steelyard.verdict.disagreement import Disagreement, disagreement
from steelyard.verdict.failures.causal import causal_summary
from steelyard.verdict.failures.rules import FailureCase, assign
from steelyard.verdict.failures.taxonomy import FailureTag
from steelyard.verdict.gates import Gate, decide_gates, weighted_mean
from steelyard.verdict.quality import (
    ContractScored,
    QualityScore,
    first_violation,
    is_policy_finding,
    measure_quality,
    policy_violation,
    score_contract,
    subscores,
    validity_parts,
)
from steelyard.verdict.rules import Answer, Decision, Facts, VerdictRule, is_stopped, rule_for
from steelyard.verdict.run_facts import RunFacts
from steelyard.verdict.status import Acceptance, RunStatus, Status, decide_acceptance
from steelyard.verdict.steps import StepResult, steps_reward

PATCH_TYPE = "patch_validity"  # the built-in grader of G1
TRACE_TYPE = "trace"  # grades the conduct of the run
ALERT_FINDINGS = ("safety_", "policy_")  # ids of findings that monitors made begin with one of these
Checks = Literal["PASS", "FAIL", "UNGRADED"]
Badge = Literal["PASS", "FAIL", "INVALID"]


@dataclass(frozen=True, slots=True)
class Rule:
    """What the contract says about turning grades into a verdict."""

    pass_threshold: float = 1.0
    reward: str = "combined"
    workspace: str = "code"  # none: there is no change, so there are no gates
    step_reward: str = "mean"
    expected_outcome: str = "completion"
    policy_effect: str = "gate"  # penalty: what breaks a rule of `policy` lowers the reward and fails no gate
    quality: Quality | None = None
    contract_score: ContractScore = field(default_factory=ContractScore)


@dataclass(frozen=True, slots=True)
class GradedRun:
    """Everything about one run that its verdict follows from, apart from the contract's rule."""

    grades: Sequence[WeightedGrade]
    findings: Sequence[Finding]
    status: Status
    termination: str
    steps: Sequence[StepResult] = ()
    judge: judgement.Judgement | None = None
    answer_status: AnswerStatus = "given"
    facts: RunFacts = field(default_factory=RunFacts)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Three results side by side (checks, judge, badge), and none hides another."""

    verdict: Decision
    status: RunStatus
    acceptance: Acceptance | None
    reason: str
    checks: Checks
    gates: Mapping[str, Gate] | None
    score: float | None
    mean_score: float | None  # unweighted, of whatever the contract asked for and applied
    reward: float | None
    badge: Badge
    tags: tuple[str, ...]
    findings: tuple[Finding, ...]
    steps: tuple[StepResult, ...] = ()
    judge: judgement.Judgement | None = None  # None: no model was asked
    disagreement: Disagreement = "none"
    patch_verdict: Decision | None = None  # of the change itself, where something stopped the run
    patch_reward: float | None = None
    quality: QualityScore | None = None
    contract_score: ContractScored | None = None
    subscores: Mapping[str, float | None] | None = None
    penalty: str = ""  # what lowered the reward
    penalty_weight: float = 0.0  # by so much
    reward_rule: str = "combined"
    pass_threshold: float = 1.0
    failure_modes: tuple[FailureTag, ...] = ()  # what `tags` names, with evidence
    causes: Mapping[str, Any] | None = None  # an interpretation of the events, labelled as one

    def to_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "status": self.status,
            "acceptance": self.acceptance,
            "reason": self.reason,
            "checks": self.checks,
            "gates": None
            if self.gates is None
            else {name: gate._asdict() for name, gate in self.gates.items()},
            "score": self.score,
            "mean_score": self.mean_score,
            "reward": self.reward,
            "patch_verdict": self.patch_verdict,
            "patch_reward": self.patch_reward,
            "reward_rule": self.reward_rule,
            "pass_threshold": self.pass_threshold,
            "quality": None if self.quality is None else self.quality.to_json(),
            "contract_score": None if self.contract_score is None else self.contract_score.to_json(),
            "subscores": None if self.subscores is None else dict(self.subscores),
            "penalty": self.penalty,
            "penalty_weight": self.penalty_weight,
            "judge": None if self.judge is None else self.judge.to_json(),
            "disagreement": self.disagreement,
            "badge": self.badge,
            "tags": list(self.tags),
            "failure_modes": [tag.to_json() for tag in self.failure_modes],
            "causes": self.causes,
            "findings": [finding.to_json() for finding in self.findings],
            "steps": [step.to_json() for step in self.steps],
        }


def decide(run: GradedRun, rule: Rule) -> Verdict:
    """By the table in `rules.py`. The judge decides only where nothing else could look: without a workspace."""
    if run.status.status == "invalid":
        return _invalid(run)
    grades, findings, termination = run.grades, run.findings, run.termination
    # Of a run without a workspace these say what its answer came to, and are not shown.
    gating = _gating(findings, rule)
    gates = decide_gates(grades, gating, threshold=rule.pass_threshold, termination=termination)
    accepted = decide_acceptance(grades)
    checks = _checks(grades)
    score = 0.0 if _is_violated(gating) else combined_score(grades)
    auto_fail = auto_fail_reason(termination, run.answer_status, rule.expected_outcome) or _manipulation(
        run.judge, findings
    )
    facts = _facts(run, rule)
    if _is_judged(rule):
        facts = facts._replace(answer=_answer(run.judge, auto_fail))
    of_patch = rule_for(facts)
    decisive = rule_for(facts._replace(is_stopped=is_stopped(termination)))
    scores = _scores(run, rule, gates, passed=of_patch.verdict == "pass")
    patch_reward = _reward(of_patch, score, run, rule, scores)
    stopped = decisive.name == "stopped"
    modes = assign(FailureCase(grades, gates, findings, termination, decisive.verdict, run.facts))
    parts = _ReasonParts(gates, accepted.reason, score, run.judge, auto_fail, run.steps)
    return Verdict(
        verdict=decisive.verdict,
        status="scorable",
        acceptance=accepted.acceptance,
        reason=f"{termination} stopped the run" if stopped else _reason(decisive, parts, rule),
        checks=checks if rule.workspace == "code" else "UNGRADED",
        gates=gates if rule.workspace == "code" else None,
        score=None if decisive.verdict == "error" else score,
        mean_score=_mean_score(grades),
        reward=0.0 if stopped else patch_reward,
        badge=_badge(run),
        tags=tuple(dict.fromkeys(tag.id for tag in modes)),
        failure_modes=modes,
        causes=causal_summary(run.facts.events),
        findings=tuple(findings),
        steps=tuple(run.steps),
        judge=run.judge,
        disagreement=disagreement(run.judge, grades, checks=_all_required_passed(gates, checks)),
        patch_verdict=of_patch.verdict if stopped else None,
        patch_reward=patch_reward if stopped else None,
        quality=scores.quality,
        contract_score=scores.contract,
        subscores=scores.subscores,
        penalty=scores.penalty,
        penalty_weight=rule.contract_score.w_viol if scores.penalty else 0.0,
        reward_rule=rule.reward,
        pass_threshold=rule.pass_threshold,
    )


class _Scores(NamedTuple):
    """The numbers beside the combined score; None where the contract does not ask for one."""

    quality: QualityScore | None
    contract: ContractScored | None
    subscores: Mapping[str, float | None] | None
    penalty: str


def _scores(run: GradedRun, rule: Rule, gates: Mapping[str, Gate], *, passed: bool) -> _Scores:
    if rule.workspace != "code":
        return _Scores(None, None, None, "")
    grades, findings, facts = run.grades, run.findings, run.facts
    envelope = None if rule.quality is None else rule.quality.envelope
    parts = validity_parts(grades, facts, envelope, applies=gates["patch"].outcome == "pass")
    violation = first_violation(grades, findings, facts)
    return _Scores(
        quality=None
        if rule.quality is None
        else measure_quality(
            rule.quality, grades, facts, gates_pass=all(gate.outcome == "pass" for gate in gates.values())
        ),
        contract=score_contract(rule.contract_score, parts, violation, passed=passed)
        if rule.reward == "contract"
        else None,
        subscores=subscores(grades, facts, parts, violation),
        penalty=policy_violation(grades, findings, facts) if rule.policy_effect == "penalty" else "",
    )


def _gating(findings: Sequence[Finding], rule: Rule) -> list[Finding]:
    """The findings that can fail the run; with `effect: penalty` those of the policy only lower the reward."""
    is_penalty = rule.policy_effect == "penalty"
    return [one for one in findings if not (is_penalty and is_policy_finding(one))]


def _facts(run: GradedRun, rule: Rule) -> Facts:
    """What the table of rules asks about the change itself."""
    is_violated = _is_violated(_gating(run.findings, rule))
    score = 0.0 if is_violated else combined_score(run.grades)
    return Facts(
        has_failed=is_violated or _has_failed(run, rule),
        is_undecided=_is_undecided(run),
        is_graded=score is not None or _checks(run.grades) != "UNGRADED",
        is_enough=score is None or is_enough(score, rule.pass_threshold),
    )


def _badge(run: GradedRun) -> Badge:
    """The run itself, whatever its change is worth: it ended by itself, no monitor saw a violation, no `trace` grader failed."""
    alerted = any(one.id.startswith(ALERT_FINDINGS) for one in run.findings)
    failed = any(one.entry.type == TRACE_TYPE and one.grade.outcome == "fail" for one in run.grades)
    return "PASS" if run.termination == "completed" and not alerted and not failed else "FAIL"


def _is_violated(findings: Sequence[Finding]) -> bool:
    return any(finding.severity == "violation" for finding in findings)


class _ReasonParts(NamedTuple):
    """What the reason of a verdict is taken from."""

    gates: Mapping[str, Gate]
    acceptance: str
    score: float | None
    judge: judgement.Judgement | None
    auto_fail: str
    steps: Sequence[StepResult]


def _has_failed(run: GradedRun, rule: Rule) -> bool:
    """Is it known that the change does not pass, whatever the undecided graders would have said?"""
    if any(one.gates and one.grade.outcome == "fail" for one in run.grades):
        return True
    if any(one.outcome == "fail" or (one.outcome == "error" and one.reward is not None) for one in run.steps):
        return True
    undecided = any(one.gates and one.grade.outcome == "error" for one in run.grades)
    best = weighted_mean(run.grades, undecided=1.0)
    return undecided and best is not None and not is_enough(best, rule.pass_threshold)


def _is_undecided(run: GradedRun) -> bool:
    grades = run.grades
    if any(one.gates and one.grade.outcome == "error" for one in grades):
        return True
    if any(step.outcome == "error" and step.reward is None for step in run.steps):
        return True
    # Credit was left undecided: without anything required, nothing decides.
    lost = any(one.grade.outcome == "error" and one.entry.weight > 0 for one in grades)
    return lost and combined_score(grades) is None and _checks(grades) == "UNGRADED"


def _is_judged(rule: Rule) -> bool:
    return rule.workspace == "none" and rule.reward != "verifier"


def _answer(judge: judgement.Judgement | None, auto_fail: str) -> Answer:
    """The result of an answer that only a judge can decide; empty where it did not, which is not a zero."""
    if auto_fail:
        return "auto_fail"
    if judge is not None and judge.verdict in ("PASS", "FAIL"):
        return "PASS" if judge.verdict == "PASS" else "FAIL"
    return ""


def _manipulation(judge: judgement.Judgement | None, findings: Sequence[Finding]) -> str:
    """Why an answer fails that manipulated its judge. A model that obeyed only the planted instruction is a weak judge,
    and the answer does not fail for that.
    """
    is_addressed = any(finding.id == "addresses_judge" for finding in findings)
    if judge is None or judge.verdict in ("PASS", "FAIL") or not judge.steered or not is_addressed:
        return ""
    return "the answer addresses its judge, and a judge obeyed it"


def _all_required_passed(gates: Mapping[str, Gate], checks: Checks) -> bool | None:
    """Whether everything required passed, policy included; None where nothing is required."""
    if any(gate.outcome != "pass" for gate in gates.values()):
        return False
    return None if checks == "UNGRADED" else checks == "PASS"


def combined_score(grades: Sequence[WeightedGrade]) -> float | None:
    """The weighted mean of what applies; 0 when something required was not passed; None when nothing weighs."""
    if any(one.gates and one.grade.outcome != "pass" for one in grades):
        return 0.0
    return weighted_mean(grades)


def _mean_score(grades: Sequence[WeightedGrade]) -> float | None:
    """Unweighted, of whatever the contract asked for; the built-in patch gate is none of it."""
    counted = [one for one in grades if one.applies and one.entry.type != PATCH_TYPE]
    scores = [one.grade.score for one in counted if one.grade.score is not None]
    return sum(scores) / len(scores) if scores else None


def _checks(grades: Sequence[WeightedGrade]) -> Checks:
    # G1 is built in and always applies: on its own it must not turn "nothing was graded" into a pass.
    required = [one for one in grades if one.gates and one.entry.under != "patch"]
    if not required:
        return "UNGRADED"
    return "PASS" if all(one.grade.outcome == "pass" for one in required) else "FAIL"


def _reason(decisive: VerdictRule, parts: _ReasonParts, rule: Rule) -> str:
    telling = next((step for step in parts.steps if step.outcome != "pass"), None)
    if telling is not None:
        return f"step {telling.name}: {telling.why}"
    blocked = [gate for gate in parts.gates.values() if gate.outcome != "pass"]
    if decisive.name in ("failed", "undecided") and blocked:
        wanted = "fail" if decisive.name == "failed" else "error"
        return next((gate for gate in blocked if gate.outcome == wanted), blocked[0]).why
    if decisive.name == "too little":
        needs = f"the score {parts.score:.2f} is below the threshold {rule.pass_threshold:.2f}"
        return f"every required check passed, but {needs}"
    if decisive.name == "answer without an end":
        return parts.auto_fail
    if _is_judged(rule) and decisive.name not in ("enough", "failed", "undecided"):
        return _judged_reason(parts.judge)
    return parts.acceptance


def _judged_reason(judge: judgement.Judgement | None) -> str:
    if judge is None:
        return "no model was asked about the answer"
    return (
        f"judge: {judge.why}" if judge.verdict in ("PASS", "FAIL") else f"judge {judge.verdict}: {judge.why}"
    )


def _reward(
    decisive: VerdictRule, score: float | None, run: GradedRun, rule: Rule, scores: _Scores
) -> float | None:
    if decisive.reward == "null":
        return None
    if decisive.reward in ("0", "1"):
        return float(decisive.reward)
    decided = 1.0 if decisive.verdict == "pass" else 0.0
    if rule.reward == "contract" and scores.contract is not None:
        return scores.contract.score
    if rule.reward == "quality":
        # What a failed change is worth by its quality alone would reward failing neatly.
        known = scores.quality.score if scores.quality is not None and decided else 0.0
    else:
        known = None if rule.reward == "binary" else _earned(score, run, rule)
    reward = decided if known is None else known  # a decision is never without a reward
    return round(max(0.0, reward - rule.contract_score.w_viol), 4) if scores.penalty else reward


def _earned(score: float | None, run: GradedRun, rule: Rule) -> float | None:
    if run.steps:
        return _steps_reward(run, rule)
    if rule.reward == "verifier":
        evaluated = evaluated_by(run.grades)
        return None if evaluated is None else evaluated.reward  # as written
    return None if score is None else round(score, 4)


def _steps_reward(run: GradedRun, rule: Rule) -> float | None:
    reward = steps_reward(run.steps, rule.step_reward)
    if reward is None:
        return None
    # A verifier's word stands whatever else was wrong; what combines everything does not.
    foul = any(one.gates and one.grade.outcome != "pass" for one in run.grades if one.entry.step is None)
    return 0.0 if foul and rule.reward != "verifier" else round(reward, 4)


def evaluated_by(grades: Sequence[WeightedGrade]) -> VerifierEvaluation | None:
    """What the contract's verifier said; of several, the first."""
    return next((one.grade.evaluated for one in grades if one.grade.evaluated is not None), None)


def _invalid(run: GradedRun) -> Verdict:
    stopped = (f"termination_{run.termination}",) if is_stopped(run.termination) else ()
    modes = [FailureTag("invalid", ("seal.json", "events.jsonl"), run.status.reason)]
    modes += [FailureTag(name, ("events.jsonl",), f"the run ended by {run.termination}") for name in stopped]
    return Verdict(
        verdict="invalid",
        status="invalid",
        acceptance=None,
        reason=run.status.reason,
        checks="UNGRADED",
        gates=None,
        score=None,
        mean_score=None,
        reward=None,
        badge="INVALID",
        tags=("invalid", *stopped),
        failure_modes=tuple(modes),
        findings=tuple(run.findings),
    )
