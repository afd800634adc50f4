"""What a result line says of the cost of judging."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.report.result import judge_cost_of

JUDGED: dict[str, Any] = {"verdict": {"judge": {"verdict": "PASS"}}}
NOT_JUDGED: dict[str, Any] = {"verdict": {"judge": None}}
RECORDED = {"usd": 0.25, "method": "csv", "id": None, "quantities": {}}


@pytest.mark.parametrize(
    ("grading", "expected"),
    [
        (JUDGED | {"judge_cost": RECORDED}, RECORDED),
        (NOT_JUDGED | {"judge_cost": None}, None),
        (NOT_JUDGED, None),
    ],
)
def test_the_cost_of_judging_is_what_the_grading_recorded(grading: dict[str, Any], expected: Any) -> None:
    assert judge_cost_of(grading) == expected


def test_the_cost_of_judging_in_an_older_grading_is_unknown_and_not_zero() -> None:
    found = judge_cost_of(JUDGED)
    assert found is not None
    assert found["usd"] is None
