"""How the agent worked, not what came of it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Literal, NamedTuple

from steelyard.deferred.model import ConfigDict, Field
from steelyard.evidence.trace.summary import Summary
from steelyard.graders.base import Case, Grader
from steelyard.graders.grade import Grade

ToolKind = Literal["read", "write", "execute", "search", "network", "other"]
Count = Annotated[int, Field(ge=0)]
Dollars = Annotated[float, Field(ge=0)]
NO_TRACE = "the agent's tool calls were not recorded"


@dataclass(frozen=True)
class RequiredTool:
    """A kind of tool that must have been called."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    kind: ToolKind


class Part(NamedTuple):
    """One question about the trace; `holds` is None where the trace does not answer it."""

    holds: bool | None
    text: str


@dataclass(frozen=True)
class Trace(Grader):
    """All conditions hold: tools of each kind in `require_tools` were used, no permission was denied, budgets were kept.

    A budget may be used up completely. Values that are not recorded (tokens, costs or permissions that the agent does not
    report) are left out; if nothing is left, or there is no trace, the grade is not applicable.

    Why: an agent that never ran the tests was lucky.
    Example: `{type: trace, require_tools: [{kind: execute}], require_no_denied: true, max_tool_calls: 30}`
    Fooled by: one call that does nothing.
    """

    TYPE = "trace"
    REQUIRED = False
    WEIGHT = 1.0

    require_tools: tuple[RequiredTool, ...] = ()
    require_no_denied: bool = False
    max_tool_calls: Count | None = None
    max_tokens: Count | None = None
    max_cost_usd: Dollars | None = None

    def __post_init__(self) -> None:
        budgets = (self.max_tool_calls, self.max_tokens, self.max_cost_usd)
        if not self.require_tools and not self.require_no_denied and all(cap is None for cap in budgets):
            raise ValueError(f"checks nothing: set one of {', '.join(one.name for one in fields(self))}")

    def grade(self, case: Case) -> Grade:
        if not case.trace.traced:
            return Grade.not_applicable(NO_TRACE)
        parts = self._parts(case.trace)
        known = [part for part in parts if part.holds is not None]
        unknown = "; ".join(part.text for part in parts if part.holds is None)
        if not known:
            return Grade.not_applicable(unknown)
        broken = [part.text for part in known if not part.holds]
        why = "; ".join(broken or [part.text for part in known])
        return Grade.of(not broken, f"{why}; {unknown}" if unknown else why)

    def _parts(self, trace: Summary) -> list[Part]:
        parts = [
            Part(trace.kinds[one.kind] > 0, f"{trace.kinds[one.kind]} {one.kind} calls")
            if trace.knows_tools
            else Part(None, f"{one.kind} calls unknown")
            for one in self.require_tools
        ]
        if self.require_no_denied:
            seen = trace.permissions > 0
            parts.append(
                Part(not trace.denied, f"permissions denied: {trace.denied}")
                if seen
                else Part(None, "permissions not reported")
            )
        for name, limit, used in (
            ("tool calls", self.max_tool_calls, trace.kinds.total() if trace.knows_tools else None),
            ("tokens", self.max_tokens, trace.tokens),
            ("dollars", self.max_cost_usd, trace.cost_usd),
        ):
            if limit is not None and used is None:
                parts.append(Part(None, f"{name} unknown"))
            elif limit is not None and used is not None:
                parts.append(Part(used <= limit, f"{used:g} of {limit:g} {name}"))
        return parts
