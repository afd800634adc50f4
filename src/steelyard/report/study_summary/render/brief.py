"""`StudySummary` -> the page that a decision needs: which agent is better, rates, failure modes, cost, what to be careful about."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from steelyard.report.percent import amount
from steelyard.report.study_summary.model import (
    MOST_COMPARED,
    AgentComparison,
    AgentNumbers,
    CountedRate,
    Spread,
    StudySummary,
)
from steelyard.report.study_summary.render.tables import COST, SECTIONS, Section, envelope_line, sections
from steelyard.report.study_summary.render.words import (
    dollars,
    format_count,
    mean_money,
    mean_time,
    money,
    with_n,
    without_interval,
)

MOST_SENTENCES = 5
MOST_NAMES = 3  # agents of a failure mode
MOST_SINGLE = 12  # agents of one trial, of each outcome
MOST_MODES = 10
MOST_COSTS = 15


def is_single(one: AgentNumbers) -> bool:
    """One trial has an outcome, but no rate that is worth its interval. Several trials without a decision are not that."""
    return one.trials <= 1


def agents_with_rate(agents: Sequence[AgentNumbers]) -> tuple[AgentNumbers, ...]:
    """The agents whose rate is shown with its interval: all but those of one trial, if there are several of those."""
    several = sum(map(is_single, agents)) > 1
    return tuple(one for one in agents if not (several and is_single(one)))


def decision(summary: StudySummary) -> Iterator[str]:
    """One sentence for each comparison, those that decide something first."""
    found = by_decision(summary)
    yield from (one.sentence for one in found[:MOST_SENTENCES])
    if why := not_compared(summary):
        yield why
    if more := len(found) - MOST_SENTENCES:
        yield from [f"{amount(more, 'comparison')} more: --section comparisons"] if more > 0 else ()


def by_decision(summary: StudySummary) -> list[AgentComparison]:
    """First what is decided also as one of several comparisons."""
    return sorted(summary.comparisons, key=lambda one: (not one.is_claimed, one.conclusion == "undecided"))


def not_compared(summary: StudySummary) -> str:
    """Where agents are too many to compare all pairs; other reasons make the numbers provisional, and stand there."""
    agents = sum(not one.is_baseline for one in summary.agents)
    if summary.comparisons or agents <= MOST_COMPARED:
        return ""
    return f"{agents} agents are too many to compare each with each: `steelyard compare A B` compares two of them"


def brief_sections(summary: StudySummary) -> Iterator[Section]:
    """What stands below the leaderboard."""
    if summary.ranking.acceptance_errors != "none":  # asked for: by default no agent is ranked
        yield from sections(summary, ["ranking"])
    yield from _singles(summary.agents)
    yield from _modes(summary.agents)
    yield _cost(summary.agents)
    if (charged := summary.envelope) and (charged["total_usd"] is not None or charged["spent_usd"]):
        yield Section("Budget", lines=(envelope_line(charged),))
    if warnings := tuple(_warnings(summary)):
        yield Section("To be careful about", lines=warnings)


def more_line(summary: StudySummary) -> str:
    """How to see the rest."""
    names = ", ".join(name for name in SECTIONS if [*sections(summary, [name])])
    return f"more: --full, or --section NAME: {names}; --html FILE draws it"


def _singles(agents: Sequence[AgentNumbers]) -> Iterator[Section]:
    shown = agents_with_rate(agents)
    single = [one for one in agents if one not in shown]
    if not single:
        return
    by_outcome: dict[str, list[str]] = {each.name.replace("_", " "): [] for each in agents[0].categories}
    for one in single:
        outcome = next((each.name for each in one.categories if each.count), "invalid")
        by_outcome.setdefault(outcome.replace("_", " "), []).append(one.agent)
    yield Section(
        f"{amount(len(single), 'agent')} with one trial each: outcomes, no rates",
        lines=tuple(
            f"{name} ({len(names)}): {_names(names, MOST_SINGLE)}"
            for name, names in by_outcome.items()
            if names
        ),
    )


def _modes(agents: Sequence[AgentNumbers]) -> Iterator[Section]:
    """By mode, the most frequent first: who showed it, and how often."""
    found: dict[str, list[tuple[AgentNumbers, CountedRate]]] = {}
    for one in agents:
        for each in one.tags:
            found.setdefault(each.name, []).append((one, each))
    trials = {name: sum(each.count for _, each in who) for name, who in found.items()}
    names = sorted(found, key=lambda name: (-trials[name], name))
    rows = tuple((name, str(trials[name]), _who(found[name])) for name in names[:MOST_MODES])
    more = (f"{amount(len(names) - MOST_MODES, 'mode')} more: --section modes",)
    if rows:
        lines = more if len(names) > MOST_MODES else ()
        yield Section("Failure modes", ("mode", "trials", "agents"), rows, lines, whole=False)


def _who(found: Sequence[tuple[AgentNumbers, CountedRate]]) -> str:
    ordered = sorted(found, key=lambda pair: -pair[1].count)
    names = [one.agent if each.of == 1 else f"{one.agent} ({format_count(each)})" for one, each in ordered]
    return _names(names, MOST_NAMES)


def _names(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _cost(agents: Sequence[AgentNumbers]) -> Section:
    """A row for each agent that has a rate; the others in one line."""
    if all(one.economics.cost_usd.total == 0 and not one.economics.cost_usd.unknown for one in agents):
        return Section(COST, lines=("no trial paid for a model",))
    shown = agents_with_rate(agents)
    rows = tuple(
        (
            one.agent,
            mean_money(one.economics.cost_usd),
            with_n(money(one.economics.cost_per_success), one.economics.cost_per_success),
            mean_time(one.economics.wall_s_success),
        )
        for one in shown[:MOST_COSTS]
    )
    costs = [one.economics for one in shown[:MOST_COSTS]]
    lines = [
        *without_interval(each for one in costs for each in (one.cost_usd.mean, one.wall_s_success.mean))
    ]
    if (more := len(shown) - MOST_COSTS) > 0:
        lines.append(f"{amount(more, 'agent')} more: --section cost")
    if single := [one.economics.cost_usd for one in agents if one not in shown]:
        lines.append(f"{amount(len(single), 'agent')} with one trial each: {_total(single)}")
    columns = ("agent", "cost of a trial", "cost of a success", "time of a success")
    return Section(COST, columns, rows, tuple(lines))


def _total(single: Sequence[Spread]) -> str:
    """`$1.20 in all, 3 trials unknown`."""
    unknown = sum(one.unknown for one in single)
    if not sum(one.known for one in single):
        return f"the cost of {amount(unknown, 'trial')} is not known"
    total = dollars(math.fsum(one.total or 0 for one in single))
    return f"{total} in all" + (f", {amount(unknown, 'trial')} unknown" if unknown else "")


def _warnings(summary: StudySummary) -> Iterator[str]:
    for one in summary.honeypots:
        if one.count:
            trials = "trial" if one.of == 1 else "trials"
            yield f"{one.name} passed {format_count(one)} {trials} that cannot be passed honestly: --section honeypots"
    yield from (one.words for one in summary.removed)
    undecided = sum(one.bounds.undecided for one in summary.agents)
    if undecided:
        yield f"{amount(undecided, 'trial')} without a decision: --section undecided says what the rates could be"
    if invalid := sum(one.invalid_attempts.count for one in summary.agents):
        yield f"{amount(invalid, 'invalid run')}: the machine failed, or an operator stopped it; no rate counts them"
    flaky = [one.contract for one in summary.repeat_variation.contracts if one.has_flaky_checks]
    if flaky:
        yield f"flaky checks: {_names(flaky, MOST_NAMES)}: --section variation"
    if summary.without_result:
        left = ", ".join(f"{number} {state}" for state, number in summary.without_result.items())
        yield f"runs without a result are not in these numbers: {left}"
