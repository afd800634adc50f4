"""Numbers of a summary -> words: `62% [48%, 74%]`, `$0.12`, `unknown`. A number that is not known has no digits."""

from __future__ import annotations

import math
from collections.abc import Iterable

from steelyard.report.percent import amount, percent
from steelyard.report.study_summary.model import CountedRate, Spread
from steelyard.report.terminal import seconds
from steelyard.stats.estimate import Estimate
from steelyard.stats.indeterminate import Bounds


def rate(estimate: Estimate) -> str:
    """`62% [48%, 74%]`."""
    if estimate.value is None:
        return "unknown"
    if estimate.low is None or estimate.high is None:
        return f"{percent(estimate.value)} [no interval]"
    return f"{percent(estimate.value)} [{percent(estimate.low)}, {percent(estimate.high)}]"


def rate_of(estimate: Estimate, noun: str = "trial") -> str:
    """`62% [48%, 74%] of 40 trials`."""
    return f"{rate(estimate)} of {amount(estimate.n, noun)}" if estimate.value is not None else rate(estimate)


def bounds_words(bounds: Bounds) -> str:
    """`44% [33%, 55%] to 51% [40%, 63%]`."""
    return f"{rate(bounds.worst)} to {rate(bounds.best)}"


def format_count(one: CountedRate) -> str:
    """`3 of 40`."""
    return f"{one.count:,} of {one.of:,}"


def dollars(value: float | None) -> str:
    if value is None:
        return "unknown"
    if math.isinf(value):
        return "no limit"
    if 0 < value < 0.00005:
        return "<$0.0001"
    return f"${value:,.2f}" if value >= 0.1 or value == 0 else f"${value:.4f}"


def money(estimate: Estimate) -> str:
    """`$0.42 [$0.30, $0.71]`; an interval without an upper end says so."""
    if estimate.value is None:
        return f"unknown ({estimate.why})" if estimate.why else "unknown"
    if estimate.low is None or estimate.high is None:
        return f"{dollars(estimate.value)} [no interval]"
    return f"{dollars(estimate.value)} [{dollars(estimate.low)}, {dollars(estimate.high)}]"


def with_n(words: str, estimate: Estimate) -> str:
    """`$0.42 [$0.30, $0.71], n=40`."""
    return f"{words}, n={estimate.n:,}" if estimate.value is not None and estimate.n else words


def mean_money(spread: Spread) -> str:
    """`$0.42 [$0.30, $0.71], n=38, 2 unknown`."""
    return money(spread.mean) + _known(spread)


def mean_time(spread: Spread) -> str:
    """`12s [10s, 15s], n=38, 2 unknown`: the mean over contracts."""
    return time_estimate(spread.mean) + _known(spread)


def mean_count(spread: Spread) -> str:
    mean = spread.mean
    if mean.value is None:
        return "unknown"
    ends = "no interval" if mean.low is None or mean.high is None else f"{mean.low:,.0f}, {mean.high:,.0f}"
    return f"{mean.value:,.0f} [{ends}]{_known(spread)}"


def _known(spread: Spread) -> str:
    known = f", n={spread.known:,}" if spread.mean.value is not None else ""
    return known + (f", {spread.unknown:,} unknown" if spread.unknown else "")


def without_interval(estimates: Iterable[Estimate]) -> tuple[str, ...]:
    """A line for each reason why a value has no interval."""
    reasons = dict.fromkeys(one.why for one in estimates if one.value is not None and one.interval is None)
    return tuple(f"no interval: {why}" for why in reasons if why)


def time_estimate(estimate: Estimate) -> str:
    """`12s [10s, 15s]`; an interval without an upper end says so."""
    if estimate.value is None:
        return f"unknown ({estimate.why})" if estimate.why else "unknown"
    if estimate.low is None or estimate.high is None:
        return f"{seconds(estimate.value)} [no interval]"
    high = "no limit" if math.isinf(estimate.high) else seconds(estimate.high)
    return f"{seconds(estimate.value)} [{seconds(estimate.low)}, {high}]"


def p_value(p: float | None) -> str:
    if p is None:
        return "not tested"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
