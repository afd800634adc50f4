"""Result lines -> trials: of several attempts at one trial one counts, and all count as attempted runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from steelyard.evidence.trace.termination import CLASS_OF
from steelyard.plan.trial import HONEYPOT
from steelyard.report.breakdown import error_name, own_errors
from steelyard.report.study_summary.model import CountedRate
from steelyard.report.study_summary.read_results import Line, ResultSet
from steelyard.report.study_summary.run_context import RunContext
from steelyard.stats.clusters import Cluster, rate_over_contracts
from steelyard.stats.estimate import Estimate

Category = Literal["success", "failure", "acceptance_error", "invalid", "ungraded"]
CATEGORY: dict[str, Category] = {
    "pass": "success",
    "fail": "failure",
    "error": "acceptance_error",
    "invalid": "invalid",
    "ungraded": "ungraded",
}
DECIDED = frozenset({"success", "failure"})
BASELINES = frozenset({"noop", "reference"})
NO_STRATUM = "-"
UNFIT = {
    "output_parseable": "output does not parse",
    "schema_valid": "output has another shape",
    "verifier_completed": "verifier wrote no reward",
}
LARGEST = 1e12  # dollars or seconds; what claims to be more is not believed


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One trial: its last run, as far as a summary needs it. None is what is not known."""

    agent: str
    contract: str  # id
    digest: str
    run: str | None
    folder: str | None
    category: Category
    termination: str
    gates: dict[str, str] | None
    tags: tuple[str, ...]
    stratum: str
    cost_usd: float | None
    wall_s: float | None
    working_s: float | None
    acceptance_s: float | None
    quality: float | None  # only where all gates pass
    context: RunContext | None
    tokens: float | None = None  # in and out
    # By item: exec, judge, overhead, human
    other_usd: Mapping[str, float | None] = field(default_factory=dict)
    errors: tuple[str, ...] = ()  # named by a verifier, a judge or people
    unfit: tuple[str, ...] = ()  # why the output could not be scored as it should be
    people: str = "none"  # what reviewers decided: none, pass, fail, defer, disputed
    judge: tuple[str, ...] = ()  # the models that were asked
    reason: str = ""
    # Weight and score, where it is known
    quality_dimensions: Mapping[str, tuple[float, float | None]] = field(default_factory=dict)
    is_removed: bool = False  # its contract was taken out of the study
    # Digest of what was graded: the change, or the answer where there is no workspace
    work: str | None = None

    @property
    def is_decided(self) -> bool:
        return self.category in DECIDED

    @property
    def succeeded(self) -> bool:
        return self.category == "success"

    @property
    def termination_class(self) -> str:
        return CLASS_OF.get(self.termination, self.termination)

    @property
    def passes_all_gates(self) -> bool:
        return self.gates is not None and all(outcome == "pass" for outcome in self.gates.values())


@dataclass(frozen=True, slots=True)
class Trials:
    records: tuple[TrialRecord, ...]
    honeypots: tuple[TrialRecord, ...]  # trials that cannot be passed honestly, and are in no rate
    removed: tuple[TrialRecord, ...]  # trials of contracts that were taken out of the study; in no rate
    runs: tuple[TrialRecord, ...]  # all of them: retries, honeypots and removed contracts too
    attempted: Mapping[str, int]  # agent -> runs, retries included
    repeated: int  # trials that were run again although they had a result; each counts as one more repeat
    ended: int  # trials of the plan that have ended; one that the operator stopped is run again


class _Run(NamedTuple):
    place: int  # among the lines
    attempt: int
    record: TrialRecord


def trials_of(results: ResultSet) -> Trials:
    """The records are in order of the lines, which is that of time."""
    trials: dict[str, list[_Run]] = {}
    for place, (line, context) in enumerate(zip(results.lines, results.contexts, strict=True)):
        trial = line.get("trial")
        key = trial if isinstance(trial, str) else f"line {place}"
        trials.setdefault(key, []).append(
            _Run(
                place,
                _attempt(line.get("attempt")),
                replace(record_of(line, context), is_removed=bool(results.removal(line))),
            )
        )
    counting = {key: runs_that_count(runs) for key, runs in trials.items()}
    runs = [one.record for one in sorted(run for each in trials.values() for run in each)]
    records = [one.record for one in sorted(run for each in counting.values() for run in each)]
    return Trials(
        records=tuple(one for one in records if one.stratum != HONEYPOT and not one.is_removed),
        honeypots=tuple(one for one in records if one.stratum == HONEYPOT and not one.is_removed),
        removed=tuple(one for one in records if one.is_removed),
        runs=tuple(runs),
        attempted=Counter(one.agent for one in runs),
        repeated=sum(len(each) - 1 for each in counting.values()),
        ended=sum(map(_has_ended, counting.values())),
    )


def runs_that_count(runs: Sequence[_Run]) -> list[_Run]:
    """Of the runs of one trial: an attempt replaces the one before, and an invalid run counts only where there is no other.

    A study that was stopped, or whose machine spoiled a run, begins to count attempts again when it is resumed. Times decide
    nothing, because clocks are set back.
    """
    kept: list[_Run] = []
    for run in sorted(runs, key=lambda one: (one.attempt, one.record.run or "", one.place)):
        before = [one for one in kept if one.attempt == run.attempt - 1]
        if before:
            kept.remove(next((one for one in before if one.record.category == "invalid"), before[-1]))
        kept.append(run)
    return [one for one in kept if one.record.category != "invalid"] or kept[-1:]


def _has_ended(runs: Sequence[_Run]) -> bool:
    """Of the runs of one trial that count: a trial that was run again has ended once."""
    return any(one.record.termination != "operator" and not one.record.is_removed for one in runs)


def _unfit(line: Line) -> tuple[str, ...]:
    """The flags of validity that do not hold; nothing of a run that was not graded."""
    validity = _object(line.get("validity"))
    return tuple(words for flag, words in UNFIT.items() if validity.get(flag) is False)


def record_of(line: Line, context: RunContext | None) -> TrialRecord:
    durations, study = _object(line.get("durations")), _object(line.get("study"))
    gates = line.get("gates")
    tags = line.get("tags")
    return TrialRecord(
        agent=str(line.get("agent")),
        contract=str(line["contract"].get("id") or line["contract"]["digest"][:12]),
        digest=line["contract"]["digest"],
        run=line.get("run"),
        folder=line.get("folder"),
        category=CATEGORY[line["verdict"]],
        termination=str(line.get("termination") or "not run"),
        gates={str(name): str(outcome) for name, outcome in gates.items()}
        if isinstance(gates, dict)
        else None,
        tags=tuple(str(tag) for tag in tags) if isinstance(tags, list) else (),
        stratum=str(study.get("stratum") or NO_STRATUM),
        cost_usd=_number(_object(line.get("cost")).get("usd")),
        wall_s=_number(durations.get("wall_s")),
        working_s=_number(durations.get("working_s")),
        acceptance_s=_number(durations.get("acceptance_s")),
        quality=_number(_object(line.get("quality")).get("score")),
        context=context,
        tokens=_tokens(line, context),
        other_usd=_other_usd(line),
        errors=tuple(dict.fromkeys(map(error_name, own_errors(line)))),
        unfit=_unfit(line),
        people=str(_object(line.get("review")).get("decision") or (context.people if context else "none")),
        judge=_models(line),
        reason=str(line.get("reason") or ""),
        quality_dimensions=_dimensions(line),
        work=_work(line, context),
    )


def _work(line: Line, context: RunContext | None) -> str | None:
    if context is None:
        return None
    return context.answer if line.get("workspace") == "none" else context.change


def _dimensions(line: Line) -> dict[str, tuple[float, float | None]]:
    found = _object(_object(line.get("quality")).get("dimensions"))
    return {
        str(name): (_number(one.get("weight")) or 0.0, _number(one.get("score")))
        for name, one in found.items()
        if isinstance(one, dict)
    }


def _other_usd(line: Line) -> dict[str, float | None]:
    items = _object(_object(line.get("cost")).get("items"))
    return {
        name: _number(_object(items.get(name)).get("usd")) for name in ("exec", "judge", "overhead", "human")
    }


def _tokens(line: Line, context: RunContext | None) -> float | None:
    """What the line says, or else the run's report."""
    usage = _object(line.get("usage"))
    parts = [_number(usage.get(name)) for name in ("tokens_in", "tokens_out")]
    if None in parts and context is not None:
        parts = [_number(context.tokens_in), _number(context.tokens_out)]
    known = [one for one in parts if one is not None]
    return sum(known) if len(known) == len(parts) else None


def _models(line: Line) -> tuple[str, ...]:
    opinions = _object(line.get("judge")).get("opinions")
    found = (
        {str(one.get("model")) for one in opinions if isinstance(one, dict)}
        if isinstance(opinions, list)
        else set()
    )
    return tuple(sorted(found))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float | None:
    """Numbers that are none (NaN, a text, negative, infinite) are unknown, and unknown is never zero."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= LARGEST else None


def _attempt(value: Any) -> int:
    return value if isinstance(value, int) and value >= 1 else 1


def by_agent(records: Sequence[TrialRecord]) -> dict[str, list[TrialRecord]]:
    """In order of first appearance."""
    found: dict[str, list[TrialRecord]] = {}
    for record in records:
        found.setdefault(record.agent, []).append(record)
    return found


def by_contract(records: Sequence[TrialRecord]) -> dict[str, list[TrialRecord]]:
    """By digest: another version is another contract."""
    found: dict[str, list[TrialRecord]] = {}
    for record in records:
        found.setdefault(record.digest, []).append(record)
    return found


def rate_of(records: Iterable[TrialRecord], holds: Callable[[TrialRecord], bool]) -> Estimate:
    """The share of trials for which something holds; contracts are the clusters."""
    counts: dict[str, list[bool]] = {}
    for one in records:
        counts.setdefault(one.digest, []).append(holds(one))
    return rate_over_contracts(Cluster(sum(each), len(each)) for each in counts.values())


def count_of(name: str, records: Sequence[TrialRecord], holds: Callable[[TrialRecord], bool]) -> CountedRate:
    return CountedRate(name, sum(map(holds, records)), len(records), rate_of(records, holds))
