"""Trials -> the four minimum disclosures of every study, deviations from the protocol, and what makes numbers provisional."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from steelyard.report.study_summary.model import (
    AgentBounds,
    AgentNumbers,
    Deviation,
    Disclosures,
    Discovery,
    LabelErrorRow,
    Precision,
)
from steelyard.report.study_summary.repeat_variation import judged_both_ways
from steelyard.report.study_summary.trial_record import TrialRecord, Trials, by_agent, by_contract, count_of
from steelyard.stats.estimate import Estimate
from steelyard.stats.indeterminate import Counts, bounds
from steelyard.stats.interval import Z95
from steelyard.stats.labels import LabelledOutcome, label_errors
from steelyard.study.deviations import DEFAULT_BUDGET

NOT_MEASURED = "not measured: no run of these has a decision by people (`steelyard review` records one)"
MODEL = (
    "acceptance errors, invalid and ungraded trials are left out of the success rate, and multiple imputation draws them; a trial "
    "that its budget stopped counts as a failure, and one that reviewers dispute, or whose work the checks judged both ways, as it was "
    "graded; bounds count every indeterminate trial as a failure and as a success; times of trials without success are censored (Kaplan-Meier)"
)
SHOWN = (
    "agent configuration",
    "harness",
    "container images",
    "systems",
    "toolchains",
    "lock files",
    "content roots",
)
NO_MODE = "no failure mode"
DISPUTED, BOTH_WAYS = "disputed by reviewers", "the same work judged both ways"
BothWays = frozenset[
    tuple[str, str | None]
]  # contract, and digest of the work, of which its checks gave both results
AS_PLANNED = "as planned"  # of a study that departs from its own plan
NOT_ENFORCED = "not enforced"


def disclose(trials: Trials, agents: Sequence[AgentNumbers]) -> Disclosures:
    """The cost is that of every run: retries and honeypots are paid for too."""
    records, both_ways = trials.records, judged_both_ways(trials.records)
    labels = label_errors(_labelled(records))
    return Disclosures(
        label_errors=tuple(LabelErrorRow(*one) for one in labels),
        label_errors_why="" if labels else NOT_MEASURED,
        indeterminate=count_of("indeterminate", records, partial(_is_indeterminate, both_ways=both_ways)),
        indeterminate_by_reason=tuple(
            found
            for reason in ("acceptance_error", "invalid", "ungraded", "resource", DISPUTED, BOTH_WAYS)
            if (
                found := count_of(reason, records, partial(_has_reason, reason=reason, both_ways=both_ways))
            ).count
        ),
        indeterminate_model=MODEL,
        indeterminate_bounds=tuple(_bounds_of(records, both_ways)),
        cost_by_phase=_by_phase(trials.runs),
        discoveries=discoveries(records),
        precision=tuple(row for one in agents if not one.is_baseline for row in precision(one)),
        reproducibility=_artefacts(records),
    )


def _has_reason(one: TrialRecord, *, reason: str, both_ways: BothWays) -> bool:
    return reason in _reasons(one, both_ways)


def _reasons(one: TrialRecord, both_ways: BothWays) -> tuple[str, ...]:
    """Why the harness could not tell whether the work is correct: one trial may have several reasons."""
    found: list[str] = [] if one.is_decided else [one.category]
    found += ["resource"] if one.category == "failure" and one.termination_class == "resource" else []
    found += [DISPUTED] if one.people == "disputed" else []
    found += [BOTH_WAYS] if one.is_decided and (one.digest, one.work) in both_ways else []
    return tuple(found)


def _is_indeterminate(one: TrialRecord, *, both_ways: BothWays) -> bool:
    return bool(_reasons(one, both_ways))


def _bounds_of(records: Sequence[TrialRecord], both_ways: BothWays) -> Iterator[AgentBounds]:
    """Of all indeterminate trials: also of those that are decided and count in the success rate."""
    for agent, each in sorted(by_agent(records).items()):
        if any(_is_indeterminate(one, both_ways=both_ways) for one in each):
            yield AgentBounds(agent, bounds([_counts(of, both_ways) for of in by_contract(each).values()]))


def _counts(records: Sequence[TrialRecord], both_ways: BothWays) -> Counts:
    known = [one.succeeded for one in records if not _is_indeterminate(one, both_ways=both_ways)]
    return Counts(sum(known), len(known) - sum(known), len(records) - len(known))


def _labelled(records: Iterable[TrialRecord]) -> list[LabelledOutcome]:
    """A run under each of its failure modes; a run without one under `no failure mode`."""
    return [
        LabelledOutcome(mode, accepted=one.succeeded, correct=one.people == "pass")
        for one in records
        if one.is_decided and one.people in {"pass", "fail"}
        for mode in (one.tags or (NO_MODE,))
    ]


def _by_phase(records: Sequence[TrialRecord]) -> dict[str, dict[str, float | None]]:
    """Totals of what is known, with the number of runs of which it is not."""
    return {
        "inference": {
            **_total("tokens", [one.tokens for one in records]),
            **_total("usd", [one.cost_usd for one in records]),
        },
        "agent": _total("seconds", [one.working_s for one in records]),
        "checks": _total("seconds", [one.acceptance_s for one in records]),
        "sandbox provisioning": _total("seconds", [_rest(one) for one in records]),
        "human adjudication": {
            **_total("minutes", [one.context.human_minutes if one.context else None for one in records]),
            **_total("usd", _item(records, "human")),
        },
        "execution": _total("usd", _item(records, "exec")),
        "model judge": _total("usd", _item(records, "judge")),
        "overhead": _total("usd", _item(records, "overhead")),
    }


def _item(records: Sequence[TrialRecord], name: str) -> list[float | None]:
    """At the operator's prices: not known without a price list."""
    return [one.other_usd.get(name) for one in records]


def _rest(one: TrialRecord) -> float | None:
    if one.wall_s is None or one.working_s is None or one.acceptance_s is None:
        return None
    return max(0.0, one.wall_s - one.working_s - one.acceptance_s)


def _total(unit: str, values: Sequence[float | None]) -> dict[str, float | None]:
    known = [value for value in values if value is not None]
    return {
        unit: math.fsum(known) if known else None,
        f"{unit}_unknown_runs": float(len(values) - len(known)),
    }


def discoveries(records: Sequence[TrialRecord]) -> tuple[Discovery, ...]:
    """Each failure mode with the trial that showed it first: the cost of finding one more."""
    seen: set[str] = set()
    found, spent = [], 0.0
    for number, one in enumerate(records, 1):
        spent = math.nan if one.cost_usd is None else spent + one.cost_usd
        for tag in one.tags:
            if tag not in seen:
                seen.add(tag)
                found.append(Discovery(tag, number, None if math.isnan(spent) else spent, one.run))
    return tuple(found)


def precision(agent: AgentNumbers) -> list[Precision]:
    """Half the width of the success interval with half, the same, twice and four times the contracts."""
    success, cost = agent.success, agent.economics.cost_usd.mean.value
    if success.low is None or success.high is None or agent.contracts < 2:
        return []
    half = (success.high - success.low) / 2
    each = None if cost is None else cost * agent.trials / agent.contracts
    counts = [max(1, round(agent.contracts * factor)) for factor in (0.5, 1, 2, 4)]
    return [
        Precision(
            agent.agent,
            count,
            _half_width(success, count, half * math.sqrt(agent.contracts / count)),
            None if each is None else each * count,
        )
        for count in counts
    ]


def _half_width(success: Estimate, contracts: int, otherwise: float) -> float:
    """With all trials alike each contract counts as one trial: Wilson's interval is z^2 / (m + z^2) wide, as in `cluster_interval`."""
    if success.value in (0.0, 1.0):
        return Z95**2 / (contracts + Z95**2) / 2
    return min(0.5, otherwise)


def _artefacts(records: Sequence[TrialRecord]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {name: {} for name in SHOWN}
    for one in records:
        context = one.context
        if context is None:
            continue
        parameters = ", ".join(f"{key}={value}" for key, value in sorted(context.agent_parameters.items()))
        found["agent configuration"][
            f"{one.agent} {context.agent_version} ({parameters or 'no parameters'})"
        ] = None
        found["harness"][f"steelyard {context.harness}"] = None
        for name, values in (
            ("container images", (context.image,)),
            ("systems", (context.system,)),
            ("toolchains", context.toolchains),
            ("lock files", context.lock_files),
            ("content roots", (f"{one.contract} {(context.content_root or '')[:16]}",)),
        ):
            found[name].update(dict.fromkeys(value for value in values if value))
    return {name: tuple(values) for name, values in found.items()}


def deviations_of(
    records: Sequence[TrialRecord], of_study: Sequence[Mapping[str, object]] = ()
) -> tuple[Deviation, ...]:
    """What the study and its runs report as departures from the protocol, each once, with how many runs have it."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for one in records:
        for each in one.context.deviations if one.context else ():
            found.setdefault(_deviation(each), []).append(one.run or "?")
    rows = [Deviation(*key, runs=len(runs), example=runs[0]) for key, runs in found.items()]
    # The runs of a study say some of them too, and a study that is resumed repeats itself.
    own = {_deviation(each): each for each in of_study if _deviation(each) not in found}
    rows += [
        Deviation(*key, runs=len({one.run for one in records}), example=str(each.get("why") or "the study"))
        for key, each in own.items()
    ]
    return tuple(sorted(rows, key=lambda one: (-one.runs, one.what)))


def _deviation(each: Mapping[str, object]) -> tuple[str, str, str]:
    if each.get("what") == "deviation":  # of a study from its plan
        return _of_study(each)
    what = str(each.get("what"))
    if limit := each.get("limit"):
        what = f"{what} {limit}"
    elif check := each.get("check"):
        what = f"{what} mode of check {check}"
    found = each.get("observed")
    shown = NOT_ENFORCED if "limit" in each and found is None else _value_text(found)
    return what, _value_text(each.get("planned")), shown


def _of_study(each: Mapping[str, object]) -> tuple[str, str, str]:
    if each.get("deviation") == "stage":
        unmet = _value_text(each.get("unmet"))
        return f"stage {each.get('stage')}", AS_PLANNED, f"begun with --force-stage; not met: {unmet}"
    kind = str(each.get("deviation"))
    rest = {key: _value_text(value) for key, value in each.items() if key not in {"what", "at", "deviation"}}
    observed = "; ".join(text if key == kind else f"{key} {text}" for key, text in rest.items())
    return f"study: {kind}", AS_PLANNED, observed


def _value_text(value: object) -> str:
    if value is None:
        return "none"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _in_words(one: Deviation) -> str:
    if one.planned == AS_PLANNED:
        return f"{one.what}: {one.observed}"
    kind, _, check = one.what.partition(" mode of check ")
    if kind == "oracle":
        return f"check {check} was decided by the mode {one.observed}, not by {one.planned}, which is harder to fool"
    if one.what in ("budget", DEFAULT_BUDGET):
        return f"caps of the {one.what} that nothing enforced: {one.planned}"
    if one.observed == NOT_ENFORCED:
        return f"the {one.what} of {one.planned} was not enforced"
    return f"{one.what}: planned {one.planned}, observed {one.observed}"


def _is_note(one: Deviation, planned_caps: Sequence[str]) -> bool:
    if one.what == DEFAULT_BUDGET:
        return set(planned_caps).isdisjoint(one.planned.split(", "))
    return one.what == "framework" and one.observed == "none"


def provisional_reasons(
    records: Sequence[TrialRecord], deviations: Sequence[Deviation], planned_caps: Sequence[str] = ()
) -> tuple[str, ...]:
    """Deviations that concern what the contract or the plan states, and seeds of more than one kind.

    Not among them: that nothing was drawn at random, and defaults that could not be enforced, unless the plan has such a cap.
    """
    reasons = [
        f"{_in_words(one)} ({one.runs} {'run' if one.runs == 1 else 'runs'})"
        for one in deviations
        if not _is_note(one, planned_caps)
    ]
    seeds = sorted({one.context.seed for one in records if one.context and one.context.seed is not None})
    if len(seeds) > 1:
        reasons.append(f"runs have several protocol seeds: {', '.join(map(str, seeds))}")
    return tuple(reasons)
