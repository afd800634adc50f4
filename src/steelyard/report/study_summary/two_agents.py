"""Two agents, of one result set or of two -> one comparison, and what a continuous integration gate makes of it.

two agents of a folder of runs or a study      compare_named(results, "mine", "theirs")
two folders or files with one agent each       compare_sets(before, after)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.errors import OperatorFault
from steelyard.report.percent import signed_points
from steelyard.report.study_summary.agent_numbers import agent_numbers, counts_by_contract, horizon_of
from steelyard.report.study_summary.comparisons import AT_THE_END, Look, compare_agents, extreme_pairs
from steelyard.report.study_summary.disclosures import deviations_of, provisional_reasons
from steelyard.report.study_summary.model import AgentComparison, AgentNumbers, to_json
from steelyard.report.study_summary.read_results import ResultSet
from steelyard.report.study_summary.trial_record import TrialRecord, by_agent, trials_of
from steelyard.stats.clusters import Cluster
from steelyard.stats.compare.equivalence import MarginTest, equivalence, non_inferiority, within_interval
from steelyard.stats.compare.pairs import Pair, pair_contracts
from steelyard.stats.design.sequential import PeekingRefused
from steelyard.stats.estimate import Estimate
from steelyard.stats.indeterminate import conclusion

SCHEMA = "steelyard.agent_comparison/1"
LEVEL = 0.05
MOST_NAMED = 12  # agents, where one that was named is not there


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
    worst_pairs: tuple[Pair, ...] = ()  # the same with every undecided trial decided against the second agent
    best_pairs: tuple[Pair, ...] = ()  # and with every one decided for it
    is_look: bool = False  # one of several looks at a study: its interval alone may decide
    gate: Gate | None = None
    equivalence: MarginTest | None = None
    schema: str = SCHEMA

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = to_json(replace(self, pairs=(), worst_pairs=(), best_pairs=()))
        del data["pairs"], data["worst_pairs"], data["best_pairs"]
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
            more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
            listed = (", ".join(known[:MOST_NAMED]) or "none") + more
            raise OperatorFault(f"{results.source} has no result of an agent {name!r}; there are: {listed}")
    if first == second:
        raise OperatorFault("an agent is compared with another one, or with itself in another folder of runs")
    ended = trials_of(results).ended
    _refuse_peeking(results, ended, {first, second})
    look = Look(results.interim_level(ended), results.anytime_repeats)
    compared = results.at_last_look(ended).filtered({first, second})
    return _compare(compared, first, second, anyway=anyway, look=look)


def compare_sets(first: ResultSet, second: ResultSet, *, agent: str | None, anyway: bool) -> TwoAgents:
    """One agent of each of two result sets, for instance of two versions of one agent."""
    names = [_one_agent(results, agent) for results in (first, second)]
    if first.source == second.source and names[0] == names[1]:
        raise OperatorFault(
            f"{first.source} is on both sides: name two agents of it, or another folder or file"
        )
    labels = [f"{name} ({results.source})" for name, results in zip(names, (first, second), strict=True)]
    if names[0] != names[1]:
        labels = names
    parts, levels = [], []
    for results, name, label in zip((first, second), names, labels, strict=True):
        ended = trials_of(results).ended
        _refuse_peeking(results, ended, {name})
        levels.append(results.interim_level(ended))
        parts.append(_rename(results.at_last_look(ended).filtered({name}), label))
    both = ResultSet(
        f"{first.source} and {second.source}",
        (*parts[0].lines, *parts[1].lines),
        (*parts[0].contexts, *parts[1].contexts),
        plan_note="; ".join(one.plan_note for one in parts if one.plan_note),
        study_deviations=(*parts[0].study_deviations, *parts[1].study_deviations),
        planned_caps=(*parts[0].planned_caps, *parts[1].planned_caps),
        removed={**parts[0].removed, **parts[1].removed},
    )
    anytime = [one.anytime_repeats for one in parts if one.anytime_repeats is not None]
    look = Look(max(levels), max(anytime, default=None))
    return _compare(both, labels[0], labels[1], anyway=anyway, look=look)


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


def _refuse_peeking(results: ResultSet, ended: int, agents: set[str]) -> None:
    try:
        results.refuse_peeking(ended, agents)
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
            kind = "contracts that were taken out of the study" if trials.removed else "honeypots"
            raise OperatorFault(f"{name} has trials of {kind} alone, which are not compared")
    comparison = compare_agents(agents, first, second, look)
    if comparison.differences and not anyway:
        raise OperatorFault(_refusal(comparison))
    horizon = horizon_of({name: agents[name] for name in (first, second)})
    numbers = [agent_numbers(name, agents[name], trials, horizon) for name in (first, second)]
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
        pairs=tuple(pair_contracts(*(_decided(agents[name]) for name in (first, second)))),
        worst_pairs=tuple(extreme_pairs(agents[first], agents[second], for_second=False)),
        best_pairs=tuple(extreme_pairs(agents[first], agents[second], for_second=True)),
        is_look=look != AT_THE_END,
    )


def _decided(records: Sequence[TrialRecord]) -> dict[str, Cluster]:
    return {digest: one.decided for digest, one in counts_by_contract(records).items()}


def _refusal(comparison: AgentComparison) -> str:
    listed = [f"  {one.sentence}" for one in comparison.differences]
    return "\n".join(
        [
            f"{comparison.first} and {comparison.second} were not run under the same conditions:",
            *listed,
            "--anyway compares them, and every page of the comparison says so",
        ]
    )


def equivalent_within(results: TwoAgents, margin: float) -> TwoAgents:
    """With the test of the claim that the agents differ by less than the margin; `why` says if undecided trials could change it."""
    comparison = results.comparison
    test, *extremes = (
        within_interval(difference, margin, both_sides=True)
        if results.is_look
        else equivalence(pairs, margin)
        for pairs, difference in (
            (results.pairs, comparison.difference),
            (results.worst_pairs, comparison.worst),
            (results.best_pairs, comparison.best),
        )
    )
    if test.holds(LEVEL) and comparison.undecided and not all(one.holds(LEVEL) for one in extremes):
        test = test._replace(why=f"fragile: {_undecided_trials(comparison)} could change this")
    return replace(results, equivalence=test)


def _undecided_trials(comparison: AgentComparison) -> str:
    return f"{comparison.undecided} undecided {'trial' if comparison.undecided == 1 else 'trials'}"


def gate_of(results: TwoAgents, margin: float | None) -> Gate:
    """Without a margin: fails if a regression is shown. With one: fails unless a loss of the margin is excluded.

    An agent without any decided trial fails: errors everywhere are no success. For the same reason a loss of the margin has to be
    excluded also if every undecided trial counts against the second agent.
    """
    comparison = results.comparison
    for numbers in (results.second, results.first):
        if numbers.success.value is None:
            return Gate(True, f"{numbers.agent} has no decided trial: {_apart(numbers)}", margin, None)
    if comparison.difference.value is None:
        return Gate(True, f"nothing can be compared: {comparison.difference.why}", margin, None)
    if margin is None:
        return _gate_by_conclusion(comparison)
    test = _not_worse(results, results.pairs, comparison.difference, margin)
    lost = f"a loss of {100 * margin:g} points or more"
    if not test.holds(LEVEL):
        return Gate(True, f"{lost} is not excluded{_shown(test, comparison.difference)}", margin, test)
    why = f"{lost} is excluded{_shown(test, comparison.difference)}"
    worst = _not_worse(results, results.worst_pairs, comparison.worst, margin)
    if comparison.undecided and not worst.holds(LEVEL):
        undecided = _undecided_trials(comparison)
        return Gate(
            True,
            f"{why} among decided trials, but not if {undecided} count against {results.second.agent}",
            margin,
            test,
        )
    return Gate(False, why, margin, test)


def _gate_by_conclusion(comparison: AgentComparison) -> Gate:
    if comparison.conclusion == "worse":
        return Gate(True, "a regression is shown", None, None)
    could = comparison.undecided and conclusion(comparison.worst) == "worse"
    return Gate(
        False,
        "no regression is shown" + ("; fragile: undecided trials could show one" if could else ""),
        None,
        None,
    )


def _not_worse(results: TwoAgents, pairs: Sequence[Pair], difference: Estimate, margin: float) -> MarginTest:
    """By the test; at a look, and of one contract, which has no test, by the interval itself."""
    if results.is_look or len(pairs) < 2:
        return within_interval(difference, margin, both_sides=False)
    return non_inferiority(pairs, margin)


def _shown(test: MarginTest, difference: Estimate) -> str:
    if test.p is not None:
        return f" (p = {test.p:.3f})"
    return (
        f": the interval begins at {signed_points(difference.low)} points"
        if difference.low is not None
        else f": {test.why}"
    )


def _apart(numbers: AgentNumbers) -> str:
    return ", ".join(f"{one.count} {one.name.replace('_', ' ')}" for one in numbers.categories if one.count)
