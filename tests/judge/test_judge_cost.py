"""What our own requests to judging models cost: an item of its own."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.judge.cost import Request, judge_cost, most_usd, requests_of
from steelyard.judge.panel import Panel

LIST = {"judge_request/call": 0.01, "judge_input/token": 0.001, "judge_output/token": 0.002}
KEYED = Panel.from_environment(("claude-opus-4-8",), {"ANTHROPIC_API_KEY": "k"})


def cost_of(*requests: Request, rows: dict[str, float] | None = None) -> dict[str, Any]:
    found = judge_cost(requests, LIST if rows is None else rows)
    assert found is not None
    return found


def test_no_request_has_no_cost() -> None:
    assert judge_cost((), LIST) is None


def test_the_rows_of_the_list_price_requests_and_tokens() -> None:
    found = cost_of(Request("claude-opus-4-8", 10, 5), Request("gpt-5.4", 1, 1))
    assert (found["usd"], found["method"]) == (pytest.approx(0.02 + 0.011 + 0.012), "csv")
    assert found["quantities"] == {
        "judge_request/call": 2,
        "judge_input/token": 11,
        "judge_output/token": 6,
    }


@pytest.mark.parametrize(
    ("rows", "usd"),
    [
        ({"judge_input/token": 0.001}, None),
        ({"judge_output/token": 0.001, "judge_request/call": 0.01}, None),
        ({"judge_input/token": 0.001, "judge_request/token": 0.002}, 0.01 + 0.01),
        ({"judge_request/call": 0.01}, 0.01),
    ],
)
def test_tokens_that_the_list_does_not_price_are_not_free(rows: dict[str, float], usd: float | None) -> None:
    assert cost_of(Request("claude-opus-4-8", 10, 5), rows=rows)["usd"] == (
        None if usd is None else pytest.approx(usd)
    )


def test_prices_of_the_agents_models_are_not_those_of_a_judge() -> None:
    found = cost_of(Request("claude-opus-4-8", 1000, 100), rows={"llm_request/token": 9.0})
    assert found["method"] == "library"
    assert 0 < found["usd"] < 1


def test_a_model_without_a_price_costs_an_unknown_amount() -> None:
    assert cost_of(Request("openai:house-model-of-ours", 10, 5), rows={})["usd"] is None


def test_a_request_without_tokens_makes_the_cost_unknown() -> None:
    found = cost_of(Request("gpt-5.4", 10, 5), Request("gpt-5.4", None, None))
    assert (found["usd"], found["quantities"]["judge_input/token"]) == (None, None)


def test_only_what_was_asked_now_is_paid_for() -> None:
    opinions: list[dict[str, Any]] = [
        {"model": "a", "tokens_in": 1, "tokens_out": 1},
        {"model": "b", "tokens_in": 1, "tokens_out": 1, "reused": True},
        {"model": "c", "tokens_in": None, "tokens_out": None, "asked": False},
    ]
    assert [one.model for one in requests_of(opinions)] == ["a"]


def test_the_bound_of_a_question_is_above_what_it_costs() -> None:
    assert isinstance(KEYED, Panel)
    usual = cost_of(Request("claude-opus-4-8", 6000, 800), rows={})["usd"]
    assert most_usd(KEYED, 100_000, {}) > usual
