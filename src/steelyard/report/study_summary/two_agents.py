"""Two agents, of one result set or of two -> one comparison, and what a continuous integration gate makes of it.

two agents of a folder of runs or a study      compare_named(results, "mine", "theirs")
two folders or files with one agent each       compare_sets(before, after)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.errors import OperatorFault
from steelyard.report.study_summary.agent_numbers import agent_numbers, counts_by_contract
from steelyard.report.study_summary.comparisons import AT_THE_END, Look, compare_agents
from steelyard.report.study_summary.disclosures import deviations_of, provisional_reasons
from steelyard.report.study_summary.model import AgentComparison, AgentNumbers, to_json
from steelyard.report.study_summary.read_results import ResultSet
from steelyard.report.study_summary.trial_record import TrialRecord, Trials, by_agent, trials_of
from steelyard.stats.clusters import Cluster
from steelyard.stats.compare.equivalence import MarginTest, equivalence, non_inferiority
from steelyard.stats.compare.pairs import Pair, paired
from steelyard.stats.design.sequential import PeekingRefused

SCHEMA = "steelyard.agent_comparison/1"
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class TwoAgents:
    """Both agents' numbers, their comparison, and the gate if one was asked for."""

    source: str
    first: AgentNumbers
    second: AgentNumbers
    comparison: AgentComparison
    anyway: bool  # compared although conditions differ
    provisional: tuple[str, ...]
    unchecked: int  # runs whose conditions are not known here
    pairs: tuple[Pair, ...]  # of shared contracts, decided trials only
    gate: Gate | None = None
    equivalence: MarginTest | None = None
    schema: str = SCHEMA

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = to_json(replace(self, pairs=()))
        del data["pairs"]
        return {"schema": data.pop("schema"), **data}


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether the second agent is a regression, and why."""

    failed: bool
    why: str
    margin: float | None  # None: fails only if a regression is shown
    test: MarginTest | None


def compare_named(results: ResultSet, first: str, second: str, *, anyway: bool) -> TwoAgents:
    """Two agents of one result set; raises OperatorFault where one of them has no result, or conditions differ."""
    known = sorted({str(line.get("agent")) for line in results.lines})
    for name in (first, second):
        if name not in known:
            listed = ", ".join(known) or "none"
            raise OperatorFault(f"{results.source} has no result of an agent {name!r}; there are: {listed}")
    if first == second:
        raise OperatorFault("an agent is compared with another one, or with itself in another folder of runs")
    _refuse_peeking(results)
    look = Look(results.interim_level(trials_of(results).ended), results.anytime_repeats)
    return _compare(results.filtered({first, second}), first, second, anyway=anyway, look=look)


def compare_sets(first: ResultSet, second: ResultSet, *, agent: str | None, anyway: bool) -> TwoAgents:
    """One agent of each of two result sets, for instance of two versions of one agent."""
    names = [_one_agent(results, agent) for results in (first, second)]
    for results in (first, second):
        _refuse_peeking(results)
    labels = [f"{name} ({results.source})" for name, results in zip(names, (first, second), strict=True)]
    if names[0] != names[1]:
        labels = names
    parts = [
        _rename(results.filtered({name}), label)
        for results, name, label in zip((first, second), names, labels, strict=True)
    ]
    both = ResultSet(
        f"{first.source} and {second.source}",
        (*parts[0].lines, *parts[1].lines),
        (*parts[0].contexts, *parts[1].contexts),
    )
    level = max(results.interim_level(trials_of(results).ended) for results in (first, second))
    return _compare(both, labels[0], labels[1], anyway=anyway, look=Look(level))


def _one_agent(results: ResultSet, agent: str | None) -> str:
    names = sorted({str(line.get("agent")) for line in results.lines})
    if agent is not None and agent in names:
        return agent
    if len(names) == 1 and agent is None:
        return names[0]
    if not names:
        raise OperatorFault(f"{results.source} has no result to compare")
    listed = ", ".join(names)
    raise OperatorFault(
        f"{results.source} has results of {len(names)} agents ({listed}): choose one with --agent NAME"
    )


def _rename(results: ResultSet, label: str) -> ResultSet:
    """Trials of two folders have the same ids and are still two trials."""
    lines = tuple(
        {**line, "agent": label, "trial": f"{label}:{line['trial']}" if line.get("trial") else None}
        for line in results.lines
    )
    return replace(results, lines=lines)


def _refuse_peeking(results: ResultSet) -> None:
    try:
        results.refuse_peeking(trials_of(results).ended)
    except PeekingRefused as refused:
        how = f"\n{results.plan_note}" if "the study is held" in results.plan_note else ""
        raise OperatorFault(f"{results.source}: {refused}{how}") from None


def _compare(
    results: ResultSet, first: str, second: str, *, anyway: bool, look: Look = AT_THE_END
) -> TwoAgents:
    trials = trials_of(results)
    agents = by_agent(trials.records)
    for name in (first, second):
        if name not in agents:
            raise OperatorFault(f"{name} has trials of honeypots alone, which are not compared")
    comparison = compare_agents(agents, first, second, look)
    if comparison.differences and not anyway:
        raise OperatorFault(_refusal(comparison))
    numbers = [_numbers(name, agents[name], trials) for name in (first, second)]
    return TwoAgents(
        source=results.source,
        first=numbers[0],
        second=numbers[1],
        comparison=comparison,
        anyway=anyway and bool(comparison.differences),
        provisional=(
            *((results.plan_note,) if results.plan_note else ()),
            *provisional_reasons(
                trials.records,
                deviations_of(trials.records, results.study_deviations),
                results.planned_caps,
            ),
        ),
        unchecked=sum(one.context is None for one in trials.records),
        pairs=tuple(paired(*(_decided(agents[name]) for name in (first, second)))),
    )


def _decided(records: Sequence[TrialRecord]) -> dict[str, Cluster]:
    return {digest: one.decided for digest, one in counts_by_contract(records).items()}


def _numbers(name: str, records: Sequence[TrialRecord], trials: Trials) -> AgentNumbers:
    return agent_numbers(name, records, trials, None)


def _refusal(comparison: AgentComparison) -> str:
    listed = [
        f"  {one.what}: {one.first} and {one.second}"
        + (f" ({', '.join(one.contracts)})" if one.contracts else "")
        for one in comparison.differences
    ]
    return "\n".join(
        [
            f"{comparison.first} and {comparison.second} were not run under the same conditions:",
            *listed,
            "--anyway compares them, and every page of the comparison says so",
        ]
    )


def equivalent_within(results: TwoAgents, margin: float) -> TwoAgents:
    """With the test of the claim that the agents differ by less than the margin."""
    return replace(results, equivalence=equivalence(results.pairs, margin))


def gate_of(results: TwoAgents, margin: float | None) -> Gate:
    """Without a margin: fails if a regression is shown. With one: fails unless a loss of the margin is excluded.

    An agent without any decided trial fails: errors everywhere are no success.
    """
    comparison = results.comparison
    for numbers in (results.second, results.first):
        if numbers.success.value is None:
            return Gate(True, f"{numbers.agent} has no decided trial: {_apart(numbers)}", margin, None)
    if comparison.difference.value is None:
        return Gate(True, f"nothing can be compared: {comparison.difference.why}", margin, None)
    if margin is None:
        is_worse = comparison.conclusion == "worse"
        return Gate(is_worse, "a regression is shown" if is_worse else "no regression is shown", None, None)
    test = non_inferiority(results.pairs, margin)
    shown = f"a loss of {100 * margin:g} points or more"
    if test.p is None:
        # One contract has no test: the interval itself decides.
        low = comparison.difference.low
        held = low is not None and low > -margin
        reached = (
            "its interval has no lower end"
            if low is None
            else f"the interval begins at {100 * low:+.0f} points"
        )
        return Gate(not held, f"{shown} is {'' if held else 'not '}excluded: {reached}", margin, test)
    held = test.holds(LEVEL)
    return Gate(not held, f"{shown} is {'' if held else 'not '}excluded (p = {test.p:.3f})", margin, test)


def _apart(numbers: AgentNumbers) -> str:
    return ", ".join(f"{one.count} {one.name.replace('_', ' ')}" for one in numbers.categories if one.count)
