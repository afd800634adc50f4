"""Trials that pass all gates -> mean quality, under the contract's weights or under others.

A trial's quality is the weighted mean of its known dimensions, as the verdict computes it; a dimension that is not known has
no weight. Dimensions and their scores are those of the sealed result: nothing is graded again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from steelyard.report.study_summary.model import QualityUnder
from steelyard.report.study_summary.trial_record import TrialRecord, by_contract
from steelyard.stats.bounded_mean import bounded_mean
from steelyard.stats.estimate import Estimate, unknown


def mean_quality(
    records: Sequence[TrialRecord], value: Callable[[TrialRecord], float | None] = lambda one: one.quality
) -> Estimate:
    """Mean over contracts, only of trials that pass all gates and have a quality."""
    passing = [one for one in records if one.passes_all_gates and value(one) is not None]
    if not passing:
        return unknown("no trial that passes all gates has a quality", method="mean over contracts")
    means = [
        math.fsum(value(one) or 0.0 for one in each) / len(each) for each in by_contract(passing).values()
    ]
    return bounded_mean(means, len(passing), "quality of trials that pass all gates")


def quality_under(one: TrialRecord, weights: Mapping[str, float]) -> float | None:
    """With other weights of some dimensions; the others keep theirs. None where no dimension with a weight is known."""
    known = [
        (weights.get(name, weight), score)
        for name, (weight, score) in one.quality_dimensions.items()
        if score is not None
    ]
    total = math.fsum(weight for weight, _ in known)
    return math.fsum(weight * score for weight, score in known) / total if total > 0 else None


def weight_sensitivity(records: Sequence[TrialRecord]) -> tuple[QualityUnder, ...]:
    """The quality with all weight on one dimension, for each; nothing where there are fewer than two."""
    names = sorted({name for one in records if one.passes_all_gates for name in one.quality_dimensions})
    if len(names) < 2:
        return ()

    def only(name: str) -> Estimate:
        weights = {other: float(other == name) for other in names}
        return mean_quality(records, lambda one: quality_under(one, weights))

    return tuple(QualityUnder(name, only(name)) for name in names)


def order_note(agents: Mapping[str, Sequence[TrialRecord]]) -> str:
    """Whether the order of agents by quality depends on the weights; "" where there is nothing to order."""
    found = {name: weight_sensitivity(each) for name, each in agents.items()}
    dimensions = sorted({one.dimension for each in found.values() for one in each})
    orders = {}
    for dimension in dimensions:
        values = {
            name: one.quality.value
            for name, each in found.items()
            for one in each
            if one.dimension == dimension and one.quality.value is not None
        }
        orders[dimension] = tuple(sorted(values, key=lambda name: (-(values[name] or 0.0), name)))
    if len(agents) < 2 or len(orders) < 2 or max(map(len, orders.values())) < 2:
        return ""
    if len(set(orders.values())) == 1:
        return "the order of agents by quality is the same whichever dimension has all the weight"
    listed = "; ".join(f"{name}: {', '.join(order)}" for name, order in orders.items())
    return f"the order of agents by quality depends on the weights ({listed})"
