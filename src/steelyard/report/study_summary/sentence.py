"""A comparison -> the one sentence that a decision needs."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.report.percent import amount, end_points, signed_points
from steelyard.report.study_summary.model import AgentComparison
from steelyard.stats.compare.pairs import Pair
from steelyard.stats.estimate import Estimate

USUAL = 0.95
MOST_NAME, NAME_END = 60, 20  # characters of an agent's name


def comparison_sentence(one: AgentComparison, pairs: Sequence[Pair]) -> str:
    """`B solves more than A: +9 points [2, 16], 40 contracts, 3 repeats; 4 undecided trials would not change this`."""
    first, second, difference = short_name(one.first), short_name(one.second), one.difference
    if difference.value is None:
        without = f"; {amount(one.undecided, 'trial')} without a decision" if one.undecided else ""
        return f"cannot tell {second} from {first}: {difference.why}{without}"
    size = f"{points(difference)}, {amount(len(pairs), 'contract')}, {_repeats(pairs)}"
    if one.conclusion == "better":
        head = f"{second} solves more than {first}: {size}"
    elif one.conclusion == "worse":
        head = f"{second} solves less than {first}: {size}"
    elif difference.value == 0 and len(pairs) > 1:
        head = f"no difference between {second} and {first} is seen: {size}; more trials like these would narrow the interval"
    else:
        head = f"cannot tell {second} from {first} yet: {size}{_missing(pairs, one.more_contracts)}"
    return head + _left_out(one) + _undecided(one)


def among_others(one: AgentComparison) -> str:
    """What a sentence that decides something adds, where the number of comparisons leaves less of it."""
    if not one.is_decided or one.is_claimed:
        return ""
    if one.p_holm is None:
        return f"; by itself only: it is one of {one.family} comparisons, which nothing adjusts for"
    return f"; by itself only: it does not hold among {one.family} comparisons (Holm p = {one.p_holm:.2g})"


def points(difference: Estimate, *, is_short: bool = False) -> str:
    """`+9 points [2, 16]`; where it is one of several looks the level too, and that it is, unless a sentence beside it says so."""
    if difference.value is None:
        return "unknown"
    if difference.low is None or difference.high is None:
        return f"{signed_points(difference.value)} points [no interval]"
    low, high = end_points(difference.low), end_points(difference.high)
    level = (
        ""
        if difference.level == USUAL
        else f" ({'' if is_short else 'one of several looks: '}{100 * difference.level:.4g}% interval)"
    )
    if difference.method.startswith("anytime"):
        level = " (valid at every look)"
    return f"{signed_points(difference.value)} points [{low}, {high}]{level}"


def short_name(name: str) -> str:
    """As much of a name as a sentence bears: its beginning and its end, for names often differ at the end."""
    if len(name) <= MOST_NAME:
        return name
    return f"{name[: MOST_NAME - NAME_END - 1]}…{name[-NAME_END:]}"


def _repeats(pairs: Sequence[Pair]) -> str:
    sizes = {one.trials for pair in pairs for one in pair}
    least, most = min(sizes), max(sizes)
    return amount(most, "repeat") if least == most else f"{least} to {most} repeats"


def _missing(pairs: Sequence[Pair], more: int | None) -> str:
    if len(pairs) < 2:
        return "; one contract says nothing about others"
    if more is None:
        return "; more contracts would narrow the interval"
    trials = sum(one.trials for pair in pairs for one in pair)
    needed = max(1, round(more * trials / len(pairs)))
    return f"; about {needed:,} more trials ({amount(more, 'more contract')}) would decide if the difference stays so"


def _left_out(one: AgentComparison) -> str:
    """Contracts that make no pair, because one agent has no decided trial on them."""
    apart = len(one.only_first) + len(one.only_second)
    return f"; without {amount(apart, 'contract')} that only one agent has decided trials on" if apart else ""


def _undecided(one: AgentComparison) -> str:
    if not one.undecided:
        return ""
    trials = amount(one.undecided, "undecided trial")
    if one.is_fragile:
        return f"; fragile: {trials} could change this"
    return (
        f"; {trials} would not change this"
        if one.conclusion != "undecided"
        else f"; {trials} would not settle it"
    )
