"""`EvaluationResult` and what is in it: strict, public, and described by a JSON Schema."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

import steelyard

VALIDITY = {"output_parseable": True, "schema_valid": True, "verifier_completed": True}
WHOLE = {
    "reward": 0.93,
    "validity": {**VALIDITY, "errors": ["late"]},
    "breakdown": {"voltage_drop_v": {"score": 0.95, "max_score": 1.0, "evidence": "within 2%"}},
    "error_taxonomy": [{"category": "unit mismatch", "description": None, "source": "mechanical"}],
    "confidence": {
        "annotator_count": 2,
        "inter_rater_agreement": 0.5,
        "confidence_interval": [0.1, 0.9],
        "confidence_method": "wilson",
    },
    "annotations": [
        {
            "reviewer_id": "ada",
            "reviewer_discipline": "electrical",
            "timestamp": "2026-03-07T12:00:00Z",
            "judgment": "defer",
            "categories": ["unclear"],
            "notes": None,
        }
    ],
}


def test_an_evaluation_is_the_same_after_a_round_trip_through_json() -> None:
    made = steelyard.EvaluationResult.from_json(WHOLE)
    assert made.model_dump(mode="json") == WHOLE
    jsonschema.validate(WHOLE, steelyard.EvaluationResult.model_json_schema())


@pytest.mark.parametrize(
    "reward", [1.0000001, -0.0001, "0.9", True, None, math.nan, math.inf, -math.inf, [1.0], 1e400]
)
def test_a_reward_that_is_no_number_within_0_and_1_is_refused(reward: Any) -> None:
    with pytest.raises(ValidationError):
        steelyard.EvaluationResult(reward=reward, validity=steelyard.ValidityCheck.from_json(VALIDITY))


@pytest.mark.parametrize("reward", [0, 1, 0.0, 1.0, 5e-324])
def test_a_reward_within_0_and_1_is_taken_as_it_is(reward: float) -> None:
    made = steelyard.EvaluationResult(reward=reward, validity=steelyard.ValidityCheck.from_json(VALIDITY))
    assert made.reward == reward


def test_an_output_that_does_not_parse_has_no_reward() -> None:
    validity = {**VALIDITY, "output_parseable": False}
    with pytest.raises(ValidationError, match="cannot be parsed"):
        steelyard.EvaluationResult.from_json({"reward": 0.1, "validity": validity})
    assert steelyard.EvaluationResult.from_json({"reward": 0.0, "validity": validity}).reward == 0


@pytest.mark.parametrize("flag", ["schema_valid", "verifier_completed"])
def test_the_other_flags_do_not_force_the_reward(flag: str) -> None:
    made = steelyard.EvaluationResult.from_json({"reward": 0.7, "validity": {**VALIDITY, flag: False}})
    assert made.reward == 0.7


@pytest.mark.parametrize(
    "change",
    [
        {"extra": 1},
        {"validity": {**VALIDITY, "output_parseable": 1}},
        {"validity": {}},
        {"error_taxonomy": [{"category": "x"}]},
        {"error_taxonomy": [{"category": "x", "source": "guess"}]},
        {"annotations": [{"reviewer_id": "a", "timestamp": "yesterday", "judgment": "pass"}]},
        {"annotations": [{"reviewer_id": "a", "timestamp": "2026-03-07T12:00:00Z", "judgment": "maybe"}]},
        {"confidence": {"inter_rater_agreement": 2.0}},
        {"confidence": {"annotator_count": -1}},
        {"breakdown": []},
    ],
)
def test_a_record_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        steelyard.EvaluationResult.from_json({**WHOLE, **change})


def test_a_tag_needs_its_source() -> None:
    with pytest.raises(ValidationError):
        steelyard.ErrorTag(category="x")  # type: ignore[call-arg]


def test_a_record_cannot_be_changed() -> None:
    result = steelyard.Annotation(reviewer_id="a", timestamp=datetime.now(UTC), judgment="pass")
    with pytest.raises(ValidationError):
        result.judgment = "fail"  # type: ignore[misc]


def test_importing_steelyard_loads_no_model_and_a_plain_one_needs_no_pydantic() -> None:
    program = """
import sys, steelyard
print('steelyard.verdict.evaluation' in sys.modules)
steelyard.ValidityCheck(output_parseable=True, schema_valid=True, verifier_completed=True)
print('pydantic' in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_the_schema_of_an_evaluation_is_json() -> None:
    jsonschema.Draft202012Validator.check_schema(
        json.loads(json.dumps(steelyard.EvaluationResult.model_json_schema()))
    )
