"""A run -> its record for the long term: outcomes, digests and numbers, without trace, change, outputs and reasons.

    {"schema": "steelyard.result/1", "run": "...", "verdict": "fail", "gates": {...}, "grades": [{"name": "hidden", "outcome": "fail", ...}],
     "cost": {...}, "archived": {"at": "...", "by": "ada", "reason": "90 days", "seal": "<sha256>", "change": "<sha256>",
     "patch": "<sha256>", "events": 412, "head": "<sha256>", "signature": null}}

A file of such records is a file of result lines: `steelyard report FILE` and `steelyard compare` read it. Nothing in it is text of
an agent or a judge, and `archived` says who approved that the rest was removed, when, and why.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from steelyard.errors import OperatorFault
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.folder import CHANGE, PATCH, SEAL, RunFolder

_MEMBERS = (
    *("schema", "run", "trial", "attempt", "study", "contract", "grading", "agent", "repeat", "status", "acceptance"),
    *("termination", "verdict", "checks", "badge", "gates", "score", "mean_score", "reward", "patch_verdict"),
    *("patch_reward", "quality", "contract_score", "subscores", "penalty", "review", "disagreement", "tags", "workspace", "turns", "assurance", "usage", "cost", "durations", "counts"),
)  # fmt: skip
_OF_GRADE = (
    "name",
    "type",
    "check",
    "under",
    "required",
    "gate",
    "weight",
    "disqualifies",
    "outcome",
    "score",
)
_OF_JUDGE = ("verdict", "scores", "failure_mode", "agreement", "split")
_OF_FINDING = ("id", "severity")
_OF_ERROR = ("category", "source")


class Approval(NamedTuple):
    """Who lets the rest of a record go, and why."""

    by: str
    reason: str


def archived_record(folder: RunFolder, line: Mapping[str, Any], approval: Approval) -> dict[str, Any]:
    """`line` is the result line of the run. The whole record is verified first: a digest of something else would be worthless."""
    broken = load_evidence(folder).broken
    if broken is not None:
        raise OperatorFault(f"{folder.run_id} is not archived: its record was altered ({broken})")
    seal = folder.read_json(SEAL)
    kept = {name: line[name] for name in _MEMBERS if name in line}
    judge = line.get("judge")
    return {
        **kept,
        "grades": [_some(one, _OF_GRADE) for one in line.get("grades") or ()],
        "findings": [_some(one, _OF_FINDING) for one in line.get("findings") or ()],
        "error_taxonomy": [_some(one, _OF_ERROR) for one in line.get("error_taxonomy") or ()],
        "judge": _some(judge, _OF_JUDGE) if judge else None,
        "folder": None,
        "archived": {
            "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "by": approval.by,
            "reason": approval.reason,
            "seal": seal["digest"],
            "change": seal["files"].get(CHANGE),
            "patch": seal["files"].get(PATCH),
            "events": seal["events"],
            "head": seal["head"],
            "signature": seal.get("signature"),
        },
    }


def _some(values: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def append_record(path: Path, record: Mapping[str, Any]) -> None:
    """On the disk when this returns, so that the folder can be removed."""
    data = orjson.dumps(dict(record), option=orjson.OPT_APPEND_NEWLINE)
    try:
        descriptor = os.open(
            path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(descriptor, "ab") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise OperatorFault(f"--archive {path}: {error.strerror}") from error
