"""`type: rubric` combines the scores of other graders, and says so when one of them reached no decision."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from cases import case

from steelyard.graders.grade import Grade, VerifierEvaluation
from steelyard.graders.rubric import Rubric, RubricDimension


def verified(**details: Any) -> Grade:
    evaluated = VerifierEvaluation(0.5, True, True, True, breakdown=details)
    return Grade("fail", 0.5, "half", evaluated=evaluated)


GRADES = {
    "lint": Grade.of(True, "clean"),
    "docs": Grade.share(0.5, "half"),
    "trace": Grade.not_applicable("no trace"),
    "broken": Grade.error("it crashed"),
    "volts": verified(
        drop={"score": 3, "max_score": 4},
        odd={"score": math.nan},
        text={"score": "1"},
        bare=1,
        over={"score": 9},
    ),
}


def grade(strategy: Any = "weighted_mean", **dimensions: RubricDimension) -> Grade:
    return Rubric(dimensions, strategy).grade(replace(case({}), grades=GRADES))


def test_the_weighted_mean_is_the_default() -> None:
    made = grade(a=RubricDimension("lint"), b=RubricDimension("docs", weight=2))
    assert (made.score, made.outcome) == (0.6667, "fail")


def test_with_min_the_worst_dimension_counts() -> None:
    assert grade("min", a=RubricDimension("lint"), b=RubricDimension("docs")).score == 0.5


def test_a_key_is_one_dimension_of_a_verifiers_details() -> None:
    assert grade(a=RubricDimension("volts", "drop")).score == 0.75


def test_a_dimension_above_its_maximum_counts_1() -> None:
    assert grade(a=RubricDimension("volts", "over")).score == 1.0


def test_a_dimension_that_the_details_do_not_have_counts_0() -> None:
    assert grade(a=RubricDimension("volts", "absent"), b=RubricDimension("lint")).score == 0.5


@pytest.mark.parametrize("key", ["odd", "text", "bare"])
def test_a_dimension_that_is_no_number_is_an_error_and_no_zero(key: str) -> None:
    assert grade(a=RubricDimension("volts", key)).outcome == "error"


def test_a_grader_that_is_not_applicable_leaves_the_rubric() -> None:
    assert grade(a=RubricDimension("lint"), b=RubricDimension("trace")).score == 1.0
    assert grade(b=RubricDimension("trace")).outcome == "not_applicable"


def test_a_grader_without_a_decision_leaves_the_rubric_without_one() -> None:
    assert grade(a=RubricDimension("lint"), b=RubricDimension("broken")).outcome == "error"


def test_a_weight_of_0_leaves_the_rubric() -> None:
    assert grade("min", a=RubricDimension("lint"), b=RubricDimension("broken", weight=0)).score == 1.0


def test_a_rubric_without_any_weight_is_refused() -> None:
    with pytest.raises(ValueError, match="no dimension has a weight"):
        Rubric({"a": RubricDimension("lint", weight=0)})
