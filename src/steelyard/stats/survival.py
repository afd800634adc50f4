"""Times, some of them censored -> Kaplan-Meier curve, median, restricted mean, log-rank test (pure).

A run that did not succeed is censored when it ended: success would have taken longer than that, as far as is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from steelyard.stats.estimate import Estimate, check_level, count_missing, unknown

Floats = npt.NDArray[np.float64]
_NONE = 1e-24  # a variance that is rounding
_HALF = 0.5 + 1e-9  # the curve is a product of shares, which is exactly one half only up to rounding


class Duration(NamedTuple):
    """How long one run took, and whether it ended in success; `cluster` is its contract."""

    seconds: float
    succeeded: bool
    cluster: str = ""


class Step(NamedTuple):
    """At `time`: the share that has not succeeded by then, with its pointwise interval."""

    time: float
    survival: float
    low: float
    high: float
    at_risk: int
    events: int


def kaplan_meier(durations: Sequence[Duration], level: float = 0.95) -> list[Step]:
    """S(t) = prod(1 - d_i / n_i); Greenwood's variance; log(-log S) interval (Kalbfleisch and Prentice 1980)."""
    z = float(special.ndtri(0.5 + check_level(level) / 2))
    survival, hazard, steps = 1.0, 0.0, []
    for time, events, at_risk in _risk_table(durations):
        if not events:
            continue
        survival *= 1 - events / at_risk
        if at_risk > events:
            hazard += events / (at_risk * (at_risk - events))
        low, high = _log_log(survival, hazard, z)
        steps.append(Step(time, survival, low, high, at_risk, events))
    return steps


def _risk_table(durations: Sequence[Duration]) -> list[tuple[float, int, int]]:
    """(time, events, at risk just before), for each distinct time."""
    ordered = sorted(durations)
    table, at_risk, start = [], len(ordered), 0
    while start < len(ordered):
        end = start
        while end < len(ordered) and ordered[end].seconds == ordered[start].seconds:
            end += 1
        table.append((ordered[start].seconds, sum(one.succeeded for one in ordered[start:end]), at_risk))
        at_risk -= end - start
        start = end
    return table


def _log_log(survival: float, hazard: float, z: float) -> tuple[float, float]:
    if survival <= 0:
        return 0.0, 0.0
    spread = z * math.sqrt(hazard) / math.log(survival)
    ends = (survival ** math.exp(-spread), survival ** math.exp(spread))
    return min(ends), max(ends)


def median_time(durations: Sequence[Duration], level: float = 0.95) -> Estimate:
    """The first time at which at most half have not succeeded, with the interval of Brookmeyer and Crowley (1982).

    The interval has the times at which the pointwise log(-log S) interval contains one half. Its variance is Greenwood's. With
    repeats of several contracts it is the infinitesimal jackknife over contracts (Williams 1995), which is Greenwood's where
    each contract has one run, times m / (m - 1), with a t quantile of m - 1 degrees of freedom.
    """
    method = "median time to success (Kaplan-Meier), Brookmeyer-Crowley"
    if not durations:
        return unknown("there is no time", method=method)
    if count_missing(one.seconds for one in durations) or min(one.seconds for one in durations) < 0:
        return unknown("a time is missing, not finite or negative", method=method, n=len(durations))
    clusters = len({one.cluster for one in durations})
    steps = curve_steps(durations, level)
    value = next((step.time for step in steps if step.survival <= _HALF), None)
    if value is None:
        return unknown(
            "half of the trials have not succeeded by the longest time",
            method=method,
            n=len(durations),
            clusters=clusters,
        )
    low = next((step.time for step in steps if step.low <= 0.5), value)
    # Where no trial is left the variance says nothing, so the curve's last drop to 0 is no upper end.
    high = next((step.time for step in steps if step.high <= 0.5 and step.survival > 0), math.inf)
    assumptions = ("runs that end without success would have gone on like the others",)
    return Estimate(value, low, high, method, len(durations), clusters, assumptions, level)


def clusters_of(durations: Sequence[Duration]) -> list[str]:
    return sorted({one.cluster for one in durations})


def informative_runs(durations: Sequence[Duration]) -> list[Duration]:
    """Without runs that are censored before the first success.

    They change no step of the curve, and a contract that has no other run says nothing about how much the curve varies.
    """
    first = min((one.seconds for one in durations if one.succeeded), default=math.inf)
    return [one for one in durations if one.seconds >= first]


def curve_steps(durations: Sequence[Duration], level: float = 0.95) -> list[Step]:
    """The curve with intervals that know of contracts, where there are repeats of several."""
    informative = informative_runs(durations)
    if not informative or len(clusters_of(durations)) == 1:
        return kaplan_meier(durations, level)
    has_repeats = len(clusters_of(informative)) < len(informative)
    is_alone = len(clusters_of(informative)) == 1
    return clustered_steps(informative, level) if has_repeats or is_alone else kaplan_meier(durations, level)


def clustered_steps(durations: Sequence[Duration], level: float) -> list[Step]:
    """The curve with intervals that know of contracts: d log S / d weight of a contract, summed in squares.

    Of one contract, or where contracts do not vary, nothing is known of other contracts: the interval is 0 to 1.
    """
    ordered = sorted(durations)
    names = {name: number for number, name in enumerate(clusters_of(ordered))}
    of, seconds = (
        np.array([names[one.cluster] for one in ordered]),
        np.array([one.seconds for one in ordered]),
    )
    count = len(names)
    at_risk_of, influence = np.bincount(of, minlength=count).astype(float), np.zeros(count)
    t = float(special.stdtrit(max(1, count - 1), 0.5 + check_level(level) / 2))
    survival, start, steps = 1.0, 0, []
    for time, events, at_risk in _risk_table(ordered):
        end = int(np.searchsorted(seconds, time, side="right"))
        if events:
            succeeded = [of[at] for at in range(start, end) if ordered[at].succeeded]
            died = np.bincount(succeeded, minlength=count)
            survival *= 1 - events / at_risk
            if at_risk > events:
                influence -= (died - events * at_risk_of / at_risk) / (at_risk - events)
            variance = count / max(1, count - 1) * float(influence @ influence)
            ends = (0.0, 1.0) if survival > 0 and variance <= _NONE else _log_log(survival, variance, t)
            steps.append(Step(time, survival, *ends, at_risk, events))
        at_risk_of -= np.bincount(of[start:end], minlength=count)
        start = end
    return steps


def restricted_mean(
    durations: Sequence[Duration], horizon: float | None = None, level: float = 0.95
) -> Estimate:
    """The area under the curve up to `horizon`: the mean time to success, counted at most to there (Royston, Parmar 2013).

    Variance: sum over events of (area from t to the horizon)^2 * d / (n * (n - d)). With several contracts it is the
    jackknife over contracts, with a t quantile. Without a horizon it is the longest time observed.
    """
    method = "restricted mean time to success (Kaplan-Meier)"
    if not durations:
        return unknown("there is no time", method=method)
    if count_missing(one.seconds for one in durations) or min(one.seconds for one in durations) < 0:
        return unknown("a time is missing, not finite or negative", method=method, n=len(durations))
    longest = max(one.seconds for one in durations)
    limit = longest if horizon is None else horizon
    if limit > longest:
        return unknown(
            f"no run lasted {limit:g} s; the longest took {longest:g} s", method=method, n=len(durations)
        )
    if not any(one.succeeded for one in durations):
        return unknown("no run succeeded, so no time to success is known", method=method, n=len(durations))
    n, clusters = len(durations), len(clusters_of(durations))
    value, half = area(durations, limit), _area_half(durations, limit, level)
    method += ", jackknife over contracts" if clusters > 1 else ""
    assumptions = (
        f"times are counted up to {limit:g} s",
        "runs that end without success would have gone on like the others",
    )
    if half <= 1e-12 * max(1.0, value):
        why = "times do not vary between contracts" if clusters > 1 else "times do not vary"
        return Estimate(value, None, None, method, n, clusters, assumptions, level, why)
    return Estimate(
        value, max(0.0, value - half), min(limit, value + half), method, n, clusters, assumptions, level
    )


def _area_half(durations: Sequence[Duration], limit: float, level: float) -> float:
    """Half the width of the interval; 0 where nothing is known of how much times vary, or of other contracts."""
    if len(clusters_of(durations)) == 1:
        quantile = float(special.ndtri(0.5 + check_level(level) / 2))
        return quantile * math.sqrt(_area_variance(durations, limit))
    informative = informative_runs(durations)
    clusters = clusters_of(informative)
    return _jackknife_half(informative, clusters, limit, level) if len(clusters) > 1 else 0.0


def area(durations: Sequence[Duration], limit: float) -> float:
    """Under the Kaplan-Meier curve between 0 and `limit`."""
    seconds, succeeded = _arrays(durations)
    return _area(seconds, succeeded, limit)


def _arrays(durations: Sequence[Duration]) -> tuple[Floats, Floats]:
    table = np.array([(one.seconds, one.succeeded) for one in durations], dtype=float).reshape(-1, 2)
    table = table[table[:, 0].argsort(kind="stable")]
    return table[:, 0], table[:, 1]


def _area(seconds: Floats, succeeded: Floats, limit: float) -> float:
    """`seconds` are sorted."""
    times, first = np.unique(seconds, return_index=True)
    events = np.add.reduceat(succeeded, first) if len(first) else np.zeros(0)
    survival = np.cumprod(1 - events / (len(seconds) - first))
    inside = times < limit
    ends = np.concatenate([[0.0], times[inside], [limit]])
    return float((np.concatenate([[1.0], survival[inside]]) * np.diff(ends)).sum())


def _area_variance(durations: Sequence[Duration], limit: float) -> float:
    steps = [step for step in kaplan_meier(durations) if step.time < limit]
    total, rest = 0.0, 0.0
    for at in range(len(steps) - 1, -1, -1):
        step = steps[at]
        until = steps[at + 1].time if at + 1 < len(steps) else limit
        rest += step.survival * (until - step.time)
        if step.at_risk > step.events:
            total += rest**2 * step.events / (step.at_risk * (step.at_risk - step.events))
    return total


def _jackknife_half(
    durations: Sequence[Duration], clusters: Sequence[str], limit: float, level: float
) -> float:
    count = len(clusters)
    ordered = sorted(durations)
    seconds, succeeded = _arrays(ordered)
    numbers = {name: number for number, name in enumerate(clusters)}
    of = np.array([numbers[one.cluster] for one in ordered])
    left_out = []
    for number in range(count):
        kept = of != number
        left_out.append(_area(seconds[kept], succeeded[kept], limit))
    mean = math.fsum(left_out) / count
    variance = (count - 1) / count * math.fsum((one - mean) ** 2 for one in left_out)
    return float(special.stdtrit(count - 1, 0.5 + check_level(level) / 2)) * math.sqrt(variance)


class LogRank(NamedTuple):
    statistic: float | None
    p: float | None
    n: int
    why: str = ""


def log_rank(first: Sequence[Duration], second: Sequence[Duration]) -> LogRank:
    """Mantel's test (1966) that both have the same curve: (O - E)^2 / V, chi-squared with 1 degree of freedom.

    With contracts V is the sum over contracts of the squares of their parts of O - E (Lin and Wei 1989), times m / (m - 1),
    and the statistic is the square of a t with m - 1 degrees of freedom: runs of one contract are one cluster, of both agents.
    Runs that are censored before the first success have no part, and their contracts do not count.
    """
    everyone = [*first, *second]
    if not first or not second:
        return LogRank(None, None, len(everyone), "one of the agents has no time")
    if count_missing(one.seconds for one in everyone):
        return LogRank(None, None, len(everyone), "a time is missing or not finite")
    (one, one_succeeded), (two, two_succeeded) = _arrays(first), _arrays(second)
    times = np.unique(np.concatenate([one[one_succeeded > 0], two[two_succeeded > 0]]))
    risk_one, risk_two = (len(each) - np.searchsorted(each, times) for each in (one, two))
    died_one, died_two = _died(one, one_succeeded, times), _died(two, two_succeeded, times)
    risk, died = risk_one + risk_two, died_one + died_two
    share = risk_one / risk
    difference = float((died_one - died * share).sum())
    parts = died * share * (1 - share) * (risk - died) / np.maximum(risk - 1, 1)
    variance = float(parts.sum())
    if variance == 0:
        return LogRank(None, None, len(everyone), "no agent succeeds while both still run")
    if any(run.cluster for run in everyone):
        of_first, of_second = ([run for run in side if run.seconds >= times[0]] for side in (first, second))
        parts_of = contract_parts(of_first, of_second, times, share, died / risk)
        return _between_contracts(list(parts_of.values()), len(everyone))
    statistic = difference**2 / variance
    return LogRank(statistic, float(special.chdtrc(1, statistic)), len(everyone))


def _between_contracts(parts: Sequence[float], n: int) -> LogRank:
    count = len(parts)
    if count < 2:
        return LogRank(None, None, n, "one contract says nothing about others")
    variance = count / (count - 1) * math.fsum(part**2 for part in parts)
    if variance <= _NONE:
        return LogRank(None, None, n, "contracts do not vary")
    statistic = math.fsum(parts) ** 2 / variance
    return LogRank(statistic, 2 * float(special.stdtr(count - 1, -math.sqrt(statistic))), n)


def contract_parts(
    first: Sequence[Duration], second: Sequence[Duration], times: Floats, share: Floats, hazard: Floats
) -> dict[str, float]:
    """What each contract adds to O - E: sum over its runs of (g - e(x)) d - sum_{t <= x} (g - e(t)) h(t); g is 1 for `first`."""
    hazards, weighted = (np.concatenate([[0.0], part.cumsum()]) for part in (hazard, hazard * share))
    found: dict[str, float] = {}
    for group, runs in ((1.0, first), (0.0, second)):
        for run in runs:
            until = int(np.searchsorted(times, run.seconds, side="right"))
            part = weighted[until] - group * hazards[until]
            if run.succeeded:
                part += group - share[until - 1]
            found[run.cluster] = found.get(run.cluster, 0.0) + float(part)
    return found


def _died(seconds: Floats, succeeded: Floats, times: Floats) -> Floats:
    """How many succeed at each of the times."""
    died: Floats = np.bincount(np.searchsorted(times, seconds[succeeded > 0]), minlength=len(times)).astype(
        float
    )
    return died
