"""Intervals over repeats and contracts: repeats of one contract are alike, and are not counted as so many contracts."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.stats.clusters import Cluster, cluster_variance, clustered, effective_trials, t_cdf, t_quantile
from steelyard.stats.interval import Z95, wilson

CLUSTERS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda pair: Cluster(min(pair), max(pair))),
    max_size=12,
)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 9, 10, 29, 30, 99, 250])
def test_students_quantile_is_scipys(degrees: int) -> None:
    assert t_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-9)


@given(st.floats(0, 50), st.integers(1, 60))
def test_students_distribution_is_scipys(t: float, degrees: int) -> None:
    assert t_cdf(t, degrees) == pytest.approx(stats.t.cdf(t, degrees), abs=1e-9)


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
    made = clustered(clusters)
    assert 0 <= made.rate.low <= made.rate.high <= 1
    if made.rate.rate is not None:
        assert made.rate.low - 1e-12 <= made.rate.rate <= made.rate.high + 1e-12


def test_one_contract_is_wilson_over_its_repeats_and_speaks_of_itself_only() -> None:
    made = clustered([Cluster(2, 5)])
    assert (made.rate, made.scope) == (wilson(2, 5), "contract")


def test_contracts_that_were_tried_once_are_independent_trials() -> None:
    made = clustered([Cluster(1, 1), Cluster(0, 1), Cluster(1, 1)])
    assert (made.rate, made.scope) == (wilson(2, 3), "contracts")


def test_nothing_tried_has_no_rate_and_no_scope() -> None:
    made = clustered([Cluster(0, 0)])
    assert (made.rate.rate, made.scope, made.clusters) == (None, "", 0)


def test_repeats_that_always_agree_are_worth_no_more_than_their_contracts() -> None:
    """Five contracts, ten repeats each, always the same: fifty trials would claim far too much."""
    made = clustered([Cluster(10, 10)] * 3 + [Cluster(0, 10)] * 2)
    pooled, honest = wilson(30, 50), wilson(3, 5)
    assert made.rate.high - made.rate.low > honest.high - honest.low > pooled.high - pooled.low


def test_where_all_contracts_agree_each_counts_as_one_trial() -> None:
    made = clustered([Cluster(4, 4)] * 3)
    assert made.rate.low == pytest.approx(wilson(3, 3).low)
    assert made.rate.high == 1.0


def test_at_a_whole_effective_size_the_interval_is_scipys_wilson() -> None:
    clusters = [Cluster(1, 2), Cluster(2, 2), Cluster(0, 2), Cluster(1, 2)]
    size = effective_trials(clusters)
    made = clustered(clusters).rate
    whole = stats.binomtest(4, 8).proportion_ci(method="wilson")
    assert wilson(4, 8).low == pytest.approx(whole.low)
    centre, half = 0.5, Z95 * math.sqrt(0.25 / size + Z95**2 / (4 * size**2)) / (1 + Z95**2 / size)
    assert made.low == pytest.approx(centre - half)
    assert made.high == pytest.approx(centre + half)


@pytest.mark.parametrize(("contracts", "repeats"), [(5, 4), (10, 3), (20, 5)])
def test_the_interval_covers_the_truth_as_often_as_it_says(contracts: int, repeats: int) -> None:
    """Contracts of beta-distributed difficulty, mean 0.5; pooled Wilson covers far less than 95%."""
    draw = random.Random(20260307)
    rounds, covered, pooled = 600, 0, 0
    for _ in range(rounds):
        rates = [draw.betavariate(0.7, 0.7) for _ in range(contracts)]
        clusters = [Cluster(sum(draw.random() < rate for _ in range(repeats)), repeats) for rate in rates]
        made = clustered(clusters).rate
        naive = wilson(made.successes, made.trials)
        covered += made.low <= 0.5 <= made.high
        pooled += naive.low <= 0.5 <= naive.high
    assert covered / rounds > 0.93
    assert pooled / rounds < covered / rounds - 0.05
