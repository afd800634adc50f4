"""The table of verdict rules: each row holds as it is printed, and no combination of facts contradicts it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.contract.catalogue import GraderEntry
from steelyard.evidence.finding import Finding
from steelyard.evidence.trace.termination import CLASS_OF, CODES
from steelyard.graders.checks.command import Command
from steelyard.graders.grade import Grade, WeightedGrade
from steelyard.judge.judgement import Judgement
from steelyard.report.summary import summarise
from steelyard.stats.interval import wilson
from steelyard.verdict.rules import RULES, STOPPED, Decision, Facts, rule_for, verdict_table
from steelyard.verdict.status import Status
from steelyard.verdict.verdict import GradedRun, Rule, Verdict, decide

SCORABLE, INVALID = Status("scorable"), Status("invalid", "the chain is broken")
STOPS = tuple(code for code in CODES if CLASS_OF[code] in STOPPED)
OTHERS = tuple(code for code in CODES if CLASS_OF[code] not in STOPPED)
DEFAULT = Rule()
ANSWER = Rule(workspace="none")


def one(outcome: str, *, required: bool = True, weight: float = 1.0, name: str = "a") -> WeightedGrade:
    score = {"pass": 1.0, "fail": 0.0}.get(outcome)
    entry = GraderEntry(
        name, "command", Command("true"), under="acceptance", required=required, weight=weight
    )
    return WeightedGrade(entry, Grade(outcome, score, "why"))  # type: ignore[arg-type]  # words of the table


def judged(verdict: str) -> Judgement:
    return Judgement(verdict, "why")  # type: ignore[arg-type]  # words of the table


@dataclass(frozen=True)
class Row:
    """Grades, status and termination, and what must follow from them."""

    rule: str
    grades: tuple[WeightedGrade, ...]
    verdict: str
    reward: float | None
    status: Status = SCORABLE
    termination: str = "completed"
    contract: Rule = DEFAULT
    judge: Judgement | None = None
    findings: tuple[Finding, ...] = ()


VIOLATION = Finding("escape", "violation", "a", "why")
ROWS = (
    Row("invalid", (one("pass"),), "invalid", None, status=INVALID),
    Row("invalid", (), "invalid", None, status=INVALID, termination="infrastructure"),
    *(Row("stopped", (one("pass"),), "fail", 0.0, termination=code) for code in STOPS),
    Row("stopped", (one("error"),), "fail", 0.0, termination="wall_time"),
    Row("stopped", (one("fail"),), "fail", 0.0, termination="memory"),
    Row("stopped", (one("not_applicable"),), "fail", 0.0, termination="wall_time"),
    Row("stopped", (one("pass"),), "fail", 0.0, termination="wall_time", contract=Rule(reward="verifier")),
    *(Row("failed", (one("fail"), one("pass", name="b")), "fail", 0.0, termination=code) for code in OTHERS),
    Row("failed", (one("fail"), one("error", name="b")), "fail", 0.0),
    Row("failed", (one("pass"),), "fail", 0.0, findings=(VIOLATION,)),
    Row("failed", (one("error"), one("fail", name="b", required=False, weight=2.0)), "fail", 0.0),
    *(Row("undecided", (one("error"), one("pass", name="b")), "error", None, termination=t) for t in OTHERS),
    Row("undecided", (one("error", required=False),), "error", None),
    Row("undecided", (one("error"),), "error", None, contract=Rule(reward="binary")),
    Row("undecided", (one("error"),), "error", None, contract=Rule(reward="verifier")),
    *(Row("enough", (one("pass"),), "pass", 1.0, termination=code) for code in OTHERS),
    Row("enough", (one("pass"), one("error", name="b", required=False)), "pass", 1.0),
    Row("enough", (one("pass"), one("not_applicable", name="b")), "pass", 1.0),
    Row("too little", (one("pass"), one("fail", name="b", required=False)), "fail", 0.5),
    Row("too little", (one("fail", required=False),), "fail", 0.0),
    Row("answer without an end", (), "fail", 0.0, contract=ANSWER, termination="agent_crash"),
    Row("answer judged right", (), "pass", 1.0, contract=ANSWER, judge=judged("PASS")),
    Row("answer judged wrong", (), "fail", 0.0, contract=ANSWER, judge=judged("FAIL")),
    Row("nothing applied", (), "ungraded", None, contract=ANSWER, judge=judged("UNPARSEABLE")),
    Row("nothing applied", (), "ungraded", None, contract=ANSWER),
    Row("nothing applied", (one("not_applicable"),), "ungraded", None),
)


def decided(row: Row) -> Verdict:
    return decide(
        GradedRun(row.grades, row.findings, row.status, row.termination, judge=row.judge), row.contract
    )


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.rule}-{row.termination}" for row in ROWS])
def test_each_row_of_the_table_holds(row: Row) -> None:
    made = decided(row)
    assert (made.verdict, made.reward) == (row.verdict, row.reward)
    rule = next(rule for rule in RULES if rule.name == row.rule)
    assert (rule.verdict, rule.status) == (made.verdict, made.status)
    assert {"null": None, "0": 0.0, "1": 1.0}.get(rule.reward, made.reward) == made.reward


def test_every_rule_has_a_row() -> None:
    assert {row.rule for row in ROWS} == {rule.name for rule in RULES}
    assert {rule.verdict for rule in RULES} == set(get_args(Decision))


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.rule}-{row.termination}" for row in ROWS])
def test_each_row_is_counted_where_the_table_says(row: Row) -> None:
    made = decided(row)
    line = {**made.to_json(), "agent": "a", "contract": {"id": "c", "digest": "d"}}
    (summary,) = summarise([line])
    counted = next(rule for rule in RULES if rule.name == row.rule).counted
    found = {
        "passed trial": summary.passed.successes,
        "failed trial": summary.passed.trials - summary.passed.successes,
        "errors": summary.errors,
        "invalid": summary.invalid,
        "ungraded": summary.ungraded,
    }
    assert found == {name: int(counted.startswith(name)) for name in found}
    is_decided = "in the rate" in counted
    rate = summary.passed.rate
    assert summary.bounds == ((rate.low, rate.high) if is_decided else (wilson(0, 1).low, wilson(1, 1).high))


def test_the_first_row_that_holds_decides() -> None:
    everything = Facts(is_invalid=True, is_stopped=True, has_failed=True, is_undecided=True)
    assert rule_for(everything).name == "invalid"
    assert rule_for(everything._replace(is_invalid=False)).name == "stopped"
    assert rule_for(everything._replace(is_invalid=False, is_stopped=False)).name == "failed"


def test_the_printed_table_has_a_line_for_each_rule() -> None:
    assert len(verdict_table().splitlines()) == len(RULES) + 2


OUTCOMES = st.sampled_from(["pass", "fail", "error", "not_applicable"])
GRADES = st.lists(
    st.builds(
        one,
        OUTCOMES,
        required=st.booleans(),
        weight=st.sampled_from([0.0, 1.0, 3.0]),
        name=st.sampled_from("abc"),
    ),
    max_size=6,
)
TERMINATIONS = st.sampled_from(CODES)
CONTRACTS = st.builds(
    Rule,
    pass_threshold=st.sampled_from([0.0, 0.5, 1.0]),
    reward=st.sampled_from(["combined", "binary", "verifier"]),
    workspace=st.sampled_from(["code", "none"]),
)
FINDINGS = st.sampled_from([(), (VIOLATION,)])


@given(GRADES, FINDINGS, TERMINATIONS, CONTRACTS)
def test_a_reward_is_null_exactly_where_nothing_was_decided(
    grades: list[WeightedGrade], findings: tuple[Finding, ...], termination: str, contract: Rule
) -> None:
    made = decide(GradedRun(grades, findings, SCORABLE, termination), contract)
    assert (made.reward is None) == (made.verdict in ("error", "ungraded"))


@given(GRADES, FINDINGS, TERMINATIONS, CONTRACTS)
def test_a_required_failure_is_a_failure_whatever_else_reached_no_decision(
    grades: list[WeightedGrade], findings: tuple[Finding, ...], termination: str, contract: Rule
) -> None:
    failing = [*grades, one("fail", name="f")]
    assert decide(GradedRun(failing, findings, SCORABLE, termination), contract).verdict == "fail"


@given(GRADES, FINDINGS, TERMINATIONS, CONTRACTS)
def test_an_error_could_have_become_a_pass(
    grades: list[WeightedGrade], findings: tuple[Finding, ...], termination: str, contract: Rule
) -> None:
    """Unknown means unknown: had everything undecided passed, the run would have passed."""
    made = decide(GradedRun(grades, findings, SCORABLE, termination), contract)
    if made.verdict == "error":
        best = [
            one("pass", required=each.entry.required, weight=each.entry.weight, name=each.entry.name)
            if each.grade.outcome == "error" and (each.gates or made.checks == "UNGRADED")
            else each
            for each in grades
        ]
        assert decide(GradedRun(best, findings, SCORABLE, termination), contract).verdict == "pass"


@given(GRADES, FINDINGS, st.sampled_from(STOPS), CONTRACTS)
def test_no_run_that_its_limits_stopped_passes_or_is_left_open(
    grades: list[WeightedGrade], findings: tuple[Finding, ...], termination: str, contract: Rule
) -> None:
    made = decide(GradedRun(grades, findings, SCORABLE, termination), contract)
    plain = decide(GradedRun(grades, findings, SCORABLE, "operator"), contract)
    assert (made.verdict, made.reward) == ("fail", 0.0)
    if termination != "safety" and contract.workspace == "code":
        assert (made.patch_verdict, made.patch_reward) == (plain.verdict, plain.reward)


@given(GRADES, FINDINGS, TERMINATIONS, CONTRACTS)
def test_every_required_or_weighted_error_is_tagged(
    grades: list[WeightedGrade], findings: tuple[Finding, ...], termination: str, contract: Rule
) -> None:
    made = decide(GradedRun(grades, findings, SCORABLE, termination), contract)
    counts = any(
        each.grade.outcome == "error" and (each.entry.required or each.entry.weight > 0) for each in grades
    )
    assert ("evaluation_error" in made.tags) == counts


@given(GRADES, FINDINGS, TERMINATIONS, CONTRACTS)
def test_a_pass_has_every_gate_passed(
    grades: list[WeightedGrade], findings: tuple[Finding, ...], termination: str, contract: Rule
) -> None:
    made = decide(GradedRun(grades, findings, SCORABLE, termination), contract)
    if made.verdict == "pass" and made.gates is not None:
        assert {gate.outcome for gate in made.gates.values()} == {"pass"}
    if made.acceptance == "success" and made.gates is not None:
        assert made.gates["acceptance"].outcome == "pass"
