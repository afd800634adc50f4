# mypy: disable-error-code="operator, arg-type, misc"
"""Power, intra-contract correlation and looks before the end, against published tables and simulation."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import TTestPower

from steelyard.stats.clusters import Cluster
from steelyard.stats.design.icc import icc_of_outcomes, icc_value
from steelyard.stats.design.icc_interval import CANDIDATES, chances, likelihood_ratios, size_groups
from steelyard.stats.design.power import (
    Design,
    contracts_needed,
    contracts_to_decide,
    detectable_effect,
    difference_variance,
    power,
    power_curve,
    repeats_needed,
    simulated_power,
)
from steelyard.stats.design.sequential import (
    LookRule,
    PeekingRefused,
    anytime_interval,
    boundaries,
    look_quantile,
    require_rule,
    spent_alpha,
)

DESIGN = Design(first=0.5, second=0.65, contracts=60, repeats=3, icc=0.3, pairing=0.5)


def test_power_is_that_of_statsmodels_at_the_same_effect_size() -> None:
    size = DESIGN.effect / math.sqrt(difference_variance(DESIGN))
    assert power(DESIGN) == pytest.approx(TTestPower().power(size, DESIGN.contracts, 0.05), abs=1e-9)


@pytest.mark.parametrize("wanted", [0.8, 0.9])
def test_the_contracts_needed_are_those_that_statsmodels_solves_for(wanted: float) -> None:
    size = DESIGN.effect / math.sqrt(difference_variance(DESIGN))
    expected = TTestPower().solve_power(size, None, 0.05, wanted)
    assert contracts_needed(DESIGN, wanted) == math.ceil(expected)


@pytest.mark.parametrize("icc", [0.0, 0.2, 0.6])
@pytest.mark.parametrize("pairing", [0.0, 0.8])
def test_formula_and_simulation_agree(icc: float, pairing: float) -> None:
    design = replace(DESIGN, icc=icc, pairing=pairing)
    found = simulated_power(design, 4000)
    error = math.sqrt(power(design) * (1 - power(design)) / 4000)
    assert abs(found.value - power(design)) < 4 * error + 0.01


def test_without_an_effect_the_test_rejects_at_its_level() -> None:
    design = replace(DESIGN, second=0.5)
    assert power(design) == pytest.approx(0.05, abs=1e-9)
    assert simulated_power(design, 4000).value == pytest.approx(0.05, abs=0.015)


def test_power_grows_with_contracts_repeats_and_effect_and_falls_with_correlation() -> None:
    curve = [chance for _count, chance in power_curve(DESIGN, range(10, 200, 10))]
    assert curve == sorted(curve)
    for name, values in (("repeats", (1, 2, 5, 10)), ("second", (0.55, 0.6, 0.7, 0.9))):
        chances = [power(replace(DESIGN, **{name: value})) for value in values]
        assert chances == sorted(chances)
    chances = [power(replace(DESIGN, pairing=0.0, icc=value)) for value in (0.6, 0.3, 0.1, 0.0)]
    assert chances == sorted(chances)


def test_what_is_needed_is_just_enough() -> None:
    contracts = contracts_needed(DESIGN)
    assert (
        power(replace(DESIGN, contracts=contracts)) >= 0.8 > power(replace(DESIGN, contracts=contracts - 1))
    )
    repeats = repeats_needed(replace(DESIGN, contracts=100))
    assert power(replace(DESIGN, contracts=100, repeats=repeats)) >= 0.8
    effect = detectable_effect(DESIGN)
    assert power(replace(DESIGN, second=0.5 + effect)) == pytest.approx(0.8, abs=1e-6)


@pytest.mark.parametrize("second", [0.55, 0.6, 0.75, 0.95, 1.0])
def test_power_never_falls_as_contracts_are_added(second: float) -> None:
    chances = [power(replace(DESIGN, second=second, contracts=count)) for count in range(2, 400)]
    assert all(after >= before - 1e-9 for before, after in pairwise(chances))
    assert (
        contracts_needed(replace(DESIGN, second=second)) == 2 + sum(chance < 0.8 for chance in chances)
        or second < 0.6
    )


def test_repeats_cannot_replace_contracts() -> None:
    assert repeats_needed(replace(DESIGN, contracts=5, icc=0.9, pairing=0.0)) is None
    assert detectable_effect(replace(DESIGN, first=0.99, contracts=3)) is None


def test_contracts_to_decide_is_the_first_number_at_which_the_interval_excludes_zero() -> None:
    more = contracts_to_decide(0.05, 0.4, 40)
    for count, is_decided in ((40 + more, True), (40 + more - 1, False)):
        assert bool(stats.t.ppf(0.975, count - 1) * 0.4 / math.sqrt(count) < 0.05) is is_decided
    assert contracts_to_decide(0.0, 0.4, 40) is None


@pytest.mark.parametrize(
    "keys", [{"first": 1.2}, {"icc": -0.1}, {"contracts": 1}, {"alpha": 0}, {"repeats": 0}]
)
def test_a_design_that_cannot_be_is_refused_in_words(keys: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"is between|at least"):
        replace(DESIGN, **keys)


@pytest.mark.parametrize("seed", range(3))
def test_the_correlation_of_outcomes_follows_from_scipys_analysis_of_variance(seed: int) -> None:
    """Shrout and Fleiss (1979): (F - 1) / (F + k - 1)."""
    rates = np.linspace(0.05, 0.95, 8)[:, None]
    groups = (np.random.default_rng(seed).random((8, 5)) < rates).astype(int)
    ratio = stats.f_oneway(*groups).statistic
    clusters = [Cluster(int(one.sum()), 5) for one in groups]
    assert icc_of_outcomes(clusters).value == pytest.approx((ratio - 1) / (ratio + 4), abs=1e-9)


def test_the_correlation_of_outcomes_is_inside_its_interval() -> None:
    clusters = [Cluster(3, 4), Cluster(0, 5), Cluster(4, 4), Cluster(1, 3)]
    one = icc_of_outcomes(clusters)
    assert icc_value(clusters) == one.value
    assert 0 <= one.low < one.value < one.high <= 1


def test_the_chances_of_a_candidate_correlation_are_scipys_beta_binomial() -> None:
    for trials, rate, icc in ((1, 0.3, 0.2), (5, 0.02, 0.6), (10, 0.5, 0.995)):
        size = 1 / icc - 1
        expected = stats.betabinom.pmf(range(trials + 1), trials, rate * size, (1 - rate) * size)
        assert chances(trials, rate, icc) == pytest.approx(expected, abs=1e-9)
    assert chances(5, 0.3, 0.0) == pytest.approx(stats.binom.pmf(range(6), 5, 0.3), abs=1e-9)


def test_the_likelihood_ratio_of_a_correlation_is_that_of_scipys_log_probabilities() -> None:
    clusters = [Cluster(3, 4), Cluster(0, 5), Cluster(4, 4), Cluster(1, 4), Cluster(2, 5)]
    rate = sum(one.successes for one in clusters) / sum(one.trials for one in clusters)
    logs = np.array(
        [
            sum(
                stats.betabinom.logpmf(y, n, rate * (1 / icc - 1), (1 - rate) * (1 / icc - 1))
                if icc
                else stats.binom.logpmf(y, n, rate)
                for y, n in clusters
            )
            for icc in CANDIDATES
        ]
    )
    found = likelihood_ratios(size_groups([y for y, _ in clusters], [n for _, n in clusters]))[0]
    assert found == pytest.approx(2 * (logs.max() - logs), abs=1e-9)


def test_the_interval_of_a_correlation_does_not_depend_on_the_order_of_contracts() -> None:
    clusters = [Cluster(at % 5, 4) for at in range(20)]
    assert icc_of_outcomes(clusters) == icc_of_outcomes(clusters[::-1])


def test_contracts_that_always_agree_have_a_correlation_up_to_one() -> None:
    found = icc_of_outcomes([Cluster(0, 3)] * 10 + [Cluster(3, 3)] * 10)
    assert (found.value, found.high) == (1.0, 1.0)
    assert 0.7 < found.low < 1


def test_repeats_that_are_less_alike_than_chance_have_a_correlation_of_zero() -> None:
    found = icc_of_outcomes([Cluster(1, 2)] * 20)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high < 0.2


def test_the_correlation_of_a_known_model_is_found() -> None:
    generator = np.random.default_rng(3)
    chances = generator.beta(1, 1, 2000)  # correlation 1 / (1 + 1 + 1)
    found = icc_of_outcomes([Cluster(int(generator.binomial(5, p)), 5) for p in chances])
    assert found.value == pytest.approx(1 / 3, abs=0.03)
    assert found.low < 1 / 3 < found.high


@pytest.mark.parametrize(
    ("clusters", "word"),
    [
        ([Cluster(1, 3)], "2 contracts"),
        ([Cluster(1, 1)] * 4, "repeats"),
        ([Cluster(2, 2)] * 4, "same outcome"),
        ([Cluster(1, 3)] + [Cluster(0, 3)] * 9, "at least 3 trials that succeeded, and there is 1 in 30"),
        ([Cluster(2, 3)] + [Cluster(3, 3)] * 9, "at least 3 trials that failed"),
    ],
)
def test_a_correlation_that_cannot_be_estimated_gives_words(clusters: list[Cluster], word: str) -> None:
    assert word in icc_of_outcomes(clusters).why


@pytest.mark.parametrize(
    ("rule", "limits"),
    [
        # Reboussin, DeMets, Kim and Lan (2000): five equal looks, two-sided 0.05.
        ("obrien_fleming", [4.8769, 3.3569, 2.6803, 2.2898, 2.0310]),
        ("pocock", [2.4380, 2.4268, 2.4101, 2.3966, 2.3859]),
    ],
)
def test_the_limits_of_looks_are_the_published_ones(rule: str, limits: list[float]) -> None:
    looks = boundaries(rule, [0.2, 0.4, 0.6, 0.8, 1.0])
    assert [look.limit for look in looks] == pytest.approx(limits, abs=2e-4)
    assert looks[-1].spent == pytest.approx(0.05)


def test_two_looks_spend_exactly_alpha() -> None:
    first, second = boundaries("pocock", [0.5, 1.0])
    correlation = math.sqrt(0.5)
    inside = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(
        [first.limit, second.limit], lower_limit=[-first.limit, -second.limit]
    )
    assert 1 - inside == pytest.approx(0.05, abs=1e-7)


def test_one_look_at_the_end_is_the_fixed_test() -> None:
    (look,) = boundaries("obrien_fleming", [1.0])
    assert look.limit == pytest.approx(stats.norm.ppf(0.975), abs=1e-9)
    assert spent_alpha("pocock", 0.0) == 0.0


def test_an_early_look_has_a_wider_interval_than_the_last_one() -> None:
    first, last = (look_quantile("obrien_fleming", look, 5) for look in (1, 5))
    assert stats.norm.ppf(first) == pytest.approx(4.8769, abs=2e-4)
    assert stats.norm.ppf(last) == pytest.approx(2.0310, abs=2e-4)
    assert look_quantile("pocock", 1, 1) == pytest.approx(0.975, abs=1e-9)
    with pytest.raises(ValueError, match="look 3 of 2"):
        look_quantile("pocock", 3, 2)


def test_looks_that_do_not_increase_are_refused() -> None:
    with pytest.raises(ValueError, match="increase"):
        boundaries("pocock", [0.5, 0.5])


def test_the_anytime_interval_misses_in_less_than_five_of_a_hundred_studies_over_all_looks() -> None:
    generator, missed = random.Random(5), 0
    for _ in range(200):
        values = [generator.choice((-1, 0, 0, 1)) for _ in range(120)]
        missed += fortune(values, 0.0) >= 20  # excluded at some look
    assert missed <= 10


def fortune(values: list[float], candidate: float, alpha: float = 0.05) -> float:
    """The largest fortune of a gambler who bets half for more and half for less than the candidate, step by step."""
    more = less = largest = 1.0
    total, squares, variance = 0.5, 0.25, 0.25
    for count, value in enumerate(values, 1):
        x, m = (value + 1) / 2, (candidate + 1) / 2
        bet = math.sqrt(2 * math.log(2 / alpha) / (variance * count * math.log(count + 1)))
        more *= 1 + min(bet, 0.75 / m) * (x - m)
        less *= 1 - min(bet, 0.75 / (1 - m)) * (x - m)
        largest = max(largest, (more + less) / 2)
        total += x
        squares += (x - total / (count + 1)) ** 2
        variance = squares / (count + 1)
    return largest


@pytest.mark.parametrize("seed", range(3))
def test_the_anytime_interval_ends_where_a_fortune_grows_to_twenty(seed: int) -> None:
    generator = random.Random(seed)
    values = [generator.choice((-1 / 3, 0, 1 / 3, 2 / 3)) for _ in range(60)]
    found = anytime_interval(values)
    step = 2 / 2000
    for end, inwards in ((found.low, step), (found.high, -step)):
        assert fortune(values, end - inwards) >= 20
        assert fortune(values, end + 2 * inwards) < 20


def test_ten_contracts_that_all_differ_decide_at_any_look() -> None:
    assert anytime_interval([1.0] * 6).low < 0.1
    assert anytime_interval([1.0] * 10).low > 0.1


def test_the_anytime_interval_narrows_and_finds_an_effect() -> None:
    generator = random.Random(6)
    values = [generator.choice((0, 0, 1, 1)) for _ in range(400)]
    few, many = anytime_interval(values[:40]), anytime_interval(values)
    assert many.high - many.low < few.high - few.low
    assert many.low > 0
    assert "no finished contract" in anytime_interval([]).why
    assert "outside" in anytime_interval([2.0]).why


def test_looking_early_without_a_rule_is_refused_in_words() -> None:
    with pytest.raises(PeekingRefused, match="12 of 40 planned trials are finished"):
        require_rule(12, 40, None)
    require_rule(40, 40, None)
    require_rule(12, 40, LookRule("pocock", 4, 2))
    require_rule(1, 40, LookRule("anytime", 1, 2))
    with pytest.raises(PeekingRefused, match="the first of 4 registered looks is after 10"):
        require_rule(9, 40, LookRule("pocock", 4, 2))


def test_the_level_of_a_look_is_that_of_the_registered_rule() -> None:
    """Jennison and Turnbull 2000: Pocock-type spending with 2 looks has |z| limits of 2.157 and 2.201."""
    rule = LookRule("pocock", 2, 1)
    assert rule.level(20, 40) == pytest.approx(1 - 2 * stats.norm.sf(2.157), abs=2e-4)
    assert rule.level(40, 40) == pytest.approx(1 - 2 * stats.norm.sf(2.201), abs=2e-4)
    assert (
        LookRule("obrien_fleming", 5, 5).level(8, 40) > LookRule("obrien_fleming", 5, 5).level(40, 40) > 0.95
    )
    assert LookRule("anytime", 1, 1).level(3, 40) == 0.95
