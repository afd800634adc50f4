"""Rates of independent trials, against statsmodels."""

from __future__ import annotations

import pytest
from statsmodels.stats.proportion import proportion_confint

from steelyard.stats.proportion import clopper_pearson, wilson_rate

CASES = [(0, 1), (1, 1), (0, 20), (20, 20), (3, 7), (50, 100), (999, 1000)]


@pytest.mark.parametrize(("successes", "trials"), CASES)
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_clopper_pearson_is_that_of_statsmodels(successes: int, trials: int, level: float) -> None:
    expected = proportion_confint(successes, trials, 1 - level, method="beta")
    assert clopper_pearson(successes, trials, level).interval == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("successes", "trials"), CASES)
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_wilson_is_that_of_statsmodels(successes: int, trials: int, level: float) -> None:
    expected = proportion_confint(successes, trials, 1 - level, method="wilson")
    assert wilson_rate(successes, trials, level).interval == pytest.approx(expected, abs=1e-9)


def test_no_trial_gives_words_and_no_number() -> None:
    for found in (clopper_pearson(0, 0), wilson_rate(0, 0)):
        assert (found.value, found.interval) == (None, None)
        assert "no trial" in found.why


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="3 successes out of 2"):
        clopper_pearson(3, 2)


def test_a_level_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="confidence level"):
        wilson_rate(1, 2, 95)
