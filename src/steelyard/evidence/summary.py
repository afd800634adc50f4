"""The events of a run -> how it ended, what it counted, how long things took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.evidence.chain import Event
from steelyard.evidence.termination import CODES

_S = 1_000_000_000
_TOKENS = ("tokens_in", "tokens_out")


@dataclass(slots=True)
class Summary:
    """Sums over one trace. A run that never said how it ended was ended by the machine."""

    termination: str = "infrastructure"
    rationale: str = "the run left no word on how it ended"
    patch_refused: str = ""
    cost_usd: float | None = None
    types: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(
        default_factory=Counter
    )  # of tool calls, without those that are a whole agent
    denied: int = 0
    steps: dict[str, str] = field(default_factory=dict)  # those that were taken, and how the agent stopped
    tool_ns: int = 0
    working_ns: int = 0
    acceptance_ns: int = 0
    wall_ns: int = 0
    _since: dict[str, int] = field(default_factory=dict)
    _metered: list[int] = field(default_factory=list)

    @property
    def traced(self) -> bool:
        """Is anything known of how the agent worked?"""
        return bool(self.kinds.total() or self.types["model.request"] or self.types["model.response"])

    @property
    def tokens(self) -> int | None:
        """In and out; not known unless every response said its own."""
        known = self._metered and len(self._metered) == self.types["model.response"]
        return sum(self._metered) if known else None

    @property
    def turns(self) -> int:
        """How many messages the agent was given."""
        return self.types["brief"]

    @property
    def permissions(self) -> int:
        """How often an agent asked before it acted, as far as that is reported at all."""
        return self.types["permission.request"] + self.types["permission.decision"]

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
        elif event.type == "step.end" and payload.get("code") in CODES:
            self.steps[str(payload.get("step"))] = payload["code"]
        elif event.type == "patch.apply":
            self.patch_refused = str(payload.get("refused") or "")
        elif event.type in {"stage.enter", "check.start"}:
            self._since[event.type] = event.t
        elif event.type == "stage.leave":
            self.working_ns += event.t - self._since.pop("stage.enter", event.t)
        elif event.type == "check.end":
            self.acceptance_ns += event.t - self._since.pop("check.start", event.t)
        else:
            self._add_work(event.type, payload)

    def _add_work(self, kind: str, payload: Mapping[str, Any]) -> None:
        """What the agent did, and what that cost."""
        if kind == "tool.call":
            tool = str(payload.get("kind", "other"))
            self.tools[tool] += 1
            self.kinds[tool] += payload.get("whole_agent") is not True
        elif kind == "tool.result":
            self.tool_ns += _number(payload.get("wall_ns"))
        elif kind == "model.response" and isinstance(payload.get("usage"), dict):
            self._metered.append(sum(_number(payload["usage"].get(name)) for name in _TOKENS))
        elif kind == "permission.decision":
            self.denied += payload.get("decision") == "deny"
        elif kind == "cost" and isinstance(payload.get("usd"), int | float):
            self.cost_usd = (self.cost_usd or 0.0) + payload["usd"]


def summarise_events(events: Iterable[Event]) -> Summary:
    summary = Summary()
    for event in events:
        summary.add(event)
    return summary


def _number(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
