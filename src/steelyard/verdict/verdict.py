"""Grades of one run -> its Verdict. Pure: the same grades always give the same verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from steelyard.contract.threshold import is_enough
from steelyard.evidence.finding import Finding
from steelyard.graders.grade import Evaluated, Graded
from steelyard.judge.judgement import Judgement
from steelyard.verdict.disagreement import Disagreement, disagreement
from steelyard.verdict.forfeit import Given, forfeit
from steelyard.verdict.gates import Gate, decide_gates
from steelyard.verdict.status import Acceptance, RunStatus, Status
from steelyard.verdict.steps import StepResult, steps_reward

Decision = Literal["pass", "fail", "ungraded", "invalid"]
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


@dataclass(frozen=True, slots=True)
class Verdict:
    """Three gates side by side (checks, judge, badge), and none hides another."""

    verdict: Decision
    status: RunStatus
    acceptance: Acceptance | None
    reason: str
    checks: Checks
    gates: Mapping[str, Gate] | None
    score: float | None
    mean_score: float | None  # unweighted, of whatever applied
    reward: float | None
    badge: Badge
    tags: tuple[str, ...]
    findings: tuple[Finding, ...]
    steps: tuple[StepResult, ...] = ()
    judge: Judgement | None = None  # nobody was asked
    disagreement: Disagreement = "none"

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
            "judge": None if self.judge is None else self.judge.to_json(),
            "disagreement": self.disagreement,
            "badge": self.badge,
            "tags": list(self.tags),
            "findings": [finding.to_json() for finding in self.findings],
            "steps": [step.to_json() for step in self.steps],
        }


def decide(  # noqa: PLR0913  # everything that a verdict follows from
    grades: Sequence[Graded],
    findings: Sequence[Finding],
    status: Status,
    termination: str,
    rule: Rule,
    *,
    steps: Sequence[StepResult] = (),
    judge: Judgement | None = None,
    given: Given = "given",
) -> Verdict:
    """The judge's word stands beside the rest, and decides only where nothing else could look: without a workspace."""
    if status.status == "invalid":
        return _invalid(status, findings)
    # Of a run without a workspace these say what its answer came to, and are not shown.
    gates = decide_gates(grades, findings)
    made = Verdict(
        verdict="ungraded",
        status="scorable",
        acceptance=status.acceptance,
        reason=status.reason,
        checks=_checks(grades),
        gates=gates if rule.workspace == "code" else None,
        score=combined_score(grades),
        mean_score=_mean([one.grade.score for one in grades if one.applies and one.grade.score is not None]),
        reward=None,
        badge="PASS" if termination == "completed" else "FAIL",
        tags=_tags(grades, gates, findings, termination),
        findings=tuple(findings),
        steps=tuple(steps),
        judge=judge,
    )
    told = _told_by_checks(made, gates, grades, rule)
    if told.verdict == "ungraded" and rule.workspace == "none" and rule.reward != "verifier":
        forfeited = forfeit(termination, given, rule.expected_outcome) or _voided(judge, findings)
        told = _told_by_judge(judge, gates, forfeited)
    disagreeing = disagreement(judge, grades, checks=_held(gates, made.checks))
    return replace(made, **told._asdict(), disagreement=disagreeing)


class _Told(NamedTuple):
    """What grades, or a judge, make of a run."""

    verdict: Decision
    reward: float | None
    reason: str


def _told_by_checks(made: Verdict, gates: Mapping[str, Gate], grades: Sequence[Graded], rule: Rule) -> _Told:
    verdict = _verdict(gates, made.checks, made.score, rule)
    if any(step.outcome != "pass" for step in made.steps) and verdict == "pass":
        verdict = "fail"
    reward = (
        _steps_reward(verdict, grades, made.steps, rule)
        if made.steps
        else _reward(verdict, made.score, grades, rule)
    )
    reason = _step_reason(made.steps) or _reason(made.reason, gates, made.score, verdict, rule)
    return _Told(verdict, reward, reason)


def _told_by_judge(judge: Judgement | None, gates: Mapping[str, Gate], forfeited: str) -> _Told:
    """Of an answer that nothing verified. What a judge did not say is unknown, and unknown is not a zero."""
    broken = next((gate for gate in gates.values() if gate.outcome != "pass"), None)
    if broken is not None:  # by a finding: no judge can forgive that
        return _Told("fail", 0.0, broken.why)
    if forfeited:
        return _Told("fail", 0.0, forfeited)
    if judge is None:
        return _Told("ungraded", None, "nobody was asked about the answer")
    if judge.verdict == "PASS":
        return _Told("pass", 1.0, f"judge: {judge.why}")
    if judge.verdict == "FAIL":
        return _Told("fail", 0.0, f"judge: {judge.why}")
    return _Told("ungraded", None, f"judge {judge.verdict}: {judge.why}")


def _voided(judge: Judgement | None, findings: Sequence[Finding]) -> str:
    """Words that make a model obey them must not get rid of its verdict either. A model that obeys nobody's but our own
    is a weak judge, and that is not the answer's fault.
    """
    is_addressed = any(finding.id == "addresses_judge" for finding in findings)
    if judge is None or judge.verdict in ("PASS", "FAIL") or not judge.steered or not is_addressed:
        return ""
    return "the answer addresses whoever judges it, and a judge was steered"


def _held(gates: Mapping[str, Gate], checks: Checks) -> bool | None:
    """Did everything pass that must? A broken policy counts though no check asked; nothing required is no answer."""
    if any(gate.outcome != "pass" for gate in gates.values()):
        return False
    return None if checks == "UNGRADED" else checks == "PASS"


def combined_score(grades: Sequence[Graded]) -> float | None:
    """The weighted mean of what applies; 0 when something required was not passed; None when nothing weighs."""
    if any(one.gates and one.grade.outcome != "pass" for one in grades):
        return 0.0
    weighed = [one for one in grades if one.applies and one.entry.weight > 0 and not one.entry.gate]
    total = sum(one.entry.weight for one in weighed)
    if total <= 0:
        return None
    # A grader that could not decide earns nothing here, and is tagged as an error elsewhere.
    return min(1.0, sum(one.entry.weight * (one.grade.score or 0.0) for one in weighed) / total)


def _checks(grades: Sequence[Graded]) -> Checks:
    # G1 is built in and always applies: on its own it must not turn "nothing was graded" into a pass.
    required = [one for one in grades if one.gates and one.entry.under != "patch"]
    if not required:
        return "UNGRADED"
    return "PASS" if all(one.grade.outcome == "pass" for one in required) else "FAIL"


def _verdict(gates: Mapping[str, Gate], checks: Checks, score: float | None, rule: Rule) -> Decision:
    if score is None and checks == "UNGRADED":
        return "ungraded"
    passed = all(gate.outcome == "pass" for gate in gates.values()) and checks != "FAIL"
    return "pass" if passed and (score is None or is_enough(score, rule.pass_threshold)) else "fail"


def _step_reason(steps: Sequence[StepResult]) -> str:
    telling = next((step for step in steps if step.outcome != "pass"), None)
    return f"step {telling.name}: {telling.why}" if telling else ""


def _reason(said: str, gates: Mapping[str, Gate], score: float | None, verdict: Decision, rule: Rule) -> str:
    if verdict == "fail" and score is not None and all(gate.outcome == "pass" for gate in gates.values()):
        return (
            f"every gate passed, but the score {score:.2f} is below the threshold {rule.pass_threshold:.2f}"
        )
    return said


def _reward(verdict: Decision, score: float | None, grades: Sequence[Graded], rule: Rule) -> float | None:
    if verdict in ("ungraded", "invalid"):
        return None
    if rule.reward == "verifier":
        evaluated = evaluated_by(grades)
        return None if evaluated is None else evaluated.reward  # as written
    if rule.reward == "binary":
        return 1.0 if verdict == "pass" else 0.0
    return None if score is None else round(score, 4)


def _steps_reward(
    verdict: Decision, grades: Sequence[Graded], steps: Sequence[StepResult], rule: Rule
) -> float | None:
    if verdict == "ungraded" or rule.reward == "binary":
        return _reward(verdict, None, grades, rule)
    reward = steps_reward(steps, rule.step_reward)
    if reward is None:
        return None
    # A verifier's word stands whatever else was wrong; what combines everything does not.
    foul = any(one.gates and one.grade.outcome != "pass" for one in grades if one.entry.step is None)
    return 0.0 if foul and rule.reward != "verifier" else round(reward, 4)


def evaluated_by(grades: Sequence[Graded]) -> Evaluated | None:
    """What the contract's verifier said; of several, the first."""
    return next((one.grade.evaluated for one in grades if one.grade.evaluated is not None), None)


def _mean(scores: Sequence[float]) -> float | None:
    return sum(scores) / len(scores) if scores else None


# tag -> the gate and outcome that it explains; a tag without that evidence cannot be made.
_GATE_TAGS = (
    ("patch_invalid", "patch", "fail"),
    ("acceptance_failure", "acceptance", "fail"),
    ("policy_violation", "safety", "fail"),
)


# A finding that says what became of the results is a tag too.
_FINDING_TAGS = ("result_forging",)


def _tags(
    grades: Sequence[Graded], gates: Mapping[str, Gate], findings: Sequence[Finding], termination: str
) -> tuple[str, ...]:
    tags = [tag for tag, gate, outcome in _GATE_TAGS if gates[gate].outcome == outcome]
    tags += sorted(
        {
            f"{one.entry.under}_failure"
            for one in grades
            if one.entry.under in ("build", "static") and one.entry.required and one.grade.outcome == "fail"
        }
    )
    tags += [tag for tag in _FINDING_TAGS if any(finding.id == tag for finding in findings)]
    if any(gate.outcome == "error" for gate in gates.values()):
        tags.append("evaluation_error")
    if termination != "completed":
        tags.append(f"termination_{termination}")
    return tuple(tags)


def _invalid(status: Status, findings: Sequence[Finding]) -> Verdict:
    return Verdict(
        verdict="invalid",
        status="invalid",
        acceptance=None,
        reason=status.reason,
        checks="UNGRADED",
        gates=None,
        score=None,
        mean_score=None,
        reward=None,
        badge="INVALID",
        tags=("invalid",),
        findings=tuple(findings),
    )
