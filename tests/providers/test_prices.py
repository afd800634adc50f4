"""What tokens cost, by whose prices, and that unknown is never 0."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from pathlib import Path

import pytest

from steelyard.errors import OperatorFault
from steelyard.providers.prices import Prices, read_cost_model
from steelyard.providers.usage import Usage


def priced(tmp_path: Path, *rows: str, head: str = "action_type,unit,unit_price,notes") -> Prices:
    (tmp_path / "prices.csv").write_text("\n".join([head, *rows]) + "\n")
    return Prices(read_cost_model(tmp_path / "prices.csv"))


def test_the_library_prices_cached_tokens_apart() -> None:
    cost = Prices().cost("anthropic", "claude-opus-4-5", Usage(1000, 50, 200, 100), 0)
    assert cost.usd == Decimal(
        "0.005475"
    )  # 700 x 5 + 200 x 0.5 + 100 x 6.25 + 50 x 25, a million tokens each
    assert (cost.method, cost.matched_model) == ("library", "claude-opus-4-5")


def test_a_name_that_the_library_only_knows_by_its_beginning_is_shown_as_matched() -> None:
    assert Prices().cost("openai", "gpt-5.5-codex", Usage(1, 1), 0).matched_model == "gpt-5.5"


def test_an_unknown_model_costs_units_and_no_known_dollars() -> None:
    cost = Prices().cost("openai", "my-own-model", Usage(1000, 50), 2000)
    assert (cost.usd, cost.units, cost.id) == (None, Decimal(3), "fallback/1")


def test_an_empty_answer_of_an_unknown_model_still_costs_something() -> None:
    assert Prices().cost("openai", "my-own-model", Usage(0, 0), 0).units == 1


def test_a_list_of_the_operators_comes_before_the_library(tmp_path: Path) -> None:
    prices = priced(
        tmp_path, "llm_request,token,0.001,all", "llm_request,call,0.5,each", "exec,minute,1,unused"
    )
    cost = prices.cost("anthropic", "claude-opus-4-5", Usage(100, 10, 20), 0)
    assert (cost.usd, cost.method) == (Decimal("0.61"), "csv")
    assert cost.id == f"sha256:{hashlib.sha256((tmp_path / 'prices.csv').read_bytes()).hexdigest()}"


def test_kinds_of_tokens_may_have_prices_of_their_own(tmp_path: Path) -> None:
    rows = ("llm_input,token,2,", "llm_output,token,10,", "llm_cache_read,token,1,")
    assert (
        priced(tmp_path, *rows).cost("openai", "m", Usage(100, 3, 40, 10), 0).usd
        == 2 * 50 + 10 * 3 + 40 + 2 * 10
    )


def test_a_list_without_a_price_of_requests_leaves_them_to_the_library(tmp_path: Path) -> None:
    prices = priced(tmp_path, "tool_call,call,1,")
    assert prices.cost("anthropic", "claude-opus-4-5", Usage(1, 1), 0).method == "library"


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (["llm_request,token,-1,"], "must be 0 or more"),
        (["llm_request,token,x,"], "not a number"),
        (["llm_request,token,nan,"], "must be 0 or more"),
        (["llm_request,token,1,", "llm_request,token,2,"], "there twice"),
        ([], "no row"),
    ],
)
def test_a_list_that_cannot_be_meant_is_refused(tmp_path: Path, rows: list[str], why: str) -> None:
    with pytest.raises(OperatorFault, match=why):
        priced(tmp_path, *rows)


def test_further_columns_are_ignored(tmp_path: Path) -> None:
    prices = priced(tmp_path, "llm_request,EUR,token,2,x", head="action_type,currency,unit,unit_price,notes")
    assert prices.cost("openai", "m", Usage(1, 1), 0).usd == 4


def test_rows_that_nothing_is_metered_by_are_known(tmp_path: Path) -> None:
    rows = ["exec,minute,0.01", "exec,hour,0.6", "llm_input,token,0.000003", "GPU,minute,1"]
    made = priced(tmp_path, *rows).cost_model
    assert made is not None
    assert made.unmetered == ["GPU/minute", "exec/hour"]
