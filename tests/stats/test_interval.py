"""Rates with their intervals, against scipy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.interval import wilson


@pytest.fixture(scope="module")
def binomtest() -> Callable[..., Any]:
    """Scipy takes a second to import: not in every worker that collects this file."""
    from scipy.stats import binomtest as known

    tested: Callable[..., Any] = known
    return tested


@given(case=st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_wilson_interval_is_the_one_that_scipy_computes(
    binomtest: Callable[..., Any], case: tuple[int, int]
) -> None:
    successes, trials = case
    known = binomtest(successes, trials).proportion_ci(method="wilson")
    rate = wilson(successes, trials)
    assert (rate.low, rate.high) == pytest.approx((known.low, known.high), abs=1e-9)


def test_one_success_out_of_one_is_not_certainty() -> None:
    rate = wilson(1, 1)
    assert rate.rate == 1.0
    assert rate.low < 0.25


def test_no_trials_is_an_unknown_rate_and_not_zero() -> None:
    rate = wilson(0, 0)
    assert (rate.rate, rate.low, rate.high) == (None, 0.0, 1.0)


def test_more_successes_than_trials_is_refused() -> None:
    with pytest.raises(ValueError, match="3 successes out of 2"):
        wilson(3, 2)
