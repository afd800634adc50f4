# mypy: disable-error-code="operator, arg-type, misc, union-attr"
"""Censored times against lifelines; cost for each success against the definition of Fieller's interval."""

from __future__ import annotations

import itertools
import math
import random
import warnings

import numpy as np
import pytest
from lifelines import KaplanMeierFitter
from lifelines.statistics import logrank_test
from lifelines.utils import median_survival_times, restricted_mean_survival_time
from scipy import stats
from statsmodels.duration.hazard_regression import PHReg

from steelyard.stats.bootstrap import Resampling, cluster_bootstrap
from steelyard.stats.cost import Spending, cost_per_success, pareto_front
from steelyard.stats.survival import (
    Duration,
    clustered_steps,
    contract_parts,
    curve_steps,
    kaplan_meier,
    log_rank,
    median_time,
    restricted_mean,
)


def made(seed: int, count: int = 60, scale: float = 30) -> list[Duration]:
    generator = random.Random(seed)
    return [
        Duration(round(generator.expovariate(1 / scale), 1), generator.random() < 0.6) for _ in range(count)
    ]


def columns(durations: list[Duration]) -> tuple[list[float], list[bool]]:
    return [one.seconds for one in durations], [one.succeeded for one in durations]


@pytest.mark.parametrize("seed", range(4))
def test_the_curve_and_its_interval_are_those_of_lifelines(seed: int) -> None:
    durations = made(seed)
    fitted = KaplanMeierFitter().fit(*columns(durations))
    steps = kaplan_meier(durations)
    low = fitted.confidence_interval_["KM_estimate_lower_0.95"]
    high = fitted.confidence_interval_["KM_estimate_upper_0.95"]
    for step in steps:
        assert step.survival == pytest.approx(
            fitted.survival_function_.loc[step.time, "KM_estimate"], abs=1e-9
        )
        if step.survival > 0:
            assert step.low == pytest.approx(low.loc[step.time], abs=1e-9)
            assert step.high == pytest.approx(high.loc[step.time], abs=1e-9)
    expected = fitted.median_survival_time_
    assert median_time(durations).value == (None if math.isinf(expected) else pytest.approx(expected))


@pytest.mark.parametrize("seed", range(8))
def test_the_interval_of_the_median_is_that_of_lifelines(seed: int) -> None:
    durations = [one._replace(cluster=str(at)) for at, one in enumerate(made(seed, 40))]
    expected = median_survival_times(KaplanMeierFitter().fit(*columns(durations)).confidence_interval_)
    found = median_time(durations)
    assert found.interval == pytest.approx(tuple(expected.iloc[0]), abs=1e-9)
    assert (found.n, found.clusters) == (40, 40)


def labelled(seed: int, count: int, contracts: int, scale: float = 30) -> list[Duration]:
    """Runs of so many contracts, unevenly many of each."""
    draw = random.Random(seed + 1000)
    return [one._replace(cluster=str(draw.randrange(contracts))) for one in made(seed, count, scale)]


@pytest.mark.parametrize("seed", range(3))
def test_the_influence_of_a_contract_is_the_derivative_of_lifelines_weighted_curve(seed: int) -> None:
    """Each contract gets a little more and a little less weight; the variance is the sum of the squared slopes."""
    durations = labelled(seed, 50, 8)
    names = sorted({one.cluster for one in durations})

    def log_survival(name: str, change: float) -> np.ndarray:
        weights = [1 + change * (one.cluster == name) for one in durations]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # lifelines says that its own variance does not know such weights
            fitted = KaplanMeierFitter().fit(*columns(durations), weights=weights)
        shown = fitted.survival_function_at_times([step.time for step in steps]).to_numpy()
        logs: np.ndarray = np.log(shown)
        return logs

    steps = [step for step in clustered_steps(durations, 0.95) if 0 < step.survival < 1]
    assert steps
    slopes = np.array([(log_survival(name, 1e-5) - log_survival(name, -1e-5)) / 2e-5 for name in names])
    errors = np.sqrt(len(names) / (len(names) - 1) * (slopes**2).sum(axis=0))
    quantile = stats.t.ppf(0.975, len(names) - 1)
    for step, error in zip(steps, errors, strict=True):
        spread = abs(quantile * error / math.log(step.survival))
        assert step.low == pytest.approx(step.survival ** math.exp(spread), abs=1e-6)
        assert step.high == pytest.approx(step.survival ** math.exp(-spread), abs=1e-6)


def test_repeats_of_a_contract_that_are_all_alike_add_nothing_to_the_median() -> None:
    """The infinitesimal jackknife over contracts is Greenwood's formula of one run a contract."""
    once = [one._replace(cluster=str(at)) for at, one in enumerate(made(1, 40))]
    twice = clustered_steps([*once, *once], 0.95)
    scale = stats.t.ppf(0.975, 39) * math.sqrt(40 / 39) / stats.norm.ppf(0.975)
    for one, two in zip(kaplan_meier(once), twice, strict=True):
        assert two.survival == pytest.approx(one.survival, abs=1e-9)
        if 0 < one.survival < 1:
            near, far = (math.log(math.log(step.low) / math.log(step.survival)) for step in (one, two))
            assert far == pytest.approx(near * scale, abs=1e-9)


def test_the_median_of_runs_that_do_not_succeed_often_enough_has_words() -> None:
    found = median_time([Duration(1, True), Duration(2, False), Duration(3, False)])
    assert (found.value, found.interval) == (None, None)
    assert "half of the trials have not succeeded" in found.why
    assert "there is no time" in median_time([]).why
    assert "not finite" in median_time([Duration(math.nan, True)]).why


def test_the_median_is_where_the_curve_is_one_half_up_to_rounding() -> None:
    """10/15 after five successes, two censored, then 7/8 and 6/8 of it: one half at the ninth time, and 0.5 + 1e-16 as a product."""
    runs = [Duration(number, number not in {6, 7}) for number in range(1, 16)]
    assert kaplan_meier(runs)[6].survival > 0.5
    assert median_time(runs).value == 9


def test_the_median_of_a_few_runs_has_no_upper_end() -> None:
    found = median_time([Duration(1, True), Duration(2, True), Duration(3, True)])
    assert (found.value, found.high) == (2, math.inf)


@pytest.mark.parametrize("seed", range(4))
def test_the_restricted_mean_is_that_of_lifelines(seed: int) -> None:
    durations = made(seed)
    fitted = KaplanMeierFitter().fit(*columns(durations))
    expected = restricted_mean_survival_time(fitted, t=25)
    assert restricted_mean(durations, 25).value == pytest.approx(expected, abs=1e-9)


def test_the_interval_of_the_restricted_mean_is_that_of_the_survrm2_formula() -> None:
    """Times 1, 2, 3 with successes at 1 and 3, horizon 3: area 7/3, variance (4/3)^2 * 1/6 (the last term has none left)."""
    found = restricted_mean([Duration(1, True), Duration(2, False), Duration(3, True)], 3)
    assert found.value == pytest.approx(1 + 2 / 3 * 2)
    half = stats.norm.ppf(0.975) * math.sqrt((4 / 3) ** 2 / 6)
    assert found.low == pytest.approx(found.value - half, abs=1e-9)
    assert found.high == 3


@pytest.mark.parametrize("seed", range(4))
def test_the_variance_of_the_restricted_mean_follows_from_the_areas_of_lifelines(seed: int) -> None:
    """Sum over events of (area from t to the horizon)^2 * d / (n * (n - d))."""
    durations, horizon = made(seed), 25.0
    fitted = KaplanMeierFitter().fit(*columns(durations))
    table = fitted.event_table
    variance = 0.0
    for time, row in table[(table["observed"] > 0) & (table.index < horizon)].iterrows():
        rest = restricted_mean_survival_time(fitted, t=horizon) - restricted_mean_survival_time(
            fitted, t=time
        )
        variance += rest**2 * row["observed"] / (row["at_risk"] * (row["at_risk"] - row["observed"]))
    found = restricted_mean(durations, horizon)
    half = stats.norm.ppf(0.975) * math.sqrt(variance)
    assert found.interval == pytest.approx((found.value - half, min(horizon, found.value + half)), abs=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_jackknife_of_the_restricted_mean_leaves_contracts_out_of_lifelines(seed: int) -> None:
    durations, horizon = labelled(seed, 50, 8), 20.0
    names = sorted({one.cluster for one in durations})
    left_out = [
        restricted_mean_survival_time(
            KaplanMeierFitter().fit(*columns([one for one in durations if one.cluster != name])), t=horizon
        )
        for name in names
    ]
    count = len(names)
    half = stats.t.ppf(0.975, count - 1) * math.sqrt((count - 1) ** 2 / count * np.var(left_out, ddof=1))
    found = restricted_mean(durations, horizon)
    assert found.interval == pytest.approx((found.value - half, min(horizon, found.value + half)), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_log_rank_test_is_that_of_lifelines(seed: int) -> None:
    first, second = made(seed), made(seed + 100, scale=15)
    (one, one_events), (two, two_events) = columns(first), columns(second)
    expected = logrank_test(one, two, one_events, two_events)
    found = log_rank(first, second)
    assert found.statistic == pytest.approx(expected.test_statistic, abs=1e-9)
    assert found.p == pytest.approx(expected.p_value, abs=1e-9)


def test_repeats_of_a_contract_widen_the_interval_of_the_restricted_mean() -> None:
    single = [Duration(one.seconds, one.succeeded, str(at)) for at, one in enumerate(made(1, 20))]
    repeated = [one for one in single for _ in range(5)]
    plain = [Duration(one.seconds, one.succeeded) for one in repeated]
    by_contract, by_run = restricted_mean(repeated, 20), restricted_mean(plain, 20)
    assert by_contract.value == pytest.approx(by_run.value)
    assert by_contract.high - by_contract.low > 1.5 * (by_run.high - by_run.low)


@pytest.mark.parametrize(
    ("durations", "word"),
    [
        ([], "no time"),
        ([Duration(math.nan, True)], "missing"),
        ([Duration(3, True)], "no run lasted 5 s"),
        ([Duration(6, False)], "no run succeeded"),
    ],
)
def test_bad_times_give_words(durations: list[Duration], word: str) -> None:
    found = restricted_mean(durations, 5)
    assert found.value is None
    assert word in found.why


def test_the_parts_of_contracts_add_up_to_observed_less_expected_successes() -> None:
    first, second = made(3), made(103, scale=15)
    (one, one_events), (two, two_events) = columns(first), columns(second)
    plain = log_rank(first, second)
    labelled = [
        [each._replace(cluster=str(at % 12)) for at, each in enumerate(side)] for side in (first, second)
    ]
    times = np.unique([t for t, died in zip([*one, *two], [*one_events, *two_events], strict=True) if died])
    risk = [np.array([sum(x >= t for x in side) for t in times]) for side in (one, two)]
    died = np.array([sum(d and x == t for x, d in (*first_two(first), *first_two(second))) for t in times])
    expected = sum(one_events) - float((died * risk[0] / (risk[0] + risk[1])).sum())
    parts = contract_parts(
        labelled[0], labelled[1], times, risk[0] / (risk[0] + risk[1]), died / (risk[0] + risk[1])
    )
    assert sum(parts.values()) == pytest.approx(expected, abs=1e-9)
    scale = 12 / 11 * sum(part**2 for part in parts.values())
    found = log_rank(*labelled)
    assert found.statistic == pytest.approx(expected**2 / scale, abs=1e-9)
    assert found.p == pytest.approx(2 * stats.t.sf(math.sqrt(found.statistic), 11), abs=1e-9)
    assert plain.statistic != found.statistic


@pytest.mark.parametrize("seed", range(3))
def test_the_log_rank_test_over_contracts_has_the_score_residuals_of_statsmodels(seed: int) -> None:
    """Lin and Wei: the score of a Cox model with the agent as its only covariate, at a coefficient of 0."""
    sides = labelled(seed, 60, 9), labelled(seed + 50, 60, 9, scale=15)
    everyone = [one for side in sides for one in side]
    agent = np.array([float(side) for side, runs in zip((1, 0), sides, strict=True) for _ in runs])
    seconds, succeeded = columns(everyone)
    model = PHReg(np.array(seconds), agent, np.array(succeeded, dtype=int), ties="breslow")
    residuals = np.nan_to_num(np.asarray(model.score_residuals(np.zeros(1))).reshape(-1))
    parts: dict[str, float] = {}
    for one, residual in zip(everyone, residuals, strict=True):
        parts[one.cluster] = parts.get(one.cluster, 0.0) + float(residual)
    variance = len(parts) / (len(parts) - 1) * sum(part**2 for part in parts.values())
    assert log_rank(*sides).statistic == pytest.approx(sum(parts.values()) ** 2 / variance, abs=1e-9)


def first_two(durations: list[Duration]) -> list[tuple[float, bool]]:
    return [(one.seconds, one.succeeded) for one in durations]


def test_the_log_rank_test_knows_that_repeats_of_a_contract_are_alike() -> None:
    """Two agents that are the same, contracts that are very different: about 5% of studies, and far more without contracts."""
    generator = random.Random(2)
    rejected = [0, 0]
    for _ in range(150):
        sides = [
            [
                Duration(generator.expovariate(rate), True, str(contract))
                for contract in range(16)
                for rate in [1 / 30 * math.exp(generator.gauss(0, 1.5))]
                for _ in range(4)
            ]
            for _ in range(2)
        ]
        rejected[0] += log_rank(*sides).p < 0.05
        rejected[1] += log_rank(*([one._replace(cluster="") for one in side] for side in sides)).p < 0.05
    assert 1 <= rejected[0] <= 16 < rejected[1]


def test_a_log_rank_test_without_a_comparison_gives_words() -> None:
    one = [Duration(1, True, "a"), Duration(2, True, "a")]
    assert "one contract" in log_rank(one, one).why
    assert "no time" in log_rank([], [Duration(1, True)]).why
    assert "no agent succeeds" in log_rank([Duration(1, False)], [Duration(2, False)]).why
    assert kaplan_meier([]) == []


def spent(seed: int, contracts: int = 30) -> list[Spending]:
    generator = random.Random(seed)
    return [Spending(generator.uniform(0.5, 3), generator.randint(0, 4), 4) for _ in range(contracts)]


@pytest.mark.parametrize("seed", range(4))
def test_both_ends_of_fiellers_interval_solve_its_equation(seed: int) -> None:
    rows = spent(seed)
    found = cost_per_success(rows)
    limit = stats.t.ppf(0.975, len(rows) - 1)
    for end in found.interval:
        rest = np.array([one.cost - end * one.successes for one in rows])
        t = rest.sum() / math.sqrt(len(rows) * rest.var(ddof=1))
        assert abs(t) == pytest.approx(limit, abs=1e-9)
    assert found.low < found.value < found.high


def test_without_enough_successes_the_interval_has_no_upper_end() -> None:
    found = cost_per_success([Spending(1.0, 1, 3), *[Spending(1.0 + at / 10, 0, 3) for at in range(9)]])
    assert found.high == math.inf
    assert found.to_json()["unbounded"] == ["high"]
    assert found.to_json()["high"] is None


def test_cost_for_each_success_without_a_success_or_a_cost_gives_words() -> None:
    assert "no success" in cost_per_success([Spending(1.0, 0), Spending(2.0, 0)]).why
    assert "1 of 2 contracts is not known" in cost_per_success([Spending(math.nan, 1), Spending(2.0, 1)]).why
    assert "one contract" in cost_per_success([Spending(1.0, 1)]).why
    free = cost_per_success([Spending(0.0, 1), Spending(0.0, 0), Spending(0.0, 2)])
    assert (free.value, free.interval, free.why) == (0.0, None, "no trial cost anything")


def test_the_bootstrap_of_the_ratio_is_near_fieller() -> None:
    rows = spent(5, 200)
    fieller = cost_per_success(rows)
    bootstrap = cluster_bootstrap(np.array([(one.cost, one.successes) for one in rows]), how=Resampling(4000))
    assert bootstrap.value == pytest.approx(fieller.value)
    assert bootstrap.interval == pytest.approx(fieller.interval, rel=0.03)


def test_a_bootstrap_whose_resamples_have_no_success_has_no_upper_end() -> None:
    rows = [(1.0, 1), *[(1.0 + at / 10, 0) for at in range(9)]]
    assert cluster_bootstrap(np.array(rows), how=Resampling(500)).high == math.inf


def test_an_agent_that_is_dearer_and_worse_is_not_on_the_front() -> None:
    def rows(cost: float, wins: int) -> dict[str, Spending]:
        return {str(at): Spending(cost, int(at < wins)) for at in range(20)}

    found = pareto_front({"good": rows(1.0, 15), "cheap": rows(0.1, 5), "bad": rows(2.0, 4)}, Resampling(500))
    assert {one.name: one.on_front for one in found.points} == {"good": True, "cheap": True, "bad": False}
    shares = {one.name: one.probability for one in found.points}
    assert shares["good"] > 0.95
    assert shares["bad"] < 0.05


def test_the_chance_to_be_on_the_front_is_that_of_all_resamples() -> None:
    """4 contracts have 256 resamples; 20,000 drawn ones know a share to 0.01."""
    draw = random.Random(3)
    agents = {
        name: {str(at): Spending(draw.uniform(0, 2), draw.randint(0, 3), 3) for at in range(4)}
        for name in ("a", "b", "c")
    }
    hits = dict.fromkeys(agents, 0)
    for chosen in itertools.product("0123", repeat=4):
        totals = {
            name: (sum(rows[at].cost for at in chosen), sum(rows[at].successes for at in chosen))
            for name, rows in agents.items()
        }
        for name, (cost, won) in totals.items():
            hits[name] += not any(
                other[0] <= cost and other[1] >= won and other != (cost, won) for other in totals.values()
            )
    found = pareto_front(agents, Resampling(20_000))
    assert {one.name: one.probability for one in found.points} == pytest.approx(
        {name: count / 256 for name, count in hits.items()}, abs=0.015
    )


def test_an_agent_without_a_known_cost_is_named_and_left_out_of_the_front() -> None:
    found = pareto_front({"a": {"x": Spending(1.0, 1)}, "b": {"x": Spending(math.nan, 1)}})
    assert [one.name for one in found.points] == ["a"]
    assert found.why == "cost is not known: b"
    assert pareto_front({"b": {}, "a": {}}).why == "no decided trial: a, b"
    assert "share no contract" in pareto_front({"a": {"x": Spending(1, 1)}, "b": {"y": Spending(1, 1)}}).why


def test_one_contract_with_successes_leaves_the_median_of_others_open() -> None:
    """The other contract's runs fail at once, so the influence of the first is 0, which is no certainty."""
    durations = [Duration(0.6, succeeded=True, cluster="a"), Duration(1.4, succeeded=True, cluster="a")]
    durations += [Duration(0.1, succeeded=False, cluster="b")] * 2
    assert [(one.low, one.high) for one in curve_steps(durations)] == [(0.0, 1.0), (0.0, 0.0)]
    assert median_time(durations).interval == (0.6, math.inf)
    mean = restricted_mean(durations, 1.0)
    assert mean.interval is None
    assert mean.why == "times do not vary between contracts"


@pytest.mark.parametrize("seed", range(3))
def test_contracts_that_fail_before_the_first_success_make_no_time_surer(seed: int) -> None:
    durations = [one._replace(seconds=one.seconds + 1) for one in labelled(seed, 30, 4)]
    early = [Duration(0.5, succeeded=False, cluster=f"early-{number}") for number in range(20)] * 2
    assert curve_steps([*durations, *early]) == curve_steps(durations)
    with_early, without = restricted_mean([*durations, *early], 15.0), restricted_mean(durations, 15.0)
    assert with_early.interval == pytest.approx(without.interval)
    assert with_early.n == without.n + 40


def test_runs_without_any_success_make_no_curve() -> None:
    assert curve_steps([Duration(1.0, succeeded=False, cluster=name) for name in "aabb"]) == []


def test_contracts_that_fail_before_the_first_success_leave_the_test_of_curves_as_it_is() -> None:
    first, second = (
        [one._replace(seconds=one.seconds + 1) for one in labelled(seed, 20, 5)] for seed in (1, 2)
    )
    early = [Duration(0.5, succeeded=False, cluster=f"early-{number}") for number in range(20)]
    found, without = log_rank([*first, *early], [*second, *early]), log_rank(first, second)
    assert found.p == pytest.approx(without.p)
    assert found.n == without.n + 40
