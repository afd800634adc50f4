# mypy: disable-error-code="operator, arg-type, misc"
"""Two agents on the same contracts, against scipy and statsmodels."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from steelyard.stats.clusters import Cluster
from steelyard.stats.compare.difference import (
    bootstrap_difference,
    mcnemar,
    paired_difference,
    permutation_test,
)
from steelyard.stats.compare.equivalence import equivalence, non_inferiority
from steelyard.stats.compare.multiplicity import benjamini_hochberg, holm
from steelyard.stats.compare.pairs import Pair, pair_contracts
from steelyard.stats.skewed_mean import kurtosis_degrees

CLUSTER = (
    st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(any).map(lambda two: Cluster(two[0], sum(two)))
)
PAIRS = st.lists(st.builds(Pair, CLUSTER, CLUSTER), min_size=2, max_size=12)
P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def made(seed: int, contracts: int, repeats: int = 3) -> list[Pair]:
    generator = random.Random(seed)
    return [
        Pair(
            Cluster(sum(generator.random() < 0.4 for _ in range(repeats)), repeats),
            Cluster(sum(generator.random() < 0.6 for _ in range(repeats)), repeats),
        )
        for _ in range(contracts)
    ]


def rates(pairs: list[Pair]) -> tuple[list[float], list[float]]:
    first = [pair.first.successes / pair.first.trials for pair in pairs]
    return first, [pair.second.successes / pair.second.trials for pair in pairs]


def quantiles_of(differences: list[float], degrees: float, ends: tuple[float, float]) -> list[float]:
    """Hall's transformation of both ends with a quarter of scipy's skewness, as probabilities of scipy's t distribution."""
    skewness, root = stats.skew(differences) / 4, np.sqrt(len(differences))
    slope = skewness / (3 * root)
    error = np.mean(differences), stats.sem(differences)
    found = []
    for end in ends:
        t = (error[0] - end) / error[1]
        found.append(stats.t.cdf(t + slope * t**2 + slope**2 * t**3 / 3 + skewness / (6 * root), degrees))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_the_ends_of_the_difference_are_at_the_quantiles_of_halls_transformation(seed: int) -> None:
    pairs = made(seed, 14)
    first, second = rates(pairs)
    differences = [two - one for one, two in zip(first, second, strict=True)]
    degrees = kurtosis_degrees([one - sum(differences) / 14 for one in differences])
    found = paired_difference(pairs)
    assert quantiles_of(differences, degrees, found.interval) == pytest.approx([0.975, 0.025], abs=1e-9)
    assert (found.n, found.clusters) == (84, 14)


def test_differences_without_skewness_or_outliers_have_scipys_paired_t_interval() -> None:
    wins = [(0, 2), (2, 0), (0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]
    pairs = [Pair(Cluster(one, 3), Cluster(two, 3)) for one, two in wins]
    first, second = rates(pairs)
    expected = stats.ttest_rel(second, first).confidence_interval(0.95)
    assert paired_difference(pairs).interval == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_one_contract_that_makes_up_the_variance_leaves_few_degrees_of_freedom() -> None:
    assert kurtosis_degrees([1.0, -1.0] * 10) == 19
    assert kurtosis_degrees([0.95] + [-0.05] * 19) == pytest.approx(2.33, abs=0.01)


def test_the_end_on_the_long_side_of_a_skewed_sample_is_farther_away() -> None:
    pairs = [Pair(Cluster(0, 3), Cluster(0, 3))] * 16 + [Pair(Cluster(0, 3), Cluster(2, 3))] * 4
    found = paired_difference(pairs)
    assert found.high - found.value > found.value - found.low


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("repeats", [1, 3])
def test_the_permutation_test_is_scipys_exact_one(seed: int, repeats: int) -> None:
    pairs = made(seed, 10, repeats)
    first, second = rates(pairs)
    scaled = [np.round(np.array(values) * repeats) for values in (second, first)]
    expected = stats.permutation_test(
        scaled,
        lambda x, y, axis: (x - y).sum(axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert permutation_test(pairs).p == pytest.approx(expected.pvalue, abs=1e-9)


def test_swaps_are_drawn_where_the_exact_distribution_is_too_large() -> None:
    primes = [1009, 1013, 1019, 1021, 1031, 1033, 1039]
    pairs = [Pair(Cluster(0, size), Cluster(at + 1, size)) for at, size in enumerate(primes)]
    found = permutation_test(pairs)
    assert "random swaps" in found.method
    assert found.p == pytest.approx(2 / 2**7, abs=0.002)


def test_the_exact_distribution_holds_a_thousand_contracts() -> None:
    pairs = [Pair(Cluster(0, 1), Cluster(1, 1))] * 520 + [Pair(Cluster(1, 1), Cluster(0, 1))] * 480
    expected = stats.binomtest(480, 1000).pvalue
    assert permutation_test(pairs).p == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("only_first", "only_second"), [(0, 0), (3, 9), (12, 2), (5, 5), (0, 8)])
def test_mcnemar_is_that_of_statsmodels(only_first: int, only_second: int) -> None:
    won, lost = Cluster(1, 1), Cluster(0, 1)
    pairs = [Pair(won, lost)] * only_first + [Pair(lost, won)] * only_second + [Pair(won, won)] * 4
    expected = mcnemar_of_statsmodels([[4, only_first], [only_second, 0]], exact=True).pvalue
    assert mcnemar(pairs).p == pytest.approx(min(1.0, expected), abs=1e-9)


def test_mcnemar_with_repeats_gives_words() -> None:
    found = mcnemar(made(1, 5))
    assert found.p is None
    assert "one trial of each agent" in found.why


@pytest.mark.parametrize("margin", [0.05, 0.2, 0.4])
def test_equivalence_is_the_tost_of_statsmodels_without_skewness_or_outliers(margin: float) -> None:
    wins = [(0, 2), (2, 0), (0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)]
    pairs = [Pair(Cluster(one, 3), Cluster(two, 3)) for one, two in wins]
    first, second = rates(pairs)
    p, (_t, above, _df), _lower = ttost_paired(np.array(second), np.array(first), -margin, margin)
    assert equivalence(pairs, margin).p == pytest.approx(p, abs=1e-9)
    assert non_inferiority(pairs, margin).p == pytest.approx(above, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_margin_at_the_end_of_an_interval_has_the_p_value_of_its_level(seed: int) -> None:
    pairs = made(seed, 20)
    for level in (0.8, 0.9, 0.95):
        low, high = paired_difference(pairs, level).interval
        if low < 0:
            assert non_inferiority(pairs, -low).p == pytest.approx((1 - level) / 2, abs=1e-9)
        if high > -low > 0:
            assert equivalence(pairs, high).p == pytest.approx((1 - level) / 2, abs=1e-9)


@pytest.mark.parametrize("wins", [(1, 1), (0, 2), (2, 1), (2, 0)])
def test_a_margin_is_tested_where_all_contracts_differ_alike(wins: tuple[int, int]) -> None:
    """30 contracts without any difference exclude a loss of 10 points: p = 0.9^30."""
    pairs = [Pair(Cluster(wins[0], 2), Cluster(wins[1], 2))] * 30
    low, high = paired_difference(pairs, 0.9).interval
    if low < 0:
        assert non_inferiority(pairs, -low).p == pytest.approx(0.05 if wins != (2, 0) else 1.0, abs=1e-9)
    if wins == (1, 1):
        assert non_inferiority(pairs, 0.1).p == pytest.approx(0.9**30, abs=1e-12)
        assert equivalence(pairs, high).p == pytest.approx(0.05, abs=1e-9)


@pytest.mark.parametrize("margin", [0, -1, float("nan")])
def test_a_margin_that_is_none_is_refused(margin: float) -> None:
    with pytest.raises(ValueError, match="margin is above 0"):
        equivalence(made(1, 4), margin)


@given(P_VALUES)
def test_holm_is_that_of_statsmodels(values: list[float]) -> None:
    assert holm(values) == pytest.approx(multipletests(values, method="holm")[1], abs=1e-9)


@given(P_VALUES)
def test_benjamini_hochberg_is_that_of_statsmodels(values: list[float]) -> None:
    assert benjamini_hochberg(values) == pytest.approx(multipletests(values, method="fdr_bh")[1], abs=1e-9)


def test_what_is_no_p_value_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.1, float("nan")])


@settings(max_examples=30)
@given(PAIRS)
def test_exchanging_the_agents_changes_the_sign_alone(pairs: list[Pair]) -> None:
    swapped = [Pair(pair.second, pair.first) for pair in pairs]
    one, two = paired_difference(pairs), paired_difference(swapped)
    assert one.value == pytest.approx(-two.value, abs=1e-12)
    assert one.interval == pytest.approx((-two.high, -two.low), abs=1e-12)
    assert permutation_test(pairs).p == pytest.approx(permutation_test(swapped).p, abs=1e-12)


@settings(max_examples=30)
@given(st.lists(CLUSTER, min_size=1, max_size=12))
def test_an_agent_compared_with_itself_does_not_differ(clusters: list[Cluster]) -> None:
    pairs = [Pair(one, one) for one in clusters]
    found = paired_difference(pairs)
    assert found.value == 0
    assert found.low < 0 < found.high
    assert permutation_test(pairs).p == 1


@pytest.mark.parametrize("contracts", [5, 6])
def test_differences_that_are_all_alike_are_decided_where_the_exact_test_is(contracts: int) -> None:
    pairs, is_decided = [Pair(Cluster(0, 1), Cluster(1, 1))] * contracts, contracts > 5
    found = paired_difference(pairs)
    assert (found.low > 0) is is_decided
    assert (permutation_test(pairs).p < 0.05) is is_decided


def test_contracts_of_one_agent_alone_are_no_pairs() -> None:
    first = {"a": Cluster(1, 2), "b": Cluster(1, 1), "c": Cluster(0, 0)}
    second = {"a": Cluster(2, 2), "c": Cluster(1, 1), "d": Cluster(1, 1)}
    assert pair_contracts(first, second) == [Pair(Cluster(1, 2), Cluster(2, 2))]


@pytest.mark.parametrize("pairs", [[], [Pair(Cluster(0, 1), Cluster(1, 1))]])
def test_too_few_pairs_give_words_or_everything(pairs: list[Pair]) -> None:
    found = paired_difference(pairs)
    assert found.interval in (None, (-1.0, 1.0))
    assert found.why or "one contract" in found.assumptions[0]
    assert equivalence(pairs, 0.1).why
    assert bootstrap_difference(pairs).why
    if not pairs:
        assert permutation_test(pairs).why
        assert mcnemar(pairs).why
