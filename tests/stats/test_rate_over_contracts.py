# mypy: disable-error-code="operator, arg-type, misc"
"""Rates over contracts as `Estimate`s: the sandwich against statsmodels, the bootstrap against scipy."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from steelyard.stats.bootstrap import Resampling, cluster_bootstrap
from steelyard.stats.bounded_mean import bounded_mean
from steelyard.stats.clustered_mean import clustered_mean
from steelyard.stats.clusters import Cluster, cluster_robust_rate, clustered_rate, rate_over_contracts
from steelyard.stats.interval import wilson_ends
from steelyard.stats.passk import all_of_them, at_least_one, pass_at_k, pass_hat_k

CLUSTERS = [Cluster(3, 5), Cluster(0, 4), Cluster(5, 5), Cluster(2, 5), Cluster(1, 3), Cluster(4, 5)]
TABLES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).map(lambda pair: Cluster(pair[0], sum(pair))),
    min_size=2,
    max_size=30,
)


def test_the_sandwich_is_that_of_statsmodels() -> None:
    values = [float(at < one.successes) for one in CLUSTERS for at in range(one.trials)]
    groups = [number for number, one in enumerate(CLUSTERS) for _ in range(one.trials)]
    fitted = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": np.array(groups), "use_correction": False}, use_t=True
    )
    found = cluster_robust_rate(CLUSTERS)
    count = len(CLUSTERS)
    assert found.value == pytest.approx(fitted.params[0], abs=1e-9)
    half = fitted.bse[0] * np.sqrt(count / (count - 1)) * stats.t.ppf(0.975, count - 1)
    assert found.interval == pytest.approx((found.value - half, found.value + half), abs=1e-9)


def test_the_mean_of_costs_has_the_sandwich_interval_of_statsmodels() -> None:
    groups = [[0.5, 0.7, 2.5], [1.0], [0.2, 0.4], [3.0, 2.0, 1.5, 2.5]]
    fitted = sm.OLS(np.concatenate(groups), np.ones(10)).fit(
        cov_type="cluster",
        cov_kwds={"groups": np.repeat(range(4), [3, 1, 2, 4]), "use_correction": False},
        use_t=True,
    )
    found = clustered_mean(groups)
    half = fitted.bse[0] * np.sqrt(4 / 3) * stats.t.ppf(0.975, 3)
    assert found.value == pytest.approx(fitted.params[0], abs=1e-9)
    assert found.interval == pytest.approx((max(0, found.value - half), found.value + half), abs=1e-9)
    assert (found.n, found.clusters) == (10, 4)


@pytest.mark.parametrize(
    ("groups", "word"),
    [
        ([], "no value"),
        ([[1.0, 2.0]], "one contract"),
        ([[1.0], [1.0, 1.0]], "the same mean"),
        ([[1.0], [float("nan")]], "not finite"),
    ],
)
def test_a_mean_without_an_interval_says_why(groups: list[list[float]], word: str) -> None:
    found = clustered_mean(groups)
    assert (found.interval, word in found.why) == (None, True)


def test_the_estimate_is_the_interval_that_runs_print() -> None:
    rate, found = clustered_rate(CLUSTERS).rate, rate_over_contracts(CLUSTERS)
    assert (found.value, found.low, found.high) == (rate.rate, rate.low, rate.high)
    assert (found.n, found.clusters) == (27, 6)
    assert "clusters" in found.method


def test_without_a_decided_trial_there_is_no_rate() -> None:
    assert "no decided trial" in rate_over_contracts([]).why
    assert "at least 2 contracts" in cluster_robust_rate([Cluster(1, 2)]).why


@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_contracts_does_not_matter(clusters: list[Cluster], random: object) -> None:
    shuffled = list(clusters)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, two = rate_over_contracts(clusters), rate_over_contracts(shuffled)
    assert one.value == two.value
    assert one.interval == pytest.approx(two.interval, abs=1e-12)


@given(TABLES)
def test_an_interval_holds_its_value_and_stays_in_range(clusters: list[Cluster]) -> None:
    for found in (rate_over_contracts(clusters), pass_at_k(clusters, 2), pass_hat_k(clusters, 2)):
        if found.value is not None:
            assert 0 <= found.low <= found.value + 1e-12 <= found.high + 2e-12 <= 1 + 3e-12


def test_the_bootstrap_is_scipys_bca_draw_for_draw() -> None:
    """The same generator draws the same contracts, so both ends agree and not only their size."""
    values = np.random.default_rng(7).beta(2, 5, 40)
    found = cluster_bootstrap(np.column_stack([values, np.ones(40)]), how=Resampling(2000, 11))
    expected = stats.bootstrap(
        (values,), np.mean, n_resamples=2000, method="BCa", rng=np.random.default_rng(11), vectorized=True
    ).confidence_interval
    assert found.interval == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_the_bootstrap_of_a_ratio_is_scipys_paired_bca_draw_for_draw() -> None:
    generator = np.random.default_rng(8)
    cost, won = generator.uniform(0.5, 3, 25), generator.integers(1, 5, 25).astype(float)
    found = cluster_bootstrap(np.column_stack([cost, won]), how=Resampling(1500, 3))
    expected = stats.bootstrap(
        (cost, won),
        lambda x, y, axis: x.sum(axis=axis) / y.sum(axis=axis),
        n_resamples=1500,
        method="BCa",
        paired=True,
        vectorized=True,
        rng=np.random.default_rng(3),
    ).confidence_interval
    assert found.interval == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_the_same_seed_gives_the_same_bootstrap() -> None:
    rows = [(one.successes, one.trials) for one in CLUSTERS]
    one, two, three = (cluster_bootstrap(rows, how=Resampling(500, seed)) for seed in (1, 1, 2))
    assert one == two
    assert one.interval != three.interval


def test_contracts_that_do_not_vary_have_no_bootstrap_interval() -> None:
    found = cluster_bootstrap([(1.0, 1.0)] * 5)
    assert (found.value, found.interval) == (1.0, None)
    assert "do not vary" in found.why


@pytest.mark.parametrize("rows", [[(1.0, 2.0)], [(float("nan"), 1.0), (1.0, 1.0)], [(1.0, 0.0), (2.0, 0.0)]])
def test_a_bootstrap_of_bad_input_gives_words(rows: list[tuple[float, float]]) -> None:
    found = cluster_bootstrap(rows)
    assert found.value is None
    assert found.why


@pytest.mark.parametrize("trials", [1, 4, 9])
def test_pass_at_k_of_one_contract_is_the_share_of_subsets_with_a_success(trials: int) -> None:
    from itertools import combinations

    for successes in range(trials + 1):
        outcomes = [True] * successes + [False] * (trials - successes)
        for k in range(1, trials + 1):
            chosen = list(combinations(outcomes, k))
            some = sum(any(one) for one in chosen) / len(chosen)
            every = sum(all(one) for one in chosen) / len(chosen)
            assert at_least_one(successes, trials, k) == pytest.approx(some, abs=1e-12)
            assert all_of_them(successes, trials, k) == pytest.approx(every, abs=1e-12)


def test_pass_at_one_is_the_mean_of_the_rates() -> None:
    rates = [one.successes / one.trials for one in CLUSTERS]
    assert pass_at_k(CLUSTERS, 1).value == pytest.approx(sum(rates) / len(rates))
    assert pass_hat_k(CLUSTERS, 1).value == pytest.approx(sum(rates) / len(rates))


def test_pass_at_one_has_the_interval_of_the_success_rate() -> None:
    clusters = [Cluster(at % 4, 3) for at in range(30)]
    assert pass_at_k(clusters, 1).interval == rate_over_contracts(clusters).interval


def test_a_pass_at_k_near_one_is_worth_no_more_than_its_disjoint_sets_of_trials() -> None:
    """Two of 20 contracts differ a little: 100 trials, 33 sets of 3 and a half as many again."""
    clusters = [Cluster(5, 5)] * 18 + [Cluster(2, 5), Cluster(2, 5)]
    found = pass_at_k(clusters, 3)
    assert found.value == pytest.approx(0.99)
    assert found.low < wilson_ends(0.99, 50)[0]


def test_a_k_above_the_number_of_trials_gives_words() -> None:
    found = pass_at_k(CLUSTERS, 6)
    assert found.value is None
    assert "pass@6 needs 6 decided trials" in found.why
    assert "no contract has more than 5" in found.why


def test_contracts_with_too_few_trials_are_named_as_left_out() -> None:
    found = pass_hat_k(CLUSTERS, 5)
    assert found.clusters == 4
    assert "2 of 6 contracts have fewer than 5" in found.assumptions[-1]


def test_a_value_outside_its_range_gives_words() -> None:
    assert "outside 0..1" in bounded_mean([0.5, 1.5], 2).why
    assert "no contract" in bounded_mean([], 0).why
