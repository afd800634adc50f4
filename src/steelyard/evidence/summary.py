"""The events of a run -> how it ended, what it counted, how long things took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from steelyard.evidence.chain import Event
from steelyard.evidence.termination import CODES

_S = 1_000_000_000


@dataclass(slots=True)
class Summary:
    """Sums over one trace. A run that never said how it ended was ended by the machine."""

    termination: str = "infrastructure"
    rationale: str = "the run left no word on how it ended"
    patch_refused: str = ""
    cost_usd: float | None = None
    types: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    tool_ns: int = 0
    working_ns: int = 0
    acceptance_ns: int = 0
    wall_ns: int = 0
    _since: dict[str, int] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, Any]:
        return {
            "events": self.types.total(),
            "requests": self.types["model.request"],
            "tool_calls": dict(sorted(self.tools.items())),
            "edits": self.types["workspace.change"],
            "checks": self.types["check.end"],
        }

    @property
    def durations(self) -> dict[str, float]:
        return {
            "wall_s": self.wall_ns / _S,
            "working_s": self.working_ns / _S,
            "active_tool_s": self.tool_ns / _S,
            "acceptance_s": self.acceptance_ns / _S,
        }

    def add(self, event: Event) -> None:
        self.types[event.type] += 1
        self.wall_ns = event.t
        payload = event.payload
        if event.type == "termination" and payload.get("code") in CODES:
            self.termination, self.rationale = payload["code"], str(payload.get("rationale", ""))
        elif event.type == "patch.apply":
            self.patch_refused = str(payload.get("refused") or "")
        elif event.type == "tool.call":
            self.tools[str(payload.get("kind", "other"))] += 1
        elif event.type == "tool.result":
            self.tool_ns += _number(payload.get("wall_ns"))
        elif event.type == "cost" and isinstance(payload.get("usd"), int | float):
            self.cost_usd = (self.cost_usd or 0.0) + payload["usd"]
        elif event.type in {"stage.enter", "check.start"}:
            self._since[event.type] = event.t
        elif event.type == "stage.leave":
            self.working_ns += event.t - self._since.pop("stage.enter", event.t)
        elif event.type == "check.end":
            self.acceptance_ns += event.t - self._since.pop("check.start", event.t)


def summarise_events(events: Iterable[Event]) -> Summary:
    summary = Summary()
    for event in events:
        summary.add(event)
    return summary


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
