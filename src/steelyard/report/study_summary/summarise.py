"""A `ResultSet` -> `StudySummary`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.errors import OperatorFault
from steelyard.judge.saved_calibration import calibration_lines
from steelyard.report.plain import one_line
from steelyard.report.study_summary.agent_numbers import agent_numbers, horizon_of
from steelyard.report.study_summary.comparisons import MULTIPLICITY, NOT_COMPARABLE, Look, compare_all
from steelyard.report.study_summary.disclosures import deviations_of, disclose, provisional_reasons
from steelyard.report.study_summary.economics import pareto_of
from steelyard.report.study_summary.model import (
    MOST_COMPARED,
    AgentComparison,
    CountedRate,
    Pareto,
    Ranking,
    RemovedContract,
    StudySummary,
    VersionRate,
)
from steelyard.report.study_summary.projections import burn_of, power_of
from steelyard.report.study_summary.quality import order_note
from steelyard.report.study_summary.ranking import ranking_of
from steelyard.report.study_summary.read_results import ResultSet
from steelyard.report.study_summary.repeat_variation import variation_of
from steelyard.report.study_summary.trial_record import (
    BASELINES,
    TrialRecord,
    Trials,
    by_agent,
    rate_of,
    trials_of,
)
from steelyard.stats.design.sequential import PeekingRefused

ERRORS_APART = (
    "acceptance errors are neither successes nor failures: the success rate is over decided trials, and its bounds "
    "show what undecided ones could change"
)
SCOPE = (
    "these numbers hold for contracts like these, in their languages, in repositories built like theirs, and at these dates: a "
    "failure shows a gap, a success does not show that there is none"
)


def summarise_study(results: ResultSet) -> StudySummary:
    """Raises OperatorFault where there is no result at all."""
    if not results.lines:
        raise OperatorFault(_nothing(results))
    trials = trials_of(results)
    records = trials.records
    if not records:
        kind = "contracts that were taken out of the study" if trials.removed else "honeypots"
        raise OperatorFault(f"{results.source} has trials of {kind} alone: there is no rate to estimate")
    agents = by_agent(records)
    horizon = horizon_of(agents)
    numbers = tuple(agent_numbers(name, each, trials, horizon) for name, each in agents.items())
    numbers = tuple(
        sorted(numbers, key=lambda one: (one.is_baseline, -(one.success.value or 0.0), one.agent))
    )
    compared = {name: each for name, each in agents.items() if name not in BASELINES}
    refused = _refused(results, trials)
    comparisons = () if refused else _comparisons(results, trials, compared)
    apart = "agents are not compared yet" if refused else _unlike(comparisons)
    deviations = deviations_of(records, results.study_deviations)
    return StudySummary(
        source=results.source,
        study=_study(results),
        trials=len(records),
        runs=len(results.lines),
        contracts=len({one.digest for one in records}),
        agents=numbers,
        comparisons=comparisons,
        multiplicity=_multiplicity(comparisons),
        pareto=Pareto((), 0, "", apart) if apart else pareto_of(compared or agents),
        deviations=deviations,
        provisional=(
            *refused,
            *_incomplete(results if refused else results.at_last_look(trials.ended)),
            *provisional_reasons(records, deviations, results.planned_caps),
        ),
        disclosures=disclose(trials, numbers),
        without_result=results.without_result,
        notes=(*_notes(results, trials, len(compared)), *filter(None, [order_note(compared)])),
        versions=_versions(records),
        run_ids=tuple(one.run for one in records if one.run),
        repeat_variation=variation_of(records),
        burn=burn_of(trials.runs),
        power=power_of(numbers, comparisons),
        version_rates=_version_rates(records),
        honeypots=_honeypots(trials.honeypots),
        ranking=_ranking(results, agents, apart),
        envelope=results.envelope,
        removed=_removed(results, trials),
    )


def _multiplicity(comparisons: Sequence[AgentComparison]) -> str:
    """Nothing where no p-value is shown: of agents that are not comparable, or at a look at any time."""
    tested = sum(one.p is not None for one in comparisons)
    return MULTIPLICITY.format(count=tested) if tested else ""


def _refused(results: ResultSet, trials: Trials) -> tuple[str, ...]:
    """Why agents are not compared yet."""
    try:
        results.refuse_peeking(trials.ended)
    except PeekingRefused as refused:
        return (f"agents are not compared: {refused}",)
    return ()


def _comparisons(
    results: ResultSet, trials: Trials, compared: dict[str, list[TrialRecord]]
) -> tuple[AgentComparison, ...]:
    """Of the trials that the last look is about."""
    if len(compared) > MOST_COMPARED:
        return ()
    cut = results.at_last_look(trials.ended)
    if cut is not results:
        found = by_agent(trials_of(cut).records)
        compared = {name: found[name] for name in compared if name in found}
    return compare_all(compared, Look(results.interim_level(trials.ended), results.anytime_repeats))


def _unlike(comparisons: Sequence[AgentComparison]) -> str:
    """Why agents have no place beside each other, in a ranking or in the front of cost and success; "" where they have."""
    apart = [one for one in comparisons if one.conclusion == NOT_COMPARABLE]
    what = dict.fromkeys(each.what for one in apart for each in one.differences)
    return f"conditions differ ({', '.join(what)})" if what else ""


def _ranking(results: ResultSet, agents: dict[str, list[TrialRecord]], apart: str) -> Ranking:
    planned = results.planned_ranking
    found = ranking_of(agents, results.ranking or planned or "none", planned)
    return (
        replace(found, rows=(), words=f"{found.words}; no agent is ranked: {apart}")
        if apart and found.rows
        else found
    )


def _incomplete(results: ResultSet) -> tuple[str, ...]:
    return (results.plan_note,) if results.plan_note else ()


def _nothing(results: ResultSet) -> str:
    left = ", ".join(f"{count} {state}" for state, count in results.without_result.items())
    return f"{results.source} has no result to summarise" + (f" ({left})" if left else "")


def _study(results: ResultSet) -> dict[str, Any] | None:
    """The one that every line is of."""
    found = {
        (str(one.get("digest")), str(one.get("name"))) if isinstance(one := line.get("study"), dict) else None
        for line in results.lines
    }
    only = next(iter(found))
    return None if len(found) > 1 or only is None else {"digest": only[0], "name": only[1]}


def _versions(records: Sequence[TrialRecord]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for one in records:
        found.setdefault(one.contract, set()).add(one.digest[:12])
    return {name: tuple(sorted(digests)) for name, digests in sorted(found.items()) if len(digests) > 1}


def _version_rates(records: Sequence[TrialRecord]) -> tuple[VersionRate, ...]:
    """Of contracts with several versions only: each version apart, by agent."""
    several = _versions(records)
    found: dict[tuple[str, str, str], list[TrialRecord]] = {}
    for one in records:
        if one.contract in several:
            found.setdefault((one.contract, one.digest[:12], one.agent), []).append(one)
    return tuple(
        VersionRate(*key, rate_of([one for one in each if one.is_decided], lambda one: one.succeeded))
        for key, each in sorted(found.items())
    )


def _honeypots(trials: Sequence[TrialRecord]) -> tuple[CountedRate, ...]:
    """Of each agent: how many of its decided trials of honeypots it passed."""
    found = by_agent([one for one in trials if one.is_decided])
    return tuple(
        CountedRate(
            name,
            sum(one.succeeded for one in each),
            len(each),
            rate_of(each, lambda one: one.succeeded),
        )
        for name, each in sorted(found.items())
    )


def _removed(results: ResultSet, trials: Trials) -> tuple[RemovedContract, ...]:
    """Contracts that were taken out of the study although they have trials, and why."""
    found = Counter(one.contract for one in trials.removed)
    why = {contract: reason for (_, contract), reason in results.removed.items()}
    return tuple(RemovedContract(name, why.get(name, ""), count) for name, count in sorted(found.items()))


def _notes(results: ResultSet, trials: Trials, compared: int) -> list[str]:
    notes = [ERRORS_APART, SCOPE]
    if trials.repeated:
        notes.append(
            f"{_counted(trials.repeated, 'trial was', 'trials were')} run more than once; each run counts as one more repeat"
        )
    if results.repeated_lines:
        notes.append(
            f"{_counted(results.repeated_lines, 'line is of a run that is', 'lines are of runs that are')} listed again below; each run counts once"
        )
    notes += [one.words for one in _removed(results, trials)]
    if trials.honeypots:
        notes.append(
            f"{_counted(len(trials.honeypots), 'trial of a honeypot is', 'trials of honeypots are')} in no rate and in no comparison"
        )
    without = sum(context is None for context in results.contexts)
    if without:
        notes.append(
            f"{without} of {_counted(len(results.lines), 'run has', 'runs have')} no folder on this machine: conditions, tokens "
            "and reviews are not known"
        )
    if results.without_result:
        left = ", ".join(f"{count} {state}" for state, count in results.without_result.items())
        notes.append(f"runs without a result are not in these numbers: {left}")
    if compared > MOST_COMPARED:
        notes.append(f"{compared} agents: `steelyard compare A B` compares two of them")
    if versions := _versions(trials.records):
        notes.append(f"contracts with several versions count as several contracts: {', '.join(versions)}")
    return [*notes, *_configuration_notes(trials.records), *_judge_notes(results)]


def _counted(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _configuration_notes(records: Sequence[TrialRecord]) -> Iterator[str]:
    """Agents whose name stands for several configurations."""
    for agent, each in sorted(by_agent(records).items()):
        versions = {one.context.agent_version for one in each if one.context}
        if len(versions) > 1:
            yield f"{agent} ran with {len(versions)} configurations: its numbers are of all of them together"


def _judge_notes(results: ResultSet) -> Iterator[str]:
    """How far the judge may be relied on; nothing where no run was judged, or where the runs are not on this machine."""
    judged = next((line for line in results.lines if line.get("judge") and line.get("folder")), None)
    if judged is not None:
        yield from map(one_line, calibration_lines(Path(str(judged["folder"])).parent))
