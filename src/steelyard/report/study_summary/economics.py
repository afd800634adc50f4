"""Cost, tokens and times of trials -> distributions and cost for each success; what is not known is counted, never zero."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from steelyard.report.study_summary.model import Economics, Pareto, ParetoPoint, Spread
from steelyard.report.study_summary.trial_record import TrialRecord, by_contract, rate_of
from steelyard.stats.bootstrap import Resampling
from steelyard.stats.clustered_mean import clustered_mean
from steelyard.stats.cost import Spending, cost_per_success, pareto_front
from steelyard.stats.estimate import Estimate, unknown

RESAMPLING = Resampling(2000)  # of contracts, for the front of cost and success


def economics(records: Sequence[TrialRecord]) -> Economics:
    successes = [one for one in records if one.category == "success"]
    failures = [one for one in records if one.category == "failure"]
    minutes = [one.context.human_minutes for one in records if one.context]
    measured = [one for one in minutes if one is not None]
    return Economics(
        cost_usd=spread([one.cost_usd for one in records], records),
        cost_per_success=cost_per_success(list(spending(records).values())),
        tokens=spread([one.tokens for one in records], records),
        wall_s_success=spread([one.wall_s for one in successes], successes),
        wall_s_failure=spread([one.wall_s for one in failures], failures),
        working_s=spread([one.working_s for one in records], records),
        acceptance_s=spread([one.acceptance_s for one in records], records),
        overhead_s=spread([_overhead(one) for one in records], records),
        human_minutes=math.fsum(measured) if measured else None,
    )


def _overhead(record: TrialRecord) -> float | None:
    if record.wall_s is None or record.working_s is None or record.acceptance_s is None:
        return None
    return max(0.0, record.wall_s - record.working_s - record.acceptance_s)


def spending(records: Sequence[TrialRecord]) -> dict[str, Spending]:
    """Cost, successes and trials of each contract; NaN where the cost of a trial is not known."""
    return {
        digest: Spending(
            math.fsum(math.nan if one.cost_usd is None else one.cost_usd for one in each),
            sum(one.succeeded for one in each),
            len(each),
        )
        for digest, each in by_contract(records).items()
    }


def spread(values: Sequence[float | None], records: Sequence[TrialRecord]) -> Spread:
    """One value for each record. The interval of the mean is over contracts, with a t quantile."""
    known = [value for value in values if value is not None]
    if not known:
        why = "no value is known" if values else "there is no trial"
        return Spread(unknown(why, method="mean"), None, None, None, None, 0, len(values))
    low, middle, high = (float(value) for value in np.quantile(known, (0.25, 0.5, 0.75)))
    return Spread(
        _mean(values, records), middle, low, high, math.fsum(known), len(known), len(values) - len(known)
    )


def _mean(values: Sequence[float | None], records: Sequence[TrialRecord]) -> Estimate:
    groups: dict[str, list[float]] = {}
    for value, one in zip(values, records, strict=True):
        if value is not None:
            groups.setdefault(one.digest, []).append(value)
    return clustered_mean(list(groups.values()))


def pareto_of(agents: dict[str, list[TrialRecord]]) -> Pareto:
    """Over decided trials: what has no decision is no failure."""
    decided = {name: [one for one in records if one.is_decided] for name, records in agents.items()}
    found = pareto_front({name: spending(records) for name, records in decided.items()}, RESAMPLING)
    shared = (
        set.intersection(*({one.digest for one in decided[each.name]} for each in found.points))
        if found.points
        else set()
    )
    points = []
    for each in found.points:
        over = [one for one in decided[each.name] if one.digest in shared]
        cost, success = _mean([one.cost_usd for one in over], over), rate_of(over, lambda one: one.succeeded)
        points.append(
            ParetoPoint(each.name, each.cost, each.rate, each.on_front, each.probability, cost, success)
        )
    return Pareto(tuple(points), found.contracts, found.method, found.why)
