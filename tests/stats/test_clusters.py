"""Intervals over repeats and contracts: repeats of one contract are alike, and are not counted as so many contracts."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from types import FrameType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.stats.cluster_interval import Z90, effective_size, size_of_variance
from steelyard.stats.clusters import Cluster, cluster_variance, clustered_rate
from steelyard.stats.interval import Z95, wilson, wilson_ends
from steelyard.stats.student_t import t_quantile, t_tail

CLUSTERS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda pair: Cluster(min(pair), max(pair))),
    max_size=12,
)


@pytest.mark.parametrize("degrees", [1, 2, 2.5, 3, 4, 5, 7.25, 9, 10, 29, 30, 99, 250, 400])
def test_students_quantile_is_scipys(degrees: float) -> None:
    for probability in (0.6, 0.95, 0.975, 0.9992):
        assert t_quantile(degrees, probability) == pytest.approx(stats.t.ppf(probability, degrees), rel=1e-9)


def calls_of(name: str, run: Callable[[], object]) -> int:
    """How often a function of this name is called meanwhile."""
    calls = 0

    def count(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call" and frame.f_code.co_name == name

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("degrees", [1.5, 66.25, 168, 242, 316, 399.25])
def test_a_quantile_ends_when_rounding_is_all_that_is_left(degrees: float) -> None:
    """Steps of rounding go on for ever where the limit is below what rounding allows."""
    assert calls_of("t_tail", lambda: t_quantile.__wrapped__(degrees, 0.975)) < 30


@given(st.floats(0, 50), st.floats(0.5, 500))
def test_students_distribution_is_scipys(t: float, degrees: float) -> None:
    assert t_tail(t, degrees) == pytest.approx(stats.t.sf(t, degrees), abs=1e-9)


@given(st.integers(1, 6), st.lists(st.integers(0, 6), min_size=2, max_size=10))
def test_the_variance_is_the_jackknifes_where_contracts_have_as_many_trials(
    trials: int, counts: list[int]
) -> None:
    clusters = [Cluster(min(count, trials), trials) for count in counts]
    rate = sum(one.successes for one in clusters) / (trials * len(clusters))
    without = [
        sum(other.successes for other in clusters if other is not one) / (trials * (len(clusters) - 1))
        for one in clusters
    ]
    jackknife = (len(clusters) - 1) / len(clusters) * sum((one - rate) ** 2 for one in without)
    assert cluster_variance(clusters) == pytest.approx(jackknife, abs=1e-12)


@given(CLUSTERS)
def test_an_interval_holds_its_rate_and_stays_within_zero_and_one(clusters: list[Cluster]) -> None:
    made = clustered_rate(clusters)
    assert 0 <= made.rate.low <= made.rate.high <= 1
    if made.rate.rate is not None:
        assert made.rate.low - 1e-12 <= made.rate.rate <= made.rate.high + 1e-12


def test_one_contract_is_wilson_over_its_repeats_and_speaks_of_itself_only() -> None:
    made = clustered_rate([Cluster(2, 5)])
    assert (made.rate, made.scope) == (wilson(2, 5), "contract")


def test_contracts_that_were_tried_once_are_independent_trials() -> None:
    made = clustered_rate([Cluster(1, 1), Cluster(0, 1), Cluster(1, 1)])
    assert (made.rate, made.scope) == (wilson(2, 3), "contracts")


def test_nothing_tried_has_no_rate_and_no_scope() -> None:
    made = clustered_rate([Cluster(0, 0)])
    assert (made.rate.rate, made.scope, made.clusters) == (None, "", 0)


def test_repeats_that_always_agree_are_worth_no_more_than_their_contracts() -> None:
    """Five contracts, ten repeats each, always the same: fifty trials would claim far too much."""
    made = clustered_rate([Cluster(10, 10)] * 3 + [Cluster(0, 10)] * 2)
    pooled, honest = wilson(30, 50), wilson(3, 5)
    assert made.rate.high - made.rate.low > honest.high - honest.low > pooled.high - pooled.low


def test_where_all_contracts_agree_each_counts_as_one_trial() -> None:
    made = clustered_rate([Cluster(4, 4)] * 3)
    assert made.rate.low == pytest.approx(wilson(3, 3).low)
    assert made.rate.high == 1.0


@pytest.mark.parametrize("trials", [10, 22, 49])
def test_contracts_with_the_same_rate_are_worth_their_trials_where_that_rate_is_rounded(trials: int) -> None:
    """15 / 22 * 22 is 15 less a rounding error, which is no variation between contracts."""
    for successes in range(1, trials):
        size = effective_size([successes] * 30, [trials] * 30)
        assert (size.trials, size.degrees) == (30 * trials, 29)


def test_a_kurtosis_of_3_counts_as_even_whatever_its_rounding() -> None:
    """13, 26, 9 and 2 of 50 contracts with 0, 1, 2 and 3 successes have a kurtosis of exactly 3, so 49 degrees of freedom."""
    counts = [0] * 13 + [1] * 26 + [2] * 9 + [3] * 2
    rate, variance = 0.2, 0.6 / (50 * 5**2)
    sizes = [size_of_variance(rate, variance, 3 + off, 50, (999.0, 1.0)) for off in (-1e-15, 0, 1e-15, 1e-6)]
    assert [size.trials for size in sizes] == pytest.approx([rate * (1 - rate) / variance] * 3 + [1])
    assert effective_size(counts, [5] * 50).trials == pytest.approx(rate * (1 - rate) / variance)


def test_at_a_whole_effective_size_the_interval_is_scipys_wilson() -> None:
    clusters = [Cluster(1, 2), Cluster(2, 2), Cluster(0, 2), Cluster(1, 2)]
    size = effective_size([1, 2, 0, 1], [2, 2, 2, 2]).scaled(0.975, Z95)
    made = clustered_rate(clusters).rate
    whole = stats.binomtest(4, 8).proportion_ci(method="wilson")
    assert wilson(4, 8).low == pytest.approx(whole.low)
    centre, half = 0.5, Z95 * math.sqrt(0.25 / size + Z95**2 / (4 * size**2)) / (1 + Z95**2 / size)
    assert made.low == pytest.approx(centre - half)
    assert made.high == pytest.approx(centre + half)


def test_a_rate_that_no_study_of_the_design_excludes_from_above_is_tested_on_one_side() -> None:
    """One success in each of 5 of 40 contracts: the lower end is the one of a one-sided 95% interval, and higher than 2.5% make it."""
    made = clustered_rate([Cluster(1, 5)] * 5 + [Cluster(0, 5)] * 35).rate
    size = effective_size([1] * 5 + [0] * 35, [5] * 40)
    assert made.low < wilson(0, 40).high <= made.high
    assert made.low == pytest.approx(wilson_ends(5 / 200, size.scaled(0.95, Z90), Z90)[0])
    assert made.low > wilson_ends(5 / 200, size.scaled(0.975, Z95))[0]


@given(st.integers(2, 60), st.integers(2, 10), st.data())
def test_successes_exclude_no_rate_that_a_study_without_any_does_not_exclude(
    contracts: int, repeats: int, data: st.DataObject
) -> None:
    counts = data.draw(st.lists(st.integers(1, repeats), max_size=contracts))
    clusters = [Cluster(count, repeats) for count in counts]
    none = [Cluster(0, repeats)] * contracts
    assert clustered_rate(none).rate.high <= clustered_rate(clusters + none[len(clusters) :]).rate.high


@given(st.integers(20, 60), st.integers(2, 10), st.data())
def test_a_study_is_worth_at_least_one_trial_for_each_contract(
    contracts: int, repeats: int, data: st.DataObject
) -> None:
    counts = data.draw(st.lists(st.integers(0, repeats), min_size=contracts, max_size=contracts))
    made = clustered_rate([Cluster(count, repeats) for count in counts]).rate
    assert made.rate is not None
    low, high = wilson_ends(made.rate, contracts)
    assert low - 1e-12 <= made.low
    assert made.high <= high + 1e-12


@pytest.mark.parametrize("contracts", [4, 19, 20, 60])
def test_successes_and_failures_are_treated_alike(contracts: int) -> None:
    draw = random.Random(contracts)
    clusters = [Cluster(draw.randint(0, 4) if draw.random() < 0.3 else 0, 4) for _ in range(contracts)]
    one, other = (clustered_rate(each).rate for each in (clusters, [Cluster(4 - y, n) for y, n in clusters]))
    assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low))


@pytest.mark.parametrize(("icc", "rate"), [(0.0, 0.02), (0.2, 0.1), (0.6, 0.3)])
def test_twenty_contracts_are_covered_in_about_95_of_100_studies(icc: float, rate: float) -> None:
    """The whole table is in docs/statistics.md; 3,000 studies know a coverage to 0.8 points (two standard errors)."""
    generator = np.random.default_rng([20260307, int(100 * rate)])
    chance = (
        np.full((3000, 20), rate)
        if icc == 0
        else generator.beta(rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1), (3000, 20))
    )
    won = np.sort(generator.binomial(5, chance), axis=1)
    tables, times = np.unique(won, axis=0, return_counts=True)
    found = [clustered_rate([Cluster(int(one), 5) for one in table]).rate for table in tables]
    covered = sum(int(count) for one, count in zip(found, times, strict=True) if one.low <= rate <= one.high)
    assert 0.935 <= covered / 3000 <= 0.965


@pytest.mark.parametrize(("contracts", "repeats"), [(5, 4), (10, 3), (20, 5)])
def test_the_interval_covers_the_truth_as_often_as_it_says(contracts: int, repeats: int) -> None:
    """Contracts of beta-distributed difficulty, mean 0.5; pooled Wilson covers far less than 95%."""
    draw = random.Random(20260307)
    rounds, covered, pooled = 600, 0, 0
    for _ in range(rounds):
        rates = [draw.betavariate(0.7, 0.7) for _ in range(contracts)]
        clusters = [Cluster(sum(draw.random() < rate for _ in range(repeats)), repeats) for rate in rates]
        made = clustered_rate(clusters).rate
        naive = wilson(made.successes, made.trials)
        covered += made.low <= 0.5 <= made.high
        pooled += naive.low <= 0.5 <= naive.high
    assert covered / rounds > 0.93
    assert pooled / rounds < covered / rounds - 0.05
