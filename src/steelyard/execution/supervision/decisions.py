"""Decisions of an operator, as files in a run folder: another terminal writes them, the controller of the run reads them.

    <run>/control/<seq of the alert>.json    {"decision": "resume", "by": "Ada", "reason": "...", "category": "false_positive"}

The folder is there while the run waits, and is removed before the run is sealed: what was decided is an event by then.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any, Literal, get_args

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import InfraFault
from steelyard.evidence.folder.folder import RunFolder

CONTROL = "control"
Choice = Literal["resume", "terminate", "quarantine"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
Category = Literal["false_positive", "acceptable_risk", "policy_violation", "unsafe", "budget", "other"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
_MOST_CHARS = 4000


class Decision(NamedTuple):
    """A decision about an alert, and its reason."""

    decision: Choice
    by: str
    reason: str
    category: Category = "other"

    def to_json(self) -> dict[str, str]:
        return dict(self._asdict())


def write_decision(folder: RunFolder, alert: int, decision: Decision) -> None:
    folder.write_json(_name(alert), decision.to_json(), durable=True)


def read_decision(folder: RunFolder, alert: int) -> Decision | None:
    """None where there is none, or none that can be read."""
    try:
        data = folder.read_json(_name(alert))
    except (OSError, ValueError, InfraFault):
        return None
    return _decision(data) if isinstance(data, Mapping) else None


def remove_control(folder: RunFolder) -> None:
    shutil.rmtree(folder.file(CONTROL), ignore_errors=True)


def _decision(data: Mapping[str, Any]) -> Decision | None:
    choice, category = data.get("decision"), data.get("category", "other")
    if choice not in CHOICES or category not in CATEGORIES:
        return None
    by, reason = (str(data.get(name, ""))[:_MOST_CHARS] for name in ("by", "reason"))
    return Decision(choice, by, reason, category) if by and reason else None


def _name(alert: int) -> str:
    return f"{CONTROL}/{alert}.json"
