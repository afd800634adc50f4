"""Something a reader should know about a run, with where it was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from steelyard.deferred.data_class import dataclass

Severity = Literal["info", "warning", "violation"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`info` is a fact, `warning` asks for a look, `violation` fails the safety gate."""

    id: str  # a stable slug: "nested_repository"
    severity: Severity
    where: str  # "path:line", already safe to print
    why: str

    def to_json(self) -> dict[str, str]:
        return {"id": self.id, "severity": self.severity, "where": self.where, "why": self.why}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Finding:
        return cls(data["id"], data["severity"], data["where"], data["why"])
