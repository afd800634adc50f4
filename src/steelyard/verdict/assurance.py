"""What really ran -> how much a verdict is worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Assurance:
    """The label on every verdict, computed from the record and never from intentions."""

    isolation: str  # none | bubblewrap | container | vm
    tree: str  # live | fresh
    oracle: str  # in_process | twin | split
    control_coverage: float
    network: str
    limits: Mapping[str, str]
    findings: int

    def to_json(self) -> dict[str, Any]:
        return {
            "isolation": self.isolation,
            "tree": self.tree,
            "oracle": self.oracle,
            "control_coverage": self.control_coverage,
            "network": self.network,
            "limits": dict(self.limits),
            "findings": self.findings,
        }


def assure(manifest: Mapping[str, Any], findings: int) -> Assurance:
    environment = manifest.get("environment", {})
    configuration = manifest.get("configuration", {})
    return Assurance(
        isolation=environment.get("isolation", "none"),
        tree=configuration.get("bench", "live"),
        oracle=configuration.get("oracle", "in_process"),
        control_coverage=0.0,
        network=environment.get("network", "host"),
        limits={name: limit["enforced"] for name, limit in environment.get("limits", {}).items()},
        findings=findings,
    )
