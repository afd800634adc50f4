"""Numbers over many runs: an undecided trial does not count as a failure, and contracts are the clusters."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from steelyard.report.summary import summarise
from steelyard.report.terminal import counts_as, print_summary
from steelyard.stats.interval import wilson


def line(verdict: str, contract: str = "a", **more: Any) -> dict[str, Any]:
    status = "invalid" if verdict == "invalid" else "scorable"
    return {"agent": "x", "verdict": verdict, "status": status, "contract": {"digest": contract}, **more}


def printed(*lines: dict[str, Any]) -> str:
    console = Console(width=160, record=True, color_system=None)
    with console.capture() as captured:
        print_summary(console, lines)
    return captured.get()


def test_errors_are_outside_the_rate_and_inside_its_bounds() -> None:
    (made,) = summarise([line("pass"), line("error"), line("error")])
    assert (made.passed.rate, made.errors) == (wilson(1, 1), 2)
    assert made.bounds == (wilson(1, 3).low, 1.0)


def test_everything_undecided_has_no_rate() -> None:
    """Two checks that could not decide are not `0 of 2 [0%, 66%]`."""
    result = printed(line("error"), line("error"))
    assert "0 of 0" in result
    assert "unknown" in result
    assert "2 of 2" in result
    assert "0% to 100%" in result


def test_invalid_and_ungraded_runs_have_their_own_columns() -> None:
    (made,) = summarise([line("fail"), line("invalid"), line("ungraded")])
    assert (made.passed.trials, made.errors, made.invalid, made.ungraded) == (1, 0, 1, 1)
    assert made.bounds == (0.0, wilson(2, 3).high)


def test_repeats_of_one_contract_are_labelled_as_such() -> None:
    assert "repeats of this one contract" in printed(line("pass"), line("fail"))


def test_agents_of_one_trial_each_have_no_interval() -> None:
    lines = [{**line("pass"), "agent": "one"}, {**line("fail"), "agent": "two"}]
    assert printed(*lines) == ""
    assert "three" in printed(*lines, *({**line("pass"), "agent": "three"} for _ in range(2)))


def test_repeats_over_contracts_are_clusters() -> None:
    lines = [
        line(verdict, contract)
        for contract, verdict in zip("aabbcc", ["pass"] * 4 + ["fail"] * 2, strict=True)
    ]
    (made,) = summarise(lines)
    pooled = wilson(4, 6)
    assert made.passed.clusters == 3
    assert (made.passed.rate.low, made.passed.rate.high) < (pooled.low, 1.0)
    assert made.passed.rate.high - made.passed.rate.low > pooled.high - pooled.low
    assert "count as one cluster" in printed(*lines)


def test_without_anything_undecided_no_bounds_are_printed() -> None:
    assert "bounds" not in printed(line("pass"), line("fail"))


@pytest.mark.parametrize(
    ("grade", "word"),
    [
        ({"required": False, "weight": 2.0}, "weight 2"),
        ({"required": False, "weight": 0.0}, "advisory"),
        ({"required": True, "weight": 1.0}, "required"),
        ({"required": True, "weight": 0.0, "gate": True}, "gate"),
    ],
)
def test_only_what_carries_no_credit_is_advisory(grade: dict[str, Any], word: str) -> None:
    assert counts_as(grade) == word
