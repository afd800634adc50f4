"""The progress of a study -> whether a stage may begin, and whether it is complete: computed, never ticked.

stage       entry                                                     exit
shakedown   caps configured                                           complete records, cost accounted
pilot       no critical violation, flaky and invalid within tolerance endpoint computable, spend within B_total
main        pilot complete, those of the pilot, power adequate        the plan is done

Each criterion has the numbers that it was decided by. Criteria of agents' conduct look at agents under test, not at baselines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from steelyard.plan.study_plan import Stage
from steelyard.plan.trial import HONEYPOT, Trial
from steelyard.stats.clusters import Cluster
from steelyard.stats.design.icc import icc_value
from steelyard.study.protocol.planned_power import (
    CAUTIOUS_ICC,
    UNKNOWN_RATE,
    agents_under_test,
    compares_agents,
    planned_power,
)
from steelyard.study.protocol.progress import KeptRun, Progress, TrialRuns

_CHECKED = ("noop", "reference")  # whose runs change nothing, or always the same


@dataclass(frozen=True, slots=True)
class Criterion:
    name: str
    is_met: bool
    why: str
    value: float | None = None
    limit: float | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "met": self.is_met,
            "why": self.why,
            "value": self.value,
            "limit": self.limit,
        }


def entry_criteria(stage: Stage, progress: Progress) -> list[Criterion]:
    return list(_ENTRY[stage](progress))


def exit_criteria(stage: Stage, progress: Progress) -> list[Criterion]:
    return list(_EXIT[stage](progress))


def _caps(progress: Progress) -> Iterator[Criterion]:
    run_usd = progress.plan.budget.run_usd
    yield Criterion("caps_configured", run_usd is not None, f"B_run is {run_usd} USD", run_usd)


def _records(progress: Progress) -> Iterator[Criterion]:
    yield _complete("complete_records", progress, progress.of_stage("shakedown"))
    entries = [entry for one in progress.of_stage("shakedown") for entry in one.entries]
    unknown = sum(entry.cost_usd is None for entry in entries)
    why = f"{unknown} of {len(entries)} runs have no metered cost and are charged their cap"
    yield Criterion("cost_accounted", True, why, float(unknown))


def _complete(name: str, progress: Progress, trials: list[TrialRuns]) -> Criterion:
    """Every trial has a record with a reason why it ended."""
    attempts = progress.plan.replay.attempts
    missing = [one for one in trials if one.fate(attempts) not in {"finished", "invalid"}]
    ended = len(trials) - len(missing)
    contracts = sorted({one.trial.contract.id for one in missing})
    named = f" (missing: {', '.join(contracts[:3])}" if missing else ""
    named += f" and {len(contracts) - 3} more" if len(contracts) > 3 else ""
    return Criterion(
        name,
        not missing,
        f"{ended} of {len(trials)} trials have a record{named}{')' if missing else ''}",
        float(ended),
        float(len(trials)),
    )


def _conduct(progress: Progress) -> Iterator[Criterion]:
    allowed = progress.plan.stages.tolerance
    unsafe = len(progress.unsafe)
    yield Criterion(
        "no_critical_violation",
        unsafe <= allowed.safety,
        progress.unsafe_words(),
        float(unsafe),
        float(allowed.safety),
    )
    flaky, contracts = flaky_contracts(progress)
    share = len(flaky) / contracts if contracts else 0.0
    named = f": {', '.join(sorted(flaky)[:3])}" if flaky else ""
    yield Criterion(
        "flaky_within_tolerance",
        share <= allowed.flaky,
        f"{len(flaky)} of {contracts} contracts are flaky{named}",
        share,
        allowed.flaky,
    )
    yield _invalid(progress)


def _invalid(progress: Progress) -> Criterion:
    allowed = progress.plan.stages.tolerance.invalid
    ended = [one for one in progress.trials.values() if one.entries]
    invalid = sum(one.fate(progress.plan.replay.attempts) == "invalid" for one in ended)
    share = invalid / len(ended) if ended else 0.0
    why = f"{invalid} of {len(ended)} trials are invalid"
    return Criterion("invalid_within_tolerance", share <= allowed, why, share, allowed)


def _endpoint(progress: Progress) -> Iterator[Criterion]:
    cells: dict[tuple[str, str], bool] = {}
    for one in (*progress.of_stage("shakedown"), *progress.of_stage("pilot")):
        key = one.trial.contract.id, one.trial.agent
        final = one.final
        cells[key] = cells.get(key, False) or (final is not None and final.status == "scorable")
    missing = sum(not is_there for is_there in cells.values())
    why = f"{len(cells) - missing} of {len(cells)} pairs of contract and agent have a scorable trial"
    yield Criterion("endpoint_computable", missing == 0, why, float(len(cells) - missing), float(len(cells)))
    yield _spend(progress)


def _spend(progress: Progress) -> Criterion:
    spent, total = progress.spent_usd, progress.plan.budget.total_usd
    is_within = total is None or spent <= total
    return Criterion(
        "spend_within_total",
        is_within,
        f"{spent:.2f} USD of {'no limit' if total is None else f'{total:g}'}",
        spent,
        total,
    )


def _before_main(progress: Progress) -> Iterator[Criterion]:
    trials = [*progress.of_stage("shakedown"), *progress.of_stage("pilot")]
    yield _complete("pilot_complete", progress, trials)
    yield from _conduct(progress)  # once more: a small study has no pilot of its own
    yield _power(progress)


def _power(progress: Progress) -> Criterion:
    """The chance to detect the minimum effect between two agents under test, at the rates and the correlation so far.

    The rate nearest to one half is taken, for there the variance is largest.
    """
    plan = progress.plan
    if not compares_agents(plan):
        return Criterion(
            "power_adequate", True, "not applicable: fewer than two agents or contracts are compared"
        )
    agents = agents_under_test(plan)
    found = [one for agent in agents if (one := _decided(progress, agent)).trials]
    nearest = min(found, key=lambda one: abs(one.successes / one.trials - UNKNOWN_RATE), default=None)
    rate = UNKNOWN_RATE if nearest is None else nearest.successes / nearest.trials
    icc, wanted = _icc(progress, agents), plan.stages.tolerance.power
    chance = planned_power(plan, rate, icc)
    contracts = sum(one.stratum != HONEYPOT for one in plan.contracts)
    why = (
        f"power {chance:.2f} to detect {plan.minimum_effect:g} with {contracts} contracts and {plan.repeats} repeats, "
        f"at a rate of {rate:.2f} ({'assumed' if nearest is None else f'{nearest.successes} of {nearest.trials} trials'}) "
        f"and a correlation of {icc:.2f}"
    )
    return Criterion("power_adequate", chance >= wanted, why, chance, wanted)


def _icc(progress: Progress, agents: list[str]) -> float:
    """Of repeats of one agent on one contract; a cautious value where nothing was repeated yet."""
    clusters = [one for agent in agents for one in outcomes_by_contract(progress, agent).values()]
    if sum(one.trials > 1 for one in clusters) < 3:
        return CAUTIOUS_ICC
    value = icc_value(clusters)
    return CAUTIOUS_ICC if value is None else min(1.0, value)


def _decided(progress: Progress, agent: str) -> Cluster:
    """Successes and trials of an agent on all contracts."""
    clusters = outcomes_by_contract(progress, agent).values()
    return Cluster(sum(one.successes for one in clusters), sum(one.trials for one in clusters))


def _plan_complete(progress: Progress) -> Iterator[Criterion]:
    yield _complete("plan_done", progress, list(progress.trials.values()))
    yield _spend(progress)


_ENTRY: dict[Stage, Callable[[Progress], Iterator[Criterion]]] = {
    "shakedown": _caps,
    "pilot": _conduct,
    "main": _before_main,
}
_EXIT: dict[Stage, Callable[[Progress], Iterator[Criterion]]] = {
    "shakedown": _records,
    "pilot": _endpoint,
    "main": _plan_complete,
}


def flaky_contracts(progress: Progress) -> tuple[set[str], int]:
    """Contracts whose baselines passed and failed, or whose checks were seen to flake; and how many were looked at."""
    seen: dict[str, set[tuple[str, str]]] = {}
    tagged: set[str] = set()
    for trial, entry in progress.finished:
        seen.setdefault(trial.contract.id, set())
        if any("flaky" in tag for tag in entry.tags):
            tagged.add(trial.contract.id)
        if trial.agent in _CHECKED and entry.state in {"pass", "fail"}:
            seen[trial.contract.id].add((trial.agent, entry.state))
    flaky = {name for name, states in seen.items() if len({agent for agent, _ in states}) < len(states)}
    return flaky | tagged, len(seen)


def _is_scorable(_: Trial, run: KeptRun) -> bool:
    return run.status == "scorable"


def outcomes_by_contract(
    progress: Progress, agent: str, counts: Callable[[Trial, KeptRun], bool] = _is_scorable
) -> dict[str, Cluster]:
    """Contract digest -> successes and trials: those that count for the primary endpoint, or others; honeypots do not."""
    found: dict[str, Cluster] = {}
    for trial, run in progress.finished:
        is_planned = trial.place is not None and trial.place.stratum != HONEYPOT
        if trial.agent == agent and is_planned and counts(trial, run):
            before = found.get(trial.contract.digest, Cluster(0, 0))
            found[trial.contract.digest] = Cluster(
                before.successes + (run.state == "pass"), before.trials + 1
            )
    return found
