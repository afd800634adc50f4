"""`failure_modes.jsonl` -> the closed list of failure modes; and a tag, which cannot be made without its evidence.

    {"id": "regression", "meaning": "...", "gates": ["acceptance"], "minimum_evidence": "...", "cause": "agent",
     "attributes": {}, "assigned": "not_passed"}

`cause` is agent, harness, operator or indeterminate. `assigned`: a run that passed gets only those that say `any`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple

Cause = Literal["agent", "harness", "operator", "indeterminate"]
FILE = "failure_modes.jsonl"
GATES = frozenset({"patch", "build", "acceptance", "safety"})
CAUSES = frozenset({"agent", "harness", "operator", "indeterminate"})
ASSIGNED = frozenset({"any", "not_passed"})
MOST_EVIDENCE = 20


class FailureMode(NamedTuple):
    """One record of the taxonomy."""

    id: str
    meaning: str
    gates: tuple[str, ...]  # that it can explain
    minimum_evidence: str
    cause: Cause
    attributes: Mapping[str, tuple[str, ...] | str]  # name -> its values, or "text"
    assigned: Literal["any", "not_passed"]


@dataclass(frozen=True, slots=True)
class FailureTag:
    """A failure mode of one run. `evidence` points into the run folder: `events.jsonl#12`, `checks/unit/outcome.json`."""

    id: str
    evidence: tuple[str, ...]
    why: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        mode = taxonomy().get(self.id)
        if mode is None:
            raise ValueError(f"{self.id} is not in {FILE}")
        if not self.evidence or not all(isinstance(one, str) and one.strip() for one in self.evidence):
            raise ValueError(f"{self.id} needs evidence: {mode.minimum_evidence}")
        for name, value in self.attributes.items():
            allowed = mode.attributes.get(name)
            if allowed is None or (allowed != "text" and value not in allowed):
                raise ValueError(f"{self.id} has no attribute {name}={value}")

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "evidence": list(self.evidence[:MOST_EVIDENCE]),
            "why": self.why,
            "attributes": dict(self.attributes),
        }


@functools.cache
def taxonomy() -> Mapping[str, FailureMode]:
    """The records of the package's own file, by id."""
    read: Callable[[str], bytes] = __spec__.loader.get_data  # type: ignore[union-attr]  # it read this module
    return parse_taxonomy(read(__file__.replace("taxonomy.py", FILE)).decode())


def parse_taxonomy(text: str) -> dict[str, FailureMode]:
    """Raises ValueError with the line that is wrong."""
    found: dict[str, FailureMode] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            mode = _mode(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{FILE}:{number}: {error}") from error
        if mode.id in found:
            raise ValueError(f"{FILE}:{number}: {mode.id} is listed twice")
        found[mode.id] = mode
    if not found:
        raise ValueError(f"{FILE} has no record")
    return found


def _mode(data: Mapping[str, Any]) -> FailureMode:
    if set(data) != set(FailureMode._fields):
        raise ValueError(f"a record has the keys {', '.join(FailureMode._fields)}")
    mode = FailureMode(
        id=data["id"],
        meaning=data["meaning"],
        gates=tuple(data["gates"]),
        minimum_evidence=data["minimum_evidence"],
        cause=data["cause"],
        attributes={
            name: values if values == "text" else tuple(values) for name, values in data["attributes"].items()
        },
        assigned=data["assigned"],
    )
    texts = (mode.id, mode.meaning, mode.minimum_evidence)
    if not all(isinstance(text, str) and text for text in texts):
        raise ValueError("id, meaning and minimum_evidence are texts")
    if not GATES.issuperset(mode.gates) or mode.cause not in CAUSES or mode.assigned not in ASSIGNED:
        raise ValueError("gates, cause or assigned has an unknown value")
    return mode
