"""A folder of runs, a study in it, or a file of JSON lines -> the result lines that a summary is made of."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from steelyard.errors import OperatorFault
from steelyard.plan import order, study_plan
from steelyard.report.result import SCHEMA, VERDICTS
from steelyard.report.stored.open_store import open_store
from steelyard.report.study_summary.run_context import RunContext, read_context
from steelyard.stats.design.sequential import LookRule, PeekingRefused, require_rule
from steelyard.store import query
from steelyard.study.protocol import folder as study_folder
from steelyard.study.protocol import status

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ResultSet:
    """Result lines in order of their runs, the context of each, and how many runs have no line and why."""

    source: str
    lines: tuple[Line, ...]
    contexts: tuple[RunContext | None, ...]
    # Running, interrupted, not graded, altered
    without_result: Mapping[str, int] = field(default_factory=dict)
    planned_trials: int | None = None  # of the study's plan
    trials_of_a_repeat: int | None = None  # of the plan, while a process on this machine runs the study
    removed: Mapping[tuple[str, str], str] = field(
        default_factory=dict
    )  # (study, contract) -> why it was taken out of the study
    repeated_lines: int = (
        0  # of a file: lines of runs that stand in it more than once, without the last of each
    )
    look_rule: LookRule | None = None  # for looks before the end, of the study's plan
    has_ended: bool = False  # the study: all of its plan was carried out, or one of its rules stopped it
    is_complete: bool = False  # all of its plan was carried out
    plan_note: str = ""  # how far the plan of the study was carried out; "" where it is complete
    study_deviations: tuple[Mapping[str, Any], ...] = ()  # of the plan, and of the study from its plan
    planned_caps: tuple[str, ...] = ()  # of a run, that the plan's budgets rely on
    planned_ranking: study_plan.AcceptanceErrors | None = None  # of the study's plan
    ranking: study_plan.AcceptanceErrors | None = None  # that the reader asks for; none: as planned
    envelope: Mapping[str, Any] | None = None  # of a study that has ended
    # Digest -> name: studies that go on, where the lines are not of one study alone
    open_studies: Mapping[str, str] = field(default_factory=dict)

    def interim_level(self, finished: int) -> float:
        """The confidence level of a comparison: 0.95, or what the registered looks leave for this one (alpha spending)."""
        if self.planned_trials is None or self.look_rule is None:
            return 0.95
        return self.look_rule.level_at(self._look(finished))

    def _done(self, finished: int) -> int:
        """A complete study is at its last look, also where some trials could not be run."""
        return (self.planned_trials or 0) if self.is_complete else finished

    def _look(self, finished: int) -> int:
        """The last look that is reached. While a study runs, all trials of its repeats have ended: one that ended later would be
        compared at the same level again, and slow trials would be missing.
        """
        rule = self.look_rule
        if self.planned_trials is None or rule is None:
            return 0
        look = rule.reached(self._done(finished), self.planned_trials)
        while look and self._ended(rule.repeats_at(look)) < rule.repeats_at(look) * (
            self.trials_of_a_repeat or 0
        ):
            look -= 1
        return look

    def _ended(self, through: int) -> int:
        """How many trials of these repeats have ended."""
        return len(
            {
                line.get("trial")
                for line in self.lines
                if line.get("termination") != "operator"
                and (line.get("repeat") or 0) <= through
                and not self.removal(line)
            }
        )

    def removal(self, line: Line) -> str:
        """Why the contract of a line was taken out of its study, or nothing."""
        study = str(_study_of(line).get("digest"))
        return self.removed.get((study, _contract_of(line)), "")

    def at_last_look(self, finished: int) -> ResultSet:
        """With alpha spending: the trials up to the last look that is reached, if one is. Otherwise all."""
        rule = self.look_rule
        if self.planned_trials is None or rule is None or rule.is_anytime:
            return self
        through = rule.repeats_at(self._look(finished))
        if not 0 < through < rule.repeats:
            return self
        looked = f"agents are compared on the first {through} of {rule.repeats} repeats: those of the last look that is reached"
        note = "; ".join(filter(None, [self.plan_note, looked]))
        return replace(self._where(lambda line: (line.get("repeat") or 0) <= through), plan_note=note)

    def refuse_peeking(self, finished: int, agents: set[str] | None = None) -> None:
        """Raises PeekingRefused where the study goes on and its plan has no rule for a comparison of these agents, or of all, now."""
        if self.planned_trials is not None and not self.has_ended:
            require_rule(finished, self.planned_trials, self.look_rule)
            if self.look_rule and not self.look_rule.is_anytime and not self._look(finished):
                raise PeekingRefused(
                    f"{finished} of {self.planned_trials} planned trials are finished, and some of the repeats that the first "
                    "look is about are under way"
                )
        compared = self if agents is None else self.filtered(agents)
        for line in compared.lines if self.open_studies else ():
            if name := self.open_studies.get(str(_study_of(line).get("digest"))):
                raise PeekingRefused(
                    f'some of these runs are of the study "{name}", which has not ended, and others are not: a comparison now '
                    f"would be a look that its plan does not have. Compare within it (`--study {name}`), or without its runs"
                )

    @property
    def anytime_repeats(self) -> int | None:
        """The repeats of a contract that counts for an anytime-valid interval; None where that is not the rule."""
        return self.look_rule.repeats if self.look_rule is not None and self.look_rule.is_anytime else None

    def filtered(self, keep: set[str]) -> ResultSet:
        """Only the lines of these agents."""
        return self._where(lambda line: str(line.get("agent")) in keep)

    def _where(self, holds: Callable[[Line], bool]) -> ResultSet:
        pairs = [
            (line, context) for line, context in zip(self.lines, self.contexts, strict=True) if holds(line)
        ]
        return replace(self, lines=tuple(line for line, _ in pairs), contexts=tuple(one for _, one in pairs))


def read_results(source: Path, *, study: str | None = None, store_url: str | None = None) -> ResultSet:
    """`source` is a folder of runs or a file with one result line a line; `study` is a name or the start of a digest."""
    if source.is_dir():
        return _read_folder(source, study, store_url)
    if not source.exists():
        raise OperatorFault(f"{source}: there is no such folder of runs and no such file of result lines")
    return _read_file(source, study)


def of_lines(source: str, lines: list[Line], **more: Any) -> ResultSet:
    """Lines that are in memory already."""
    for number, line in enumerate(lines, 1):
        check_line(line, f"{source}:{number}")
    return ResultSet(source, tuple(lines), tuple(read_context(line.get("folder")) for line in lines), **more)


def _read_folder(folder: Path, study: str | None, store_url: str | None) -> ResultSet:
    with open_store(folder, store_url) as store:
        store.sync()
        lines: list[Line] = list(store.results(study=study))
        states = Counter(entry.state for entry in store.query(query.Query(study=study)))
    without = {state: count for state, count in sorted(states.items()) if state not in VERDICTS}
    source = str(folder) if study is None else f"{folder}, study {study}"
    return of_lines(source, lines, without_result=without, **plan_of(folder, lines))


def plan_of(folder: Path, lines: Sequence[Line]) -> dict[str, Any]:
    """How far the plan of these lines was carried out; of lines of several studies, or of some without one, which studies go on."""
    names = {str(_study_of(line).get("digest")): str(_study_of(line).get("name")) for line in lines}
    if len(names) != 1:
        found = {digest: _facts_of(folder, digest, ()) for digest in names if digest != "None"}
        return {
            "open_studies": {
                one: names[one] for one, facts in found.items() if facts and not facts["has_ended"]
            },
            "removed": {
                key: why for facts in found.values() for key, why in facts.get("removed", {}).items()
            },
        }
    return _facts_of(folder, next(iter(names)), lines)


def _facts_of(folder: Path, digest: str, lines: Sequence[Line]) -> dict[str, Any]:
    """Nothing outside a study, and of one that this folder does not have."""
    study = study_folder.StudyFolder(folder / study_folder.STUDIES / digest[: study_folder.DIGITS])
    try:
        if not study.is_begun:
            return {}
        log, plan = study.log(), study.plan()
    except (OSError, ValueError):
        return {}
    removed = study.removed()
    planned = order.count_trials(plan, removed)
    end: Mapping[str, Any] = next(
        (entry for entry in reversed(log) if entry.get("what") in {"start", "end"}), {}
    )
    how = end.get("how") if end.get("what") == "end" else None
    budget, looks = plan.budget, plan.looks
    return {
        "plan_note": _plan_note(planned, [one for one in lines if _contract_of(one) not in removed], end),
        "study_deviations": tuple(status.deviations_of(plan, log)),
        "planned_caps": ("cost_usd",) if (budget.total_usd, budget.task_usd) != (None, None) else (),
        "planned_ranking": plan.ranking.acceptance_errors,
        "envelope": _envelope(plan, end),
        "planned_trials": planned,
        "trials_of_a_repeat": order.trials_of_a_repeat(plan, removed) if study.is_running else None,
        "removed": {(digest, contract): why for contract, why in removed.items()},
        "look_rule": None if looks is None else LookRule(looks.rule, looks.count or 1, plan.repeats),
        "has_ended": how in {"complete", "stopped"},
        "is_complete": how == "complete",
    }


def _envelope(plan: study_plan.StudyPlan, end: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the study was charged when it ended last."""
    if end.get("what") != "end" or not isinstance(end.get("spent"), Mapping):
        return None
    total, spent = plan.budget.total_usd, float(end.get("spent_usd") or 0.0)
    return {
        "total_usd": total,
        "spent_usd": spent,
        "spent": dict(end["spent"]),
        "left_usd": None if total is None else round(total - spent, 6),
        "overrun_usd": end.get("overrun_usd"),
    }


def _plan_note(planned: int, lines: Sequence[Line], end: Mapping[str, Any]) -> str:
    if end.get("how") == "complete":
        return ""
    finished = len({line.get("trial") for line in lines if line.get("termination") != "operator"})
    how = f"the study ended: {end.get('how')}" if end.get("what") == "end" else "the study has not ended"
    how = {"held": "the study is held", "partial": "the study is not complete"}.get(str(end.get("how")), how)
    why = f" ({end.get('why')})" if end.get("why") else ""
    return f"{finished} of {planned} planned trials have a result; {how}{why}"


def _contract_of(line: Line) -> str:
    return str(line["contract"].get("id"))


def _study_of(line: Line) -> Mapping[str, Any]:
    study = line.get("study")
    return study if isinstance(study, dict) else {}


def _read_file(path: Path, study: str | None) -> ResultSet:
    lines: list[Line] = []
    try:
        rows = path.read_bytes().splitlines()
    except OSError as error:
        raise OperatorFault(f"{path} cannot be read: {error.strerror or error}") from None
    for number, row in enumerate(rows, 1):
        if not row.strip():
            continue
        try:
            line = orjson.loads(row)
        except ValueError:
            if field := _not_finite(row):
                raise OperatorFault(
                    f"{path}:{number}: `{field}` is no finite number, which JSON does not have; write null where it is not known"
                ) from None
            raise OperatorFault(
                f"{path}:{number}: this is not JSON; give result lines (`steelyard run --json`), a folder of runs, "
                "or a study"
            ) from None
        lines.append(check_line(line, f"{path}:{number}"))
    if study is not None:
        lines = [line for line in lines if _is_of_study(line, study)]
    once = _once(lines)
    return of_lines(str(path), once, repeated_lines=len(lines) - len(once))


def _not_finite(row: bytes) -> str:
    """The first field with NaN or Infinity, which Python writes and JSON does not have; nothing if the line is otherwise wrong."""

    def search(value: Any, name: str) -> str:
        if isinstance(value, float):
            return "" if math.isfinite(value) else name
        inner: list[tuple[str, Any]] = []
        if isinstance(value, dict):
            inner = [(f"{name}.{key}" if name else str(key), one) for key, one in value.items()]
        elif isinstance(value, list):
            inner = [(f"{name}[{at}]", one) for at, one in enumerate(value)]
        return next((place for key, one in inner if (place := search(one, key))), "")

    try:
        return search(json.loads(row), "")
    except (ValueError, RecursionError):
        return ""


def _once(lines: Sequence[Line]) -> list[Line]:
    """Of several lines of one run, as after `cat a b` of files that share runs, the last: a run is one trial, however often it is listed."""
    last = {_identity(line): place for place, line in enumerate(lines)}
    return [
        line for place, line in enumerate(lines) if (key := _identity(line)) is None or last[key] == place
    ]


def _identity(line: Line) -> tuple[str, str] | None:
    """None for a line that does not say which run and trial it is of."""
    run, trial = line.get("run"), line.get("trial")
    return (run, trial) if isinstance(run, str) and isinstance(trial, str) else None


def check_line(line: Any, where: str) -> Line:
    """Refuse what is no result line, with the key that is missing."""
    if not isinstance(line, dict) or line.get("schema") != SCHEMA:
        raise OperatorFault(f"{where}: this is not a result line ({SCHEMA})")
    contract = line.get("contract")
    if line.get("verdict") not in VERDICTS:
        raise OperatorFault(f"{where}: `verdict` is one of {', '.join(VERDICTS)}")
    if not isinstance(contract, dict) or not isinstance(contract.get("digest"), str):
        raise OperatorFault(f"{where}: `contract.digest` is missing")
    return line


def _is_of_study(line: Line, study: str) -> bool:
    of = _study_of(line)
    return of.get("name") == study or str(of.get("digest", "")).startswith(study)
