"""One run folder -> what the index keeps of it.

    state     the verdict, or `running`, `paused`, `interrupted`, `not graded`, `altered`
    line      the result line of the first grading; None where there is none

Everything in a line may come from an agent. It is stored as a bound value and never becomes part of a statement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.run_use import RunUse, use_of_cost, use_of_text, use_to_text

RUNNING, INTERRUPTED, NOT_GRADED, ALTERED = "running", "interrupted", "not graded", "altered"
PAUSED = "paused"  # its process lives and waits for an operator
ACTIVE = frozenset({RUNNING, PAUSED})
UNFINISHED = frozenset({*ACTIVE, INTERRUPTED, NOT_GRADED})  # read again each time: they change by themselves
LONGEST = 1000  # characters of a name; longer ones are cut
_LARGEST = 2**53


@dataclass(frozen=True, slots=True)
class Entry:
    """One run. What is not known is None."""

    run: str
    state: str
    started: datetime | None = None
    contract: str = "?"
    digest: str | None = None
    agent: str = "?"
    trial: str | None = None
    repeat: int | None = None
    attempt: int | None = None
    study: str | None = None  # the digest of its plan
    study_name: str | None = None
    stage: str | None = None
    stratum: str | None = None
    status: str | None = None
    acceptance: str | None = None
    termination: str | None = None
    score: float | None = None
    reward: float | None = None
    judge: str | None = None
    tags: tuple[str, ...] = ()
    cost_usd: float | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    wall_s: float | None = None
    used: str | None = None  # what envelopes charge: `RunUse` as text
    phase: str | None = field(default=None, compare=False)  # of a run that is under way; never stored
    folder: Path | None = field(default=None, compare=False)
    line: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)
    is_unsafe: bool = False  # the safety gate failed, or safety stopped the run

    @property
    def use(self) -> RunUse | None:
        return None if self.used is None else use_of_text(self.used)


ReadEntry = Callable[[RunFolder], Entry]


def entry_of_line(run: str, line: Mapping[str, Any], started: datetime | None) -> Entry:
    """The columns of a run that has a result line."""
    cost, judge = _object(line.get("cost")), _object(line.get("judge"))
    tags = line.get("tags")
    return Entry(
        run=run,
        state=_text(line.get("verdict")) or ALTERED,
        started=started,
        **_contract_and_study(line),
        agent=_text(line.get("agent")) or "?",
        trial=_text(line.get("trial")),
        repeat=_integer(line.get("repeat")),
        attempt=_integer(line.get("attempt")),
        status=_text(line.get("status")),
        acceptance=_text(line.get("acceptance")),
        termination=_text(line.get("termination")),
        score=_number(line.get("score")),
        reward=_number(line.get("reward")),
        judge=_text(judge.get("verdict")),
        tags=tuple(text for tag in tags if (text := _text(tag))) if isinstance(tags, list) else (),
        cost_usd=_number(cost.get("usd")),
        tokens_in=_integer(_object(line.get("usage")).get("tokens_in")),
        tokens_out=_integer(_object(line.get("usage")).get("tokens_out")),
        wall_s=_number(_object(line.get("durations")).get("wall_s")),
        used=use_to_text(use_of_cost(cost)),
        line=line,
        is_unsafe=_object(line.get("gates")).get("safety") == "fail" or line.get("termination") == "safety",
    )


def entry_of_manifest(run: str, state: str, manifest: Mapping[str, Any], started: datetime | None) -> Entry:
    """The columns of a run that has no result line."""
    trial = _object(manifest.get("trial"))
    return Entry(
        run=run,
        state=state,
        started=started,
        **_contract_and_study(manifest),
        agent=_text(_object(manifest.get("agent")).get("name")) or "?",
        trial=_text(trial.get("id")),
        repeat=_integer(trial.get("repeat")),
        attempt=_integer(trial.get("attempt")),
    )


def _contract_and_study(record: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of the contract and the study, which a result line and a manifest name alike."""
    contract, study = _object(record.get("contract")), _object(record.get("study"))
    return {
        "contract": _text(contract.get("id")) or "?",
        "digest": _text(contract.get("digest")),
        "study": _text(study.get("digest")),
        "study_name": _text(study.get("name")),
        "stage": _text(study.get("stage")),
        "stratum": _text(study.get("stratum")),
    }


def moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    """PostgreSQL stores no NUL, and no half of a surrogate pair can be encoded."""
    if not isinstance(value, str):
        return None
    return value[:LONGEST].replace("\x00", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


def _integer(value: Any) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and abs(value) <= _LARGEST else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if abs(number) <= _LARGEST else None  # neither infinite nor NaN
