"""The trials of one agent -> its rates, gates, failure modes, repeats, times and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from steelyard.report.study_summary.economics import economics, spread
from steelyard.report.study_summary.model import AgentNumbers, CountedRate, PassK, Stratum, TimeToSuccess
from steelyard.report.study_summary.quality import mean_quality, weight_sensitivity
from steelyard.report.study_summary.trial_record import (
    BASELINES,
    TrialRecord,
    Trials,
    by_contract,
    count_of,
    rate_of,
)
from steelyard.stats.clusters import Cluster
from steelyard.stats.design.icc import icc_of_outcomes
from steelyard.stats.indeterminate import Counts, bounds, impute
from steelyard.stats.passk import pass_at_k, pass_hat_k
from steelyard.stats.survival import Duration, Step, curve_steps, median_time, restricted_mean

GATES = ("patch", "build", "acceptance", "safety")
KS = (1, 2, 3, 5, 10)
MOST_NAMES = 200  # of tags, errors or endings
MOST_POINTS = 200  # of a curve


def agent_numbers(
    agent: str, records: Sequence[TrialRecord], trials: Trials, horizon: float | None
) -> AgentNumbers:
    decided = [one for one in records if one.is_decided]
    scorable = [one for one in records if one.category != "invalid"]
    counts = counts_by_contract(records)
    clusters = [one.decided for one in counts.values() if one.decided.trials]
    return AgentNumbers(
        agent=agent,
        is_baseline=agent in BASELINES,
        trials=len(records),
        runs_attempted=trials.attempted[agent],
        contracts=len(counts),
        success=rate_of(decided, lambda one: one.succeeded),
        within_budget=rate_of(scorable, lambda one: one.succeeded),
        bounds=bounds(list(counts.values())),
        imputed=impute(list(counts.values())),
        categories=_categories(records, scorable),
        invalid_attempts=_invalid_attempts(agent, trials),
        terminations=_shares(records, lambda one: (one.termination,)),
        gates=_gates(scorable),
        tags=_shares(records, lambda one: one.tags),
        errors=_shares(records, lambda one: one.errors),
        unfit=_shares(records, lambda one: one.unfit),
        strata=_strata(records),
        pass_k=_pass_k(clusters),
        icc=icc_of_outcomes(clusters),
        quality=mean_quality(records),
        weight_sensitivity=weight_sensitivity(records),
        time_to_success=time_to_success(decided, None if agent in BASELINES else horizon),
        economics=economics(records),
        versions=tuple(sorted({one.context.agent_version for one in records if one.context})),
    )


def counts_by_contract(records: Sequence[TrialRecord]) -> dict[str, Counts]:
    """Successes, failures and undecided trials of each contract; in order of digests, for what is drawn depends on the order."""
    return {
        digest: Counts(
            sum(one.category == "success" for one in each),
            sum(one.category == "failure" for one in each),
            sum(not one.is_decided for one in each),
        )
        for digest, each in sorted(by_contract(records).items())
    }


def _is_category(one: TrialRecord, *, name: str) -> bool:
    return one.category == name


def _has_name(one: TrialRecord, *, name: str, names_of: Callable[[TrialRecord], Iterable[str]]) -> bool:
    return name in names_of(one)


def _passes_gate(one: TrialRecord, *, name: str) -> bool:
    return (one.gates or {}).get(name) == "pass"


def _categories(records: Sequence[TrialRecord], scorable: Sequence[TrialRecord]) -> tuple[CountedRate, ...]:
    """Success, failure and errors over scorable trials; invalid over all trials."""
    return (
        *(
            count_of(name, scorable, partial(_is_category, name=name))
            for name in ("success", "failure", "acceptance_error", "ungraded")
        ),
        count_of("invalid", records, lambda one: one.category == "invalid"),
    )


def _invalid_attempts(agent: str, trials: Trials) -> CountedRate:
    runs = [one for one in trials.runs if one.agent == agent]
    return count_of("invalid runs", runs, lambda one: one.category == "invalid")


def _shares(
    records: Sequence[TrialRecord], names_of: Callable[[TrialRecord], Iterable[str]]
) -> tuple[CountedRate, ...]:
    """Names may be the candidate's, and as many as it likes: the most frequent are counted."""
    counts = Counter(name for one in records for name in set(names_of(one)))
    names = sorted(counts, key=lambda name: (-counts[name], name))[:MOST_NAMES]
    found = [count_of(name, records, partial(_has_name, name=name, names_of=names_of)) for name in names]
    return tuple(sorted(found, key=lambda one: (-one.count, one.name)))


def _gates(scorable: Sequence[TrialRecord]) -> tuple[CountedRate, ...]:
    gated = [one for one in scorable if one.gates is not None]
    found = dict.fromkeys(name for one in gated for name in one.gates or ())
    names = [*(name for name in GATES if name in found), *(name for name in found if name not in GATES)]
    return tuple(count_of(name, gated, partial(_passes_gate, name=name)) for name in names)


def _strata(records: Sequence[TrialRecord]) -> tuple[Stratum, ...]:
    found: dict[str, list[TrialRecord]] = {}
    for one in records:
        found.setdefault(one.stratum, []).append(one)
    return tuple(
        Stratum(
            name,
            len(by_contract(each)),
            rate_of([one for one in each if one.is_decided], lambda one: one.succeeded),
            spread([one.cost_usd for one in each], each),
        )
        for name, each in sorted(found.items())
    )


def _pass_k(clusters: Sequence[Cluster]) -> tuple[PassK, ...]:
    most = max((one.trials for one in clusters), default=0)
    ks = [k for k in KS if k <= most] or [1]
    return tuple(PassK(k, pass_at_k(clusters, k), pass_hat_k(clusters, k)) for k in ks)


def durations_of(decided: Sequence[TrialRecord]) -> list[Duration]:
    """The agent's working time where it is known, else the run's; a failure is censored when it ended."""
    found = []
    for one in decided:
        seconds = one.working_s if one.working_s is not None else one.wall_s
        if seconds is not None:
            found.append(Duration(seconds, one.succeeded, one.digest))
    return found


def horizon_of(agents: Mapping[str, Sequence[TrialRecord]]) -> float | None:
    """The longest time that some trial of every agent lasted, so that restricted means are of the same span.

    Baselines end at once, and would leave no span.
    """
    longest = []
    for name, each in agents.items():
        if name in BASELINES:
            continue
        durations = durations_of([one for one in each if one.is_decided])
        if durations:
            longest.append(max(one.seconds for one in durations))
    return min(longest) if longest else None


def time_to_success(decided: Sequence[TrialRecord], horizon: float | None) -> TimeToSuccess:
    durations = durations_of(decided)
    steps = curve_steps(durations)
    return TimeToSuccess(
        curve=tuple((one.time, 1 - one.survival, 1 - one.high, 1 - one.low) for one in _thin(steps)),
        median=median_time(durations),
        restricted_mean=restricted_mean(durations, horizon),
        censored=sum(not one.succeeded for one in durations),
        unknown=len(decided) - len(durations),
    )


def _thin(steps: Sequence[Step]) -> Sequence[Step]:
    if len(steps) <= MOST_POINTS:
        return steps
    last = len(steps) - 1
    return [steps[round(at * last / (MOST_POINTS - 1))] for at in range(MOST_POINTS)]
