"""Keys of reward, quality and policy that do not fit together are refused at load."""

from __future__ import annotations

from typing import Any

import pytest
from contract_folders import Writer

from steelyard.contract.load import load_contract
from steelyard.errors import ContractFault
from steelyard.graders.catalogue import CATALOGUE

ENVELOPE = {"envelope": {"files": 5, "lines": 80}}


@pytest.mark.parametrize(
    ("keys", "field", "message"),
    [
        ({"reward": "quality"}, "reward", "needs `quality`"),
        ({"quality": {}}, "quality", "needs `envelope`"),
        ({"quality": {**ENVELOPE, "weights": {"minimal": 0.7}}}, "quality.weights", "they must sum to 1"),
        ({"quality": {**ENVELOPE, "lambda": 0}}, "quality.lambda", ""),
        (
            {"quality": {**ENVELOPE, "maintainability": ["lint"]}},
            "quality.maintainability[0]",
            "no check or grader `lint`",
        ),
        (
            {"quality": {**ENVELOPE, "weights": {"minimal": 0.5, "efficiency": 0.5}}},
            "quality.weights.efficiency",
            "needs a grader of type efficiency",
        ),
        (
            {"policy": {"effect": "penalty"}, "reward": "binary"},
            "policy.effect",
            "cannot lower `reward: binary`",
        ),
        ({"contract_score": {"w_ok": 0.9, "w_val": 0.9}}, "contract_score", "sum to more than 1"),
        ({"contract_score": {"w_ok": "1"}}, "contract_score.w_ok", "number"),
        (
            {"graders": [{"type": "rubric", "dimensions": {"a": {"of": "absent"}}}]},
            "graders[0]",
            "no check or grader `absent`",
        ),
        (
            {
                "graders": [
                    {"type": "rubric", "name": "one", "dimensions": {"a": {"of": "accept"}}},
                    {"type": "rubric", "name": "two", "dimensions": {"a": {"of": "one"}}},
                ]
            },
            "graders[1]",
            "`one` combines other graders itself",
        ),
        ({"graders": [{"type": "rubric", "dimensions": {}}]}, "graders[0].dimensions", "must not be empty"),
    ],
)
def test_keys_that_do_not_fit_together_are_refused(
    writer: Writer, keys: dict[str, Any], field: str, message: str
) -> None:
    writer.write(**keys)
    with pytest.raises(ContractFault) as caught:
        load_contract(writer.folder, CATALOGUE, writer.store)
    found = [(one.field, one.message) for one in caught.value.problems]
    assert any(name == field and message in result for name, result in found), found


@pytest.mark.parametrize(
    "keys",
    [
        {"reward": "quality", "quality": ENVELOPE},
        {"reward": "contract", "contract_score": {"w_ok": 1.0, "w_val": 0.0}},
        {"policy": {"effect": "penalty", "allowed_paths": ["a.py"]}},
        {"quality": {"weights": {"trace": 1.0}}},
        {
            "graders": [
                {"type": "rubric", "dimensions": {"a": {"of": "accept", "weight": 2}}, "strategy": "min"}
            ]
        },
    ],
)
def test_keys_that_fit_together_are_loaded(writer: Writer, keys: dict[str, Any]) -> None:
    writer.write(**keys)
    assert load_contract(writer.folder, CATALOGUE, writer.store).id == "demo"


def test_a_policy_with_a_penalty_is_not_required(writer: Writer) -> None:
    writer.write(policy={"effect": "penalty", "allowed_paths": ["a.py"]})
    (policy,) = load_contract(writer.folder, CATALOGUE, writer.store).graders
    assert not policy.required
