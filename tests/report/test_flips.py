"""A regrade that differs from the result of record says what changed and why."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from steelyard.report.explanation.flips import flip_of, table_of_flips


def grading(verdict: str = "pass", reward: float | None = 1.0, **outcomes: Any) -> dict[str, Any]:
    grades = [
        {
            "name": name,
            "outcome": outcome,
            "score": {"pass": 1.0, "fail": 0.0}.get(outcome),
            "why": f"{name} says so",
        }
        for name, outcome in outcomes.items()
    ]
    decided: dict[str, Any] = {"verdict": verdict, "reward": reward, "findings": [], "reason": "because"}
    return {"verdict": decided, "grades": grades, "contract": {"id": "sum"}, "harness": {"version": "0.1.0"}}


def test_a_regrade_that_says_the_same_is_no_flip() -> None:
    assert flip_of("r", grading(a="pass"), grading(a="pass")) is None


def test_a_flip_names_the_grade_that_changed() -> None:
    flip = flip_of("r-1", grading(a="pass", b="pass"), grading("fail", 0.0, a="pass", b="fail"))
    assert flip is not None
    assert (flip["verdict"], flip["reward"]) == (["pass", "fail"], [1.0, 0.0])
    assert [one["name"] for one in flip["grades"]] == ["b"]
    assert flip["because"] == "b: pass -> fail: b says so"


@pytest.mark.parametrize(
    ("before", "after", "because"),
    [
        (grading(a="pass"), grading("error", None, a="error"), "a: pass -> error"),
        (grading(a="pass"), grading(a="pass", b="fail"), "b: absent -> fail"),
        (grading(a="pass", b="fail"), grading(a="pass"), "b: fail -> absent"),
        (grading(a="pass"), grading("fail", 0.0, a="pass"), "the rules changed: because"),
    ],
)
def test_every_difference_has_a_reason(before: Any, after: Any, because: str) -> None:
    flip = flip_of("r", before, after)
    assert flip is not None
    assert flip["because"].startswith(because)


def test_the_table_counts_flipped_verdicts_apart_from_other_differences() -> None:
    flips = [
        flip_of("x-1", grading(a="pass"), grading("fail", 0.0, a="fail")),
        flip_of("x-2", grading(reward=0.5), grading(reward=0.6)),
    ]
    console = Console(width=200, color_system=None, record=True, file=None)
    with console.capture() as captured:
        console.print(table_of_flips([one for one in flips if one], 7))
    assert "1 of 7 verdicts flipped; 2 of 7 runs differ from their record" in captured.get()
