"""Trials and numbers of a study -> what was spent along the way, and how sure a comparison would be with more contracts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from steelyard.report.study_summary.comparisons import NOT_COMPARABLE
from steelyard.report.study_summary.model import AgentComparison, AgentNumbers, Burn, PowerCurve
from steelyard.report.study_summary.trial_record import TrialRecord
from steelyard.stats.design.power import Design, power_curve

MOST_POINTS = 200
FACTORS = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8)
USUAL_ICC = 0.2  # where the records do not tell


def burn_of(runs: Sequence[TrialRecord]) -> tuple[Burn, ...]:
    """For each agent the cost after each of its runs, retries included, in their order; unknown costs are counted, not added."""
    points: dict[str, list[tuple[int, float]]] = {}
    unknown: dict[str, int] = {}
    for one in runs:
        each = points.setdefault(one.agent, [(0, 0.0)])
        count, spent = each[-1]
        each.append((count + 1, spent + (one.cost_usd or 0.0)))
        unknown[one.agent] = unknown.get(one.agent, 0) + (one.cost_usd is None)
    return tuple(Burn(agent, _thin(each), unknown[agent]) for agent, each in points.items())


def _thin(points: list[tuple[int, float]]) -> tuple[tuple[int, float], ...]:
    step = max(1, len(points) // MOST_POINTS)
    return (*points[:-1:step], points[-1])


def power_of(
    agents: Sequence[AgentNumbers], comparisons: Sequence[AgentComparison]
) -> tuple[PowerCurve, ...]:
    """For each comparison that was made, the chance to see the difference that was found, if it is the true one, by number of contracts."""
    by_name = {one.agent: one for one in agents}
    found = []
    for comparison in comparisons:
        if comparison.conclusion == NOT_COMPARABLE:
            continue
        curve = _curve(by_name[comparison.first], by_name[comparison.second], comparison.contracts)
        if curve is not None:
            found.append(curve)
    return tuple(found)


def _curve(first: AgentNumbers, second: AgentNumbers, contracts: int) -> PowerCurve | None:
    rates = first.success.value, second.success.value
    if rates[0] is None or rates[1] is None or rates[0] == rates[1] or contracts < 2:
        return None
    known = [one.icc.value for one in (first, second) if one.icc.value is not None]
    icc = min(1.0, math.fsum(known) / len(known)) if known else USUAL_ICC
    repeats = max(1, round(first.trials / max(1, first.contracts)))
    counts = sorted({max(2, round(contracts * factor)) for factor in FACTORS})
    try:
        design = Design(rates[0], rates[1], contracts, repeats, icc)
        points = tuple(power_curve(design, counts))
    except ValueError:  # rates that no design can have
        return None
    assumed = (
        "the rates found here are the true ones",
        "1 repeat" if repeats == 1 else f"{repeats} repeats",
        f"intra-contract correlation {icc:.2f}",
        f"the agents find the same contracts hard with share {design.pairing:g}",
    )
    return PowerCurve(first.agent, second.agent, contracts, points, assumed)
