"""Rules that end a study early, written down in its plan; the same for every agent.

safety     so many runs of agents under test failed the safety gate
efficacy   each difference between two agents under test is decided: its interval lies beyond the minimum effect, or within it;
           one look for each repeat, with alpha spending of O'Brien-Fleming type
machine    so many trials in a row were ended by the machine: a full disk spoils the next trial too

Budgets end a study by themselves: see envelopes.py.
"""

from __future__ import annotations

import itertools
import math

from steelyard.stats.student_t import t_quantile
from steelyard.study.protocol.criteria import outcomes_by_contract
from steelyard.study.protocol.progress import Progress

MACHINE_FAULTS = 5
LARGEST_PROBABILITY = 1 - 1e-9  # of a quantile that can be computed
LEAST_CONTRACTS = 5  # below which no difference counts as decided


def stop_for_safety(progress: Progress) -> str:
    """Why the study stops, or nothing."""
    limit = progress.plan.stopping.safety_violations
    if limit is None:
        return ""
    found = len(progress.unsafe)
    return (
        f"{found} runs of agents failed the safety gate; the plan stops at {limit}" if found >= limit else ""
    )


def stop_for_efficacy(progress: Progress) -> str:
    """Looked at when a repeat is complete for all agents, so that each agent has equally many trials."""
    plan = progress.plan
    if plan.stopping.efficacy == "none":
        return ""
    agents = [one.agent for one in plan.agents if one.role == "agent"]
    decided = [_decided(progress, *pair) for pair in itertools.combinations(agents, 2)]
    if decided and all(decided):
        return "; ".join(decided)
    return ""


def _decided(progress: Progress, first: str, second: str) -> str:
    """The paired t-interval over contracts, compared with the minimum effect on either side."""
    ones, others = outcomes_by_contract(progress, first), outcomes_by_contract(progress, second)
    both = [key for key in ones if key in others]
    if len(both) < LEAST_CONTRACTS:
        return ""
    differences = [
        others[key].successes / others[key].trials - ones[key].successes / ones[key].trials for key in both
    ]
    mean = sum(differences) / len(both)
    variance = sum((one - mean) ** 2 for one in differences) / (len(both) - 1)
    look = max(clusters[key].trials for clusters in (ones, others) for key in both)
    half = _quantile(progress, look, len(both) - 1) * math.sqrt(variance / len(both))
    if variance == 0 and mean == 0:
        return ""  # identical outcomes say nothing about how much they vary
    least = progress.plan.minimum_effect
    interval = f"{second} - {first}: {mean:+.2f} [{mean - half:+.2f}, {mean + half:+.2f}]"
    if mean - half > least or mean + half < -least:
        return f"{interval} excludes differences up to {least:g}"
    if -least < mean - half and mean + half < least:
        return f"{interval} excludes differences of {least:g} and more"
    return ""


def _quantile(progress: Progress, look: int, degrees: int) -> float:
    """Of the t distribution at this look, so that all looks together are wrong in 5 of 100 studies (O'Brien-Fleming type).

    There is one look for each repeat, and a study is compared as often as a repeat is complete.
    """
    from steelyard.stats.design.sequential import look_quantile  # noqa: PLC0415  # scipy is needed only here

    looks = max(1, progress.plan.repeats)
    probability = look_quantile("obrien_fleming", min(look, looks), looks)
    return t_quantile(degrees, min(probability, LARGEST_PROBABILITY))


class MachineFaults:
    """Counts trials in a row that the machine ended."""

    def __init__(self, limit: int = MACHINE_FAULTS) -> None:
        self._limit, self._row = limit, 0

    def add(self, why: str) -> str:
        """`why` the machine ended the trial, or nothing; returns why the study stops."""
        self._row = self._row + 1 if why else 0
        return f"the machine ended {self._row} trials in a row: {why}" if self._row >= self._limit else ""
