"""The events of a run -> how it ended, what it counted, how long things took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from steelyard.deferred.data_class import dataclass
from steelyard.evidence.trace.chain import Event
from steelyard.evidence.trace.model_usage import ModelUsage
from steelyard.evidence.trace.termination import CODES

_S = 1_000_000_000
MOST_LISTED = 1000  # alerts, and interventions; as many again of alerts that have a consequence


@dataclass(slots=True)
class Summary:
    """Sums over one trace. A run that never said how it ended was ended by the machine."""

    termination: str = "infrastructure"
    rationale: str = "the run did not record how it ended"
    stopped_by: str | None = None  # "budget wall_s", "operator SIGINT"; None: the agent finished
    is_lasting: bool = False  # of `infrastructure`: another attempt would end the same
    patch_refused: str = ""
    models: ModelUsage = field(default_factory=ModelUsage)
    types: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    # Of tool calls, without those that are a whole agent
    kinds: Counter[str] = field(default_factory=Counter)
    denied: int = 0
    steps: dict[str, str] = field(default_factory=dict)  # those that were taken, and how the agent stopped
    working_ns: int = 0
    acceptance_ns: int = 0
    wall_ns: int = 0
    edits: int = 0  # changed paths
    # Of those, how many were not logged while the agent worked; None: nothing was captured
    gaps: int | None = None
    alert: int | None = None  # the event that the termination follows from
    event: int | None = None  # the alert, or the end of the agent's stage
    alerts: list[dict[str, Any]] = field(default_factory=list)
    interventions: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)  # of operators
    left_out: Counter[str] = field(default_factory=Counter)  # alerts and interventions over `MOST_LISTED`
    test_cycles: int | None = None  # test runs among the reported calls
    _since: dict[str, int] = field(default_factory=dict)
    _unfinished: Counter[str] = field(default_factory=Counter)
    # What the client says of tokens and cost; never counted
    claims: dict[str, float] = field(default_factory=dict)
    _agent_ns: int = 0  # of processes that are a whole agent
    _call_ns: int = 0  # of calls inside an agent
    _untimed: int = 0  # results of which no time is known

    @property
    def traced(self) -> bool:
        """Is anything known of how the agent worked?"""
        return bool(self.kinds.total() or self.types["model.request"] or self.types["model.response"])

    @property
    def knows_tools(self) -> bool:
        """Whether tool calls are on record: the gateway sees requests to models, and no tool."""
        return bool(self.kinds.total() or self.models.claims)

    @property
    def cost_usd(self) -> float | None:
        return self.models.cost_usd

    @property
    def cost_method(self) -> str | None:
        return self.models.method

    @property
    def tokens(self) -> int | None:
        """In and out; not known unless every response said its own."""
        usage = self.usage
        return None if usage is None else sum(usage)

    @property
    def usage(self) -> tuple[int, int] | None:
        """Tokens in, tokens out."""
        return self.models.usage

    @property
    def tool_ns(self) -> int:
        """Time in tools; of an agent whose calls are not known, the time of its whole process."""
        return self._call_ns if self.kinds.total() else self._agent_ns

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
        """Null is what the trace cannot know: what an agent that is one process did inside."""
        is_one_process = self.tools.total() > self.kinds.total() and not self.knows_tools
        is_unseen = self.tools.total() > self.kinds.total() and not self.traced and not self.models.is_silent
        return {
            "events": self.types.total(),
            "requests": None if is_unseen else self.types["model.request"],
            "tool_calls": None if is_one_process else dict(sorted((+self.kinds).items())),
            "test_cycles": None if is_one_process else self.test_cycles if self.tools.total() else 0,
            "agent_processes": self.tools.total() - self.kinds.total(),
            "edits": self.edits,
            "checks": self.types["check.end"],
            "check_runs": self.types["check.run"],
        }

    @property
    def durations(self) -> dict[str, float | None]:
        """Null is a phase that began and whose end is not on record. Waiting for an overloaded model is no work."""
        waited_ns = min(self.models.waited_ns, self.working_ns)
        return {
            "wall_s": self.wall_ns / _S if self.types else None,
            "working_s": self._known("stage.enter", self.working_ns - waited_ns),
            "waited_s": self._known("stage.enter", waited_ns),
            "active_tool_s": None if self._untimed else self._known("tool.call", self.tool_ns),
            "acceptance_s": self._known("check.start", self.acceptance_ns),
        }

    def _known(self, beginning: str, spent_ns: int) -> float | None:
        return (
            None if self._since.get(beginning) is not None or self._unfinished[beginning] else spent_ns / _S
        )

    def add(self, event: Event) -> None:
        self.types[event.type] += 1
        self.wall_ns = event.t
        payload = event.payload
        if event.type == "termination" and payload.get("code") in CODES:
            self.termination, self.rationale = payload["code"], str(payload.get("rationale", ""))
            self.alert, self.event = payload.get("alert"), payload.get("event")
            self.is_lasting = payload.get("lasting") is True
            by = payload.get("by")
            self.stopped_by = by if isinstance(by, str) else None
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
        elif event.type in {"monitor.alert", "intervention", "operator.decision"}:
            self._list(event)
        elif event.type == "cost" and event.actor == "agent":
            self._add_claim(payload)
        elif event.type.startswith("model.") or event.type == "cost":
            self.models.add(event.type, event.actor, payload)
        else:
            self._add_work(event.type, payload)

    def _add_claim(self, payload: Mapping[str, Any]) -> None:
        for name in ("usd", "tokens_in", "tokens_out"):
            if payload.get(name) is not None:
                self.claims[name] = self.claims.get(name, 0.0) + _claimed_number(payload[name])

    def _list(self, event: Event) -> None:
        lists = {"monitor.alert": self.alerts, "operator.decision": self.decisions}
        listed = lists.get(event.type, self.interventions)
        most = MOST_LISTED * (1 if _is_advice(event) else 2)  # much advice hides no violation
        if len(listed) < most:
            listed.append({"event": event.seq, "t": event.t, **event.payload})
        else:
            self.left_out[event.type] += 1

    def _add_work(self, kind: str, payload: Mapping[str, Any]) -> None:
        """What the agent did, and what was counted of it."""
        if kind == "tool.call":
            tool = str(payload.get("kind", "other"))
            self.tools[tool] += 1
            self.kinds[tool] += payload.get("whole_agent") is not True
            self._unfinished["tool.call"] += 1
        elif kind == "tool.result":
            self._unfinished["tool.call"] -= 1
            spent_ns = _number(payload.get("wall_ns"))
            self._agent_ns += spent_ns if payload.get("whole_agent") is True else 0
            self._call_ns += spent_ns if payload.get("whole_agent") is not True else 0
            self._untimed += payload.get("wall_ns") is None
        elif kind == "capture.end":
            self.edits = _number(payload.get("entries"))
            gaps = payload.get("gaps")
            count = gaps.get("count") if isinstance(gaps, Mapping) else None
            self.gaps = None if not isinstance(count, int) else count + (self.gaps or 0)
        elif kind == "permission.decision":
            self.denied += payload.get("decision") == "deny"
        elif kind == "run.end" and "test_cycles" in payload:
            self.test_cycles = _number(payload["test_cycles"])


def _is_advice(event: Event) -> bool:
    return event.type == "monitor.alert" and event.payload.get("severity") == "advisory"


def _claimed_number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e15 else 0.0


def summarise_events(events: Iterable[Event]) -> Summary:
    summary = Summary()
    for event in events:
        summary.add(event)
    return summary


def _number(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0
