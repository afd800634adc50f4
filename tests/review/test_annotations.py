"""People's annotations lie beside the automated result, in a chain of their own."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sealed_run import make_grading, make_sealed_run

from steelyard import review
from steelyard.errors import OperatorFault
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.gradings import append_grading
from steelyard.review import Annotation, kinds_of, review_status
from steelyard.study.verify_record import record_breaks

NOW = datetime(2026, 3, 7, 12, tzinfo=UTC)
EVALUATION = {
    "reward": 1.0,
    "validity": {"output_parseable": True, "schema_valid": True, "verifier_completed": True, "errors": []},
}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = make_sealed_run(tmp_path)
    append_grading(run, make_grading(evaluation=EVALUATION))
    return run


def by(reviewer: str, judgment: Any = "pass", **more: Any) -> Annotation:
    return Annotation(reviewer_id=reviewer, timestamp=NOW, judgment=judgment, **more)


def test_an_annotation_is_read_back_as_it_was_written(folder: RunFolder) -> None:
    result = by("ada", "fail", reviewer_discipline="security", categories=["leak"], notes="line 3\nline 4")
    review.annotate(folder.path, result, minutes=12.5)
    (entry,) = review.annotations(folder.path)
    assert (entry.annotation, entry.minutes, entry.number, entry.kind) == (result, 12.5, 1, "annotation")
    assert entry.grading == {"number": 1, "verdict": "pass", "reward": None}


def test_an_annotation_changes_no_grading_and_breaks_no_seal(folder: RunFolder) -> None:
    before = folder.read_bytes("gradings/0001.json")
    review.annotate(folder, by("ada", "fail"))
    assert folder.read_bytes("gradings/0001.json") == before
    assert load_evidence(folder).broken is None


def test_the_evaluation_keeps_its_reward_beside_a_contrary_annotation(folder: RunFolder) -> None:
    review.annotate(folder, by("ada", "fail", categories=["wrong unit"]))
    evaluation = review.evaluation_of(folder)
    assert evaluation is not None
    assert evaluation.reward == 1.0
    assert evaluation.annotations == [by("ada", "fail", categories=["wrong unit"])]
    tags = evaluation.error_taxonomy or []
    assert [(tag.category, tag.source) for tag in tags] == [("wrong unit", "human")]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b'"fail"', b'"pass"'),
        lambda _: b"[]",
        lambda _: b"",
        lambda _: b"\xff\xfe",
    ],
)
def test_a_damaged_annotation_is_named_and_the_verdict_still_holds(folder: RunFolder, spoil: Any) -> None:
    review.annotate(folder, by("ada", "fail"))
    path = folder.file("annotations/0001.json")
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(OperatorFault, match=r"annotations/0001\.json"):
        review.annotations(folder)
    with pytest.raises(OperatorFault, match=r"annotations/0001\.json"):
        review.annotate(folder, by("bob"))
    assert load_evidence(folder).broken is None
    assert any("annotations/0001.json" in str(one) for one in record_breaks(folder))


def test_a_removed_annotation_is_found(folder: RunFolder) -> None:
    review.annotate(folder, by("ada", "fail"))
    review.annotate(folder, by("bob"))
    folder.file("annotations/0002.json").unlink()
    with pytest.raises(OperatorFault, match="counts 2 annotations"):
        review.annotations(folder)


def test_an_annotation_of_another_run_is_refused(folder: RunFolder, tmp_path: Path) -> None:
    other = make_sealed_run(tmp_path / "other", "20260307T120000000Z-c-noop-aaaaaa")
    append_grading(other, make_grading())
    review.annotate(other, by("ada"))
    folder.file("annotations").mkdir()
    folder.file("annotations/0001.json").write_bytes(other.read_bytes("annotations/0001.json"))
    with pytest.raises(OperatorFault, match="another seal"):
        review.annotations(folder)


@pytest.mark.parametrize("minutes", [-1, math.nan, math.inf, 1e9, True, "5"])
def test_minutes_that_are_no_time_are_refused(folder: RunFolder, minutes: Any) -> None:
    with pytest.raises(OperatorFault, match="minutes"):
        review.annotate(folder, by("ada"), minutes=minutes)


@pytest.mark.parametrize(
    "annotation",
    [
        by(""),
        by("  "),
        by("a" * 201),
        by("ada", notes="x" * 100_001),
        by("ada", categories=[""]),
        by("ada", categories=["x"] * 51),
        by("\ud800"),
        Annotation(reviewer_id="ada", timestamp=datetime(2026, 3, 7), judgment="pass"),  # noqa: DTZ001
    ],
)
def test_an_annotation_that_cannot_be_stored_is_refused(folder: RunFolder, annotation: Annotation) -> None:
    with pytest.raises(OperatorFault):
        review.annotate(folder, annotation)
    assert review.annotations(folder) == ()


def test_a_run_without_a_grading_cannot_be_reviewed(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault, match="not graded"):
        review.annotate(make_sealed_run(tmp_path), by("ada"))


def test_reviewers_who_disagree_are_a_dispute_until_another_person_adjudicates(folder: RunFolder) -> None:
    review.annotate(folder, by("ada", "fail"), minutes=10)
    review.annotate(folder, by("bob", "pass"), minutes=5)
    assert review_status(review.annotations(folder)).decision == "disputed"
    with pytest.raises(OperatorFault, match="another person"):
        review.adjudicate(folder, by("ada", "fail"))
    review.adjudicate(folder, by("eve", "fail"), minutes=2)
    status = review_status(review.annotations(folder))
    assert (status.decision, status.by, status.minutes, status.agreement) == ("fail", "adjudication", 17, 0.5)


def test_an_annotation_after_the_adjudication_opens_the_dispute_again(folder: RunFolder) -> None:
    for name, judgment in (("ada", "fail"), ("bob", "pass")):
        review.annotate(folder, by(name, judgment))
    review.adjudicate(folder, by("eve", "fail"))
    review.annotate(folder, by("kim", "pass"))
    assert review_status(review.annotations(folder)).decision == "disputed"


def test_without_a_disagreement_there_is_nothing_to_adjudicate(folder: RunFolder) -> None:
    review.annotate(folder, by("ada", "fail"))
    review.annotate(folder, by("bob", "defer"))
    with pytest.raises(OperatorFault, match="nothing to adjudicate"):
        review.adjudicate(folder, by("eve", "fail"))


def test_a_person_who_changes_their_mind_counts_once(folder: RunFolder) -> None:
    review.annotate(folder, by("ada", "fail"))
    review.annotate(folder, by("ada", "pass"))
    status = review_status(review.annotations(folder))
    assert (status.decision, status.reviewers, status.annotations, status.minutes) == ("pass", 1, 2, None)


def test_people_who_reject_what_the_checks_accept_are_listed(folder: RunFolder) -> None:
    review.annotate(folder, by("ada", "fail"))
    (row,) = review.disagreements([folder])
    assert (row.kinds, row.people, row.verdict) == (("people_fail_checks_pass",), "fail", "pass")


def test_people_checks_and_judge_are_compared_pairwise(folder: RunFolder) -> None:
    review.annotate(folder, by("ada", "pass"))
    status = review_status(review.annotations(folder))
    verdict = {"verdict": "fail", "judge": {"verdict": "FAIL"}, "disagreement": "none"}
    assert kinds_of(verdict, status) == ("people_pass_checks_fail", "people_pass_judge_fail")


def test_each_annotation_gets_the_next_number(folder: RunFolder) -> None:
    for name in "abc":
        review.annotate(folder, by(name))
    assert [one.number for one in review.annotations(folder)] == [1, 2, 3]
    assert json.loads(folder.read_bytes("annotations-head.json"))["count"] == 3


@pytest.mark.parametrize(
    "evaluation",
    [
        {**EVALUATION, "reward": 1.0000001},
        {**EVALUATION, "reward": "0.9"},
        {**EVALUATION, "reward": True},
        {"reward": 1},
        [],
        7,
    ],
)
def test_an_evaluation_that_is_none_is_refused(tmp_path: Path, evaluation: Any) -> None:
    run = make_sealed_run(tmp_path)
    append_grading(run, make_grading(evaluation=evaluation))
    with pytest.raises(OperatorFault, match="evaluation of grading 1 is not valid"):
        review.evaluation_of(run)


@pytest.mark.parametrize("cut", [0, 1, 100])
def test_a_truncated_grading_can_be_neither_reviewed_nor_evaluated(folder: RunFolder, cut: int) -> None:
    path = folder.file("gradings/0001.json")
    path.write_bytes(path.read_bytes()[:cut])
    for action in (lambda: review.annotate(folder, by("ada")), lambda: review.evaluation_of(folder)):
        with pytest.raises(OperatorFault, match="a grading cannot be read"):
            action()


def test_the_confidence_of_an_evaluation_is_that_of_its_reviewers(folder: RunFolder) -> None:
    for name, judgment in (("ada", "fail"), ("bob", "pass"), ("eve", "pass"), ("kim", "defer")):
        review.annotate(folder, by(name, judgment))
    evaluation = review.evaluation_of(folder)
    assert evaluation is not None
    confidence = evaluation.confidence
    assert confidence is not None
    assert (confidence.annotator_count, confidence.inter_rater_agreement) == (3, 2 / 3)
    low, high = confidence.confidence_interval or (1.0, 0.0)
    assert 0 < low < 2 / 3 < high < 1


@pytest.mark.parametrize(
    ("verdict", "grades", "reason"),
    [
        ({"score": 0.95}, [], "borderline"),
        ({"verdict": "error", "reason": "unit timed out"}, [], "ambiguous"),
        ({"gates": {"safety": {"outcome": "fail", "why": "stray"}}}, [], "security"),
        ({"findings": [{"id": "steers_runner", "severity": "warning", "where": "a"}]}, [], "security"),
        ({"tags": ["flaky_oracle"]}, [], "ambiguous"),
        ({"disagreement": "checks_pass_judge_fail"}, [], "disagreement"),
        ({}, [{"name": "skips", "outcome": "fail", "why": "w", "required": False, "weight": 0}], "advisory"),
    ],
)
def test_a_run_that_a_person_should_look_at_is_queued_with_its_reason(
    verdict: Any, grades: Any, reason: str
) -> None:
    whole = {"verdict": "pass", "reason": "", "score": 1.0, "findings": [], **verdict}
    (found,) = review.reasons_to_review({"verdict": whole, "grades": grades})
    assert found.startswith(reason)


@pytest.mark.parametrize(
    ("verdict", "path", "count"),
    [("pass", "web/package-lock.json", 1), ("pass", "src/lock.py", 0), ("fail", "uv.lock", 0)],
)
def test_a_passing_change_of_dependencies_is_queued(verdict: str, path: str, count: int) -> None:
    whole = {"verdict": verdict, "reason": "", "score": float(verdict == "pass"), "findings": []}
    found = review.reasons_to_review({"verdict": whole, "grades": []}, changed=("src/a.py", path))
    assert [one.startswith("dependencies: ") for one in found] == [True] * count


def test_a_clear_result_needs_no_person() -> None:
    clear = {"verdict": "fail", "reason": "", "score": 0.0, "findings": []}
    assert review.reasons_to_review({"verdict": clear, "grades": []}) == ()
