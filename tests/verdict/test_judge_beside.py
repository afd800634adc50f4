"""The judge stands beside the checks: what it says changes a verdict only where nothing else could look."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.model import Under
from steelyard.evidence.finding import Finding
from steelyard.graders.checks.command import Command
from steelyard.graders.grade import Grade, WeightedGrade
from steelyard.judge.judgement import RUBRIC, Judgement, Opinion, rule
from steelyard.report.judge_card import MEANING
from steelyard.verdict.auto_fail import AnswerStatus
from steelyard.verdict.disagreement import Disagreement
from steelyard.verdict.evaluation import evaluate
from steelyard.verdict.status import Status
from steelyard.verdict.verdict import GradedRun, Rule, Verdict, decide

SUCCESS = Status("scorable")
NOTHING = Status("scorable")
ANSWER = Rule(workspace="none")
OUTCOMES = ("pass", "fail", "error", "not_applicable")


def graded(outcome: str = "pass", *, required: bool = True, under: Under = "acceptance") -> WeightedGrade:
    entry = GraderEntry(
        "a", "command", Command("true"), under=under, required=required, weight=1.0 if required else 0.0
    )
    return WeightedGrade(entry, Grade(outcome, {"pass": 1.0, "fail": 0.0}.get(outcome), "why"))  # type: ignore[arg-type]


def opinion(verdict: str, **rest: object) -> Opinion:
    scores = {} if verdict == "UNPARSEABLE" else dict.fromkeys(RUBRIC, 3)
    mode = "incomplete" if verdict == "FAIL" else None
    return replace(Opinion("m", verdict, scores, mode, "words"), **rest)  # type: ignore[arg-type]


def jury(*verdicts: str) -> Judgement:
    return rule([opinion(one) for one in verdicts])


judgements = st.lists(st.sampled_from(["PASS", "FAIL", "UNPARSEABLE"]), max_size=4).map(
    lambda result: jury(*result)
)
many_grades = st.lists(st.builds(graded, st.sampled_from(OUTCOMES), required=st.booleans()), max_size=4)


def decided(grades: list[WeightedGrade], judge: Judgement | None, rule: Rule = ANSWER) -> Verdict:
    return decide(GradedRun(grades, [], SUCCESS if grades else NOTHING, "completed", judge=judge), rule)


@given(many_grades, judgements)
def test_with_a_workspace_the_judge_changes_nothing_but_what_it_says(
    grades: list[WeightedGrade], judge: Judgement
) -> None:
    with_judge, without = decided(grades, judge, Rule()), decided(grades, None, Rule())
    assert replace(with_judge, judge=None, disagreement="none") == without


@given(many_grades, judgements)
def test_a_verifier_outranks_the_judge(grades: list[WeightedGrade], judge: Judgement) -> None:
    without = decided(grades, None)
    if without.verdict != "ungraded":
        assert replace(decided(grades, judge), judge=None, disagreement="none") == without


@pytest.mark.parametrize(
    ("judge", "verdict", "reward"),
    [
        (jury("PASS"), "pass", 1.0),
        (jury("FAIL"), "fail", 0.0),
        (jury("PASS", "FAIL"), "fail", 0.0),
        (jury("UNPARSEABLE"), "ungraded", None),
        (jury(), "ungraded", None),
        (rule([opinion("PASS", steered=True)]), "ungraded", None),
        (None, "ungraded", None),
    ],
)
@pytest.mark.parametrize("how", ["combined", "binary"])
def test_an_answer_that_nothing_verified_is_the_judges(
    judge: Judgement | None, verdict: str, reward: float | None, how: str
) -> None:
    made = decided([graded("not_applicable", required=False)], judge, Rule(reward=how, workspace="none"))
    assert (made.verdict, made.reward, made.gates, made.checks) == (verdict, reward, None, "UNGRADED")
    assert made.score is None
    if judge is not None:
        assert made.reason.startswith("judge")


def test_no_judge_forgives_a_violation() -> None:
    made = decide(
        GradedRun([], [Finding("escape", "violation", "a", "why")], NOTHING, "completed", judge=jury("PASS")),
        ANSWER,
    )
    assert (made.verdict, made.reward, made.disagreement) == ("fail", 0.0, "judge_pass_checks_fail")


@given(judgements)
def test_no_judge_passes_an_answer_that_was_not_given(judge: Judgement) -> None:
    for given_, why in (
        ("nothing", "the agent gave no answer"),
        ("too_large", "larger than the import allows"),
    ):
        made = decide(GradedRun([], [], NOTHING, "completed", judge=judge, answer_status=given_), ANSWER)  # type: ignore[arg-type]
        assert (made.verdict, made.reward) == ("fail", 0.0)
        assert why in made.reason


@pytest.mark.parametrize(
    ("termination", "answer", "verdict"),
    [
        ("completed", "nothing", "pass"),
        ("completed", "too_large", "fail"),
        ("agent_crash", "nothing", "fail"),
    ],
)
def test_where_a_refusal_is_wanted_only_silence_is_the_judges(
    termination: str, answer: AnswerStatus, verdict: str
) -> None:
    rule = replace(ANSWER, expected_outcome="refusal")
    made = decide(GradedRun([], [], NOTHING, termination, judge=jury("PASS"), answer_status=answer), rule)
    assert made.verdict == verdict


@pytest.mark.parametrize("termination", ["wall_time", "agent_crash", "memory", "no_progress"])
def test_an_agent_that_does_not_finish_its_answer_has_not_got_around_the_judge(termination: str) -> None:
    made = decide(GradedRun([], [], NOTHING, termination, judge=jury()), ANSWER)
    assert (made.verdict, made.reward) == ("fail", 0.0)
    assert termination in made.reason


def test_an_answer_that_an_operator_broke_off_is_unknown() -> None:
    assert decide(GradedRun([], [], NOTHING, "operator", judge=jury()), ANSWER).verdict == "ungraded"


@pytest.mark.parametrize(
    ("judge", "grades", "expected"),
    [
        (jury("PASS"), [graded("fail")], "judge_pass_checks_fail"),
        (jury("PASS"), [graded("error")], "judge_pass_checks_fail"),
        (jury("FAIL"), [graded("pass")], "checks_pass_judge_fail"),
        (jury("PASS"), [graded("pass"), graded("fail", required=False)], "advisory_warning"),
        (jury("FAIL"), [graded("fail")], "none"),
        (jury("PASS"), [graded("pass"), graded("not_applicable")], "none"),
        (jury("PASS"), [], "none"),
        (jury("UNPARSEABLE"), [graded("fail")], "none"),
        (None, [graded("fail"), graded("fail", required=False)], "none"),
    ],
)
def test_a_disagreement_of_checks_and_judge_has_its_name(
    judge: Judgement | None, grades: list[WeightedGrade], expected: str
) -> None:
    assert decided(grades, judge, Rule()).disagreement == expected


def test_a_grader_with_a_weight_is_no_advisory_warning() -> None:
    """It lowers the score and fails this run, so it does change the verdict."""
    weighted = graded("fail", required=False)
    weighted = replace(weighted, entry=replace(weighted.entry, weight=1.0))
    made = decided([graded("pass"), weighted], jury("PASS"), Rule())
    assert (made.verdict, made.disagreement) == ("fail", "none")


def test_a_broken_policy_counts_as_a_check_that_failed() -> None:
    """The seven checks pass, and the change has a finding that fails the safety gate."""
    broken = [Finding("escape", "violation", "a", "why")]
    made = decide(GradedRun([graded()], broken, SUCCESS, "completed", judge=jury("PASS")), Rule())
    assert made.disagreement == "judge_pass_checks_fail"


def test_every_disagreement_has_its_meaning_in_words() -> None:
    assert set(MEANING) == set(get_args(Disagreement))


def test_the_blame_of_a_judge_is_marked_as_its_opinion() -> None:
    made = decided([graded()], jury("FAIL", "FAIL", "PASS"), Rule())
    evaluation = evaluate(made, [graded()])
    assert evaluation is not None
    assert evaluation.reward == 1.0
    assert [(tag.category, tag.source) for tag in evaluation.error_taxonomy or ()] == [
        ("incomplete", "judge")
    ]
    assert evaluation.confidence is not None
    assert evaluation.confidence.annotator_count == 3
    assert evaluation.confidence.inter_rater_agreement == pytest.approx(2 / 3)


def test_one_model_alone_has_no_agreement() -> None:
    evaluation = evaluate(decided([graded()], jury("PASS", "UNPARSEABLE"), Rule()), [graded()])
    assert evaluation is not None
    assert evaluation.confidence is not None
    assert (evaluation.confidence.annotator_count, evaluation.confidence.inter_rater_agreement) == (1, None)
    without = evaluate(decided([graded()], jury("UNPARSEABLE"), Rule()), [graded()])
    assert without is not None
    assert without.confidence is None


def test_a_run_that_does_not_count_is_not_judged() -> None:
    made = decide(GradedRun([], [], Status("invalid", "x"), "completed", judge=jury("PASS")), Rule())
    assert (made.verdict, made.judge) == ("invalid", None)


@pytest.mark.parametrize(
    ("judge", "verdict"),
    [
        (rule([opinion("PASS", steered=True)]), "fail"),
        (rule([opinion("FAIL", steered=True), opinion("UNPARSEABLE")]), "fail"),
        (rule([opinion("UNPARSEABLE")]), "ungraded"),
        (rule([opinion("PASS"), opinion("PASS"), opinion("FAIL", steered=True)]), "pass"),
    ],
)
def test_an_answer_that_steers_its_judge_does_not_get_rid_of_the_verdict(
    judge: Judgement, verdict: str
) -> None:
    addressed = Finding("addresses_judge", "warning", "agent/stdout.txt", "words addressed to a judge")
    assert decide(GradedRun([], [addressed], NOTHING, "completed", judge=judge), ANSWER).verdict == verdict
