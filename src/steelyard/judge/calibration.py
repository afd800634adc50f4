"""Runs that people labelled, and what a judge said of them -> how far the judge can be relied on.

    steelyard judge calibrate LABELS.jsonl

Each line of LABELS.jsonl is one run, with the judge's verdict or the run that has it (`model` picks one of a jury):

    {"human": "PASS", "judge": "FAIL"}
    {"human": "FAIL", "run": "runs/2026-...", "model": "claude-opus-4-8"}

A judge is ready when all of `THRESHOLDS` hold. Runs that the judge passes and people fail matter most: there a bad run
gets through.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from steelyard.deferred.data_class import dataclass
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.judge.judgement import Judgement, Opinion
from steelyard.stats.agreement import Table, cohens_kappa, krippendorff_alpha
from steelyard.stats.estimate import Estimate
from steelyard.stats.interval import Rate, wilson

Human = Literal["PASS", "FAIL"]
JUDGE_VERDICTS = frozenset({"PASS", "FAIL", "UNPARSEABLE", "N/A"})


class LabelledPair(NamedTuple):
    human: Human
    judge: str  # PASS, FAIL, or nothing that counts
    people: tuple[str, ...] = ()  # what each person said; without it, `human` is all that is known


@dataclass(frozen=True, slots=True)
class Thresholds:
    labelled: int = 50  # readable ones
    of_each: int = 10  # that people passed, and that people failed
    kappa_low: float = 0.6  # the lower end of the interval; "substantial", as Landis and Koch (1977) have it
    false_pass_high: float = 0.2  # the upper end of the interval
    unreadable: float = 0.05


THRESHOLDS = Thresholds()


@dataclass(frozen=True, slots=True)
class Calibration:
    """The counts are of runs that the judge said PASS or FAIL of; `unreadable` are the others."""

    table: Table  # one: people; other: the judge; yes: PASS
    unreadable: Rate
    agreement: Rate
    kappa: Estimate
    alpha: Estimate  # of all people and the judge
    false_pass: Rate  # of those that people failed
    false_fail: Rate  # of those that people passed
    missing: tuple[str, ...] = ()  # what it would take to be ready

    @property
    def ready(self) -> bool:
        return not self.missing

    def to_json(self) -> dict[str, Any]:
        named = {name: getattr(self, name)._asdict() for name in _NAMED}
        named |= {"kappa": self.kappa.to_json(), "alpha": self.alpha.to_json()}
        return {"ready": self.ready, "missing": list(self.missing), **named, "thresholds": asdict(THRESHOLDS)}


_NAMED = ("table", "agreement", "false_pass", "false_fail", "unreadable")


def calibrate(labelled: Iterable[LabelledPair], thresholds: Thresholds = THRESHOLDS) -> Calibration:
    pairs = list(labelled)
    read = [pair for pair in pairs if pair.judge in {"PASS", "FAIL"}]
    verdicts = [(pair.human, pair.judge) for pair in read]
    table = Table(*map(verdicts.count, _CELLS))
    found = Calibration(
        table,
        unreadable=wilson(len(pairs) - len(read), len(pairs)),
        agreement=wilson(table.both + table.neither, table.total),
        kappa=cohens_kappa(table),
        alpha=krippendorff_alpha([(*(pair.people or (pair.human,)), pair.judge) for pair in read]),
        false_pass=wilson(table.only_other, table.only_other + table.neither),
        false_fail=wilson(table.only_one, table.only_one + table.both),
    )
    return replace(found, missing=tuple(_missing(found, thresholds)))


_CELLS: tuple[tuple[Human, str], ...] = (
    ("PASS", "PASS"),
    ("PASS", "FAIL"),
    ("FAIL", "PASS"),
    ("FAIL", "FAIL"),
)


def _missing(found: Calibration, wanted: Thresholds) -> Iterable[str]:
    if found.table.total < wanted.labelled:
        yield f"{found.table.total} labelled runs, {wanted.labelled} are needed"
    for name, rate in (("passed", found.false_fail), ("failed", found.false_pass)):
        if rate.trials < wanted.of_each:
            yield f"{rate.trials} runs that people marked {name}, {wanted.of_each} are needed"
    if found.kappa.low is None:
        yield f"kappa is not known ({found.kappa.why}), {wanted.kappa_low:g} is needed"
    elif found.kappa.low < wanted.kappa_low:
        yield f"kappa may be as low as {found.kappa.low:.2f}, {wanted.kappa_low:g} is needed"
    if found.false_pass.high > wanted.false_pass_high:
        high = f"{found.false_pass.high:.0%}"
        yield f"of the runs that people failed it may pass up to {high}, {wanted.false_pass_high:.0%} is allowed"
    if (found.unreadable.rate or 0.0) > wanted.unreadable:
        lost = found.unreadable
        yield (
            f"{lost.successes} of {lost.trials} ({lost.rate:.0%} [{lost.low:.0%}, {lost.high:.0%}]) could not be read, "
            f"{wanted.unreadable:.0%} is allowed"
        )


def read_labels(path: Path, model: str | None = None) -> list[LabelledPair]:
    """A file of labels; the run folders that it names are relative to it. `model` is asked for where a line names none."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise OperatorFault(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise OperatorFault(f"{path} is not a file of labels: it is not UTF-8 text") from error
    found = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                found.append(_labelled(json.loads(line), path.parent, model))
            except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
                raise OperatorFault(f"{path}:{number}: {error}") from error
    return found


def _labelled(data: Mapping[str, Any], folder: Path, model: str | None) -> LabelledPair:
    if not isinstance(data, dict) or data.get("human") not in {"PASS", "FAIL"}:
        raise ValueError('say {"human": "PASS" or "FAIL", "judge": ... or "run": ...}')
    named = data.get("model", model)
    judge = data["judge"] if "judge" in data else judge_of(folder / str(data["run"]), named)
    if judge not in JUDGE_VERDICTS:
        raise ValueError(f"judge is one of {', '.join(sorted(JUDGE_VERDICTS))}, not {judge!r}")
    return LabelledPair(data["human"], judge)


def judge_of(run: Path, model: str | None) -> str:
    """What the newest grading that was judged says; of a model of the jury, what that one said."""
    if not run.is_dir():
        raise ValueError(f"{run} is not a run folder")
    judged = [data for one in read_gradings(RunFolder(run)) if (data := one["verdict"].get("judge"))]
    if not judged:
        raise ValueError(f"{run} was not judged")
    judgement = Judgement.from_json(judged[-1])
    if model is None:
        return judgement.verdict
    opinions: dict[str, Opinion] = {one.model: one for one in judgement.opinions}
    if model not in opinions:
        raise ValueError(f"{run}: {model} was not asked")
    return opinions[model].verdict if opinions[model].readable else "UNPARSEABLE"
