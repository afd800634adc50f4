# mypy: disable-error-code="operator, arg-type, misc"
"""Trials without a decision: bounds, imputation, fragile conclusions; and automatic labels against people's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.stats.clusters import Cluster, rate_over_contracts
from steelyard.stats.estimate import Estimate
from steelyard.stats.indeterminate import Counts, bounds, impute, is_fragile, pool
from steelyard.stats.labels import LabelledOutcome, label_errors
from steelyard.stats.proportion import clopper_pearson

COUNTS = st.lists(
    st.builds(Counts, st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=12
)


def test_the_bounds_count_undecided_trials_as_failures_and_as_successes() -> None:
    found = bounds([Counts(1, 1, 1), Counts(2, 0, 1)])
    assert (found.worst.value, found.best.value) == (3 / 6, 5 / 6)
    assert (found.undecided, found.trials) == (2, 6)


@settings(max_examples=30)
@given(COUNTS)
def test_the_primary_rate_and_the_imputed_one_lie_within_the_bounds(counts: list[Counts]) -> None:
    found, primary = bounds(counts), rate_over_contracts(one.decided for one in counts)
    imputed = impute(counts, 10)
    for one in (primary, imputed):
        if one.value is not None:
            assert found.worst.value - 1e-12 <= one.value <= found.best.value + 1e-12


@settings(max_examples=30)
@given(COUNTS)
def test_one_more_undecided_trial_never_narrows_the_bounds(counts: list[Counts]) -> None:
    more = [counts[0]._replace(undecided=counts[0].undecided + 1), *counts[1:]]
    before, after = bounds(counts), bounds(more)
    if before.trials:
        assert after.worst.value <= before.worst.value
        assert after.best.value >= before.best.value


def test_rubins_rules_give_the_published_numbers() -> None:
    """M = 3: mean 2, within 1, between 1: T = 1 + 4/3; Barnard and Rubin's degrees for 20 complete ones."""
    found = pool([1.0, 2.0, 3.0], [1.0, 1.0, 1.0], 20)
    assert found.value == 2
    assert found.variance == pytest.approx(7 / 3)
    missing = 4 / 7
    old, observed = 2 / missing**2, 21 / 23 * 20 * (1 - missing)
    assert found.degrees == pytest.approx(1 / (1 / old + 1 / observed), abs=1e-9)


def test_imputation_without_undecided_trials_is_the_plain_cluster_interval() -> None:
    counts = [Counts(3, 2), Counts(1, 4), Counts(5, 0), Counts(2, 3)]
    found, plain = impute(counts, 5), rate_over_contracts(one.decided for one in counts)
    assert found.value == pytest.approx(plain.value)
    assert found.interval == pytest.approx(plain.interval, abs=1e-9)
    assert impute(counts, 5) == found


def test_imputed_trials_succeed_as_often_as_their_contracts_and_their_agent_do() -> None:
    """The mean of Beta(s + 2p, f + 2(1 - p)) for each contract; 4,000 imputations know it to 0.003."""
    counts = [Counts(3, 1, 2), Counts(0, 4, 3), Counts(2, 2, 0), Counts(1, 0, 5)]
    rate = 6 / 13
    expected = sum(won + open_ * (won + 2 * rate) / (won + lost + 2) for won, lost, open_ in counts) / 23
    assert impute(counts, 4000).value == pytest.approx(expected, abs=0.005)


def test_imputation_where_every_decided_trial_failed_keeps_an_interval() -> None:
    found = impute([Counts(0, 3), *[Counts(0, 3, 1)] * 9])
    assert found.low < 0.1
    assert found.high > 0.2


def test_imputation_without_decided_trials_gives_words() -> None:
    assert "at least 2 contracts" in impute([Counts(0, 0, 3), Counts(1, 0, 1)]).why


def estimate(low: float, high: float) -> Estimate:
    return Estimate((low + high) / 2, low, high, "", 1)


def test_a_conclusion_that_the_bounds_do_not_share_is_fragile() -> None:
    assert is_fragile(estimate(0.1, 0.3), estimate(-0.1, 0.2), estimate(0.2, 0.4))
    assert not is_fragile(estimate(0.1, 0.3), estimate(0.05, 0.2), estimate(0.2, 0.4))
    assert is_fragile(estimate(-0.1, 0.3), estimate(-0.3, -0.1))


def test_false_rates_are_given_for_each_failure_mode_and_never_pooled() -> None:
    rows = [LabelledOutcome("build", accepted=False, correct=True)] * 2 + [
        LabelledOutcome("build", accepted=True, correct=True)
    ] * 8
    rows += [
        LabelledOutcome("scope", accepted=True, correct=False),
        LabelledOutcome("scope", accepted=False, correct=False),
    ]
    build, scope = label_errors(rows)
    assert (build.mode, scope.mode) == ("build", "scope")
    assert build.false_positive == clopper_pearson(2, 10)
    assert "labelled defective" in build.false_negative.why
    assert scope.false_negative.value == 0.5
    assert label_errors([]) == []


def test_the_json_of_an_estimate_has_no_number_that_json_does_not_have() -> None:
    made = Estimate(1.0, 0.5, math.inf, "m", 3).to_json()
    assert (made["high"], made["unbounded"]) == (None, ["high"])


def test_clusters_without_trials_do_not_count() -> None:
    assert rate_over_contracts([Cluster(0, 0), Cluster(1, 2)]).clusters == 1
