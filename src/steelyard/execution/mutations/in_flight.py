"""Events of tool calls -> the call in flight: the last `tool.call` whose `tool.result` has not come.

A result names its call by `call` (the `seq` of the call) or by the call's own `id`; one that names none ends the last call.
"""

from __future__ import annotations

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.trace.chain import Event

_MOST = 1000  # calls without a result that are remembered


class _Call(NamedTuple):
    seq: int
    id: object
    is_whole_agent: bool


class CallsInFlight:
    """The calls without a result, the oldest first."""

    def __init__(self) -> None:
        self._open: list[_Call] = []

    @property
    def current(self) -> int | None:
        return self._open[-1].seq if self._open else None

    def add(self, event: Event) -> None:
        payload = event.payload
        if event.type == "tool.call":
            self._open.append(_Call(event.seq, payload.get("id"), payload.get("whole_agent") is True))
            del self._open[:-_MOST]
        elif event.type == "tool.result":
            is_whole_agent = payload.get("whole_agent") is True
            self._end(payload.get("call"), payload.get("id"), is_whole_agent=is_whole_agent)

    def _end(self, seq: object, own: object, *, is_whole_agent: bool) -> None:
        if seq is None and own is None and not is_whole_agent:
            del self._open[-1:]
            return
        for index in reversed(range(len(self._open))):
            call = self._open[index]
            is_named = (seq is not None and call.seq == seq) or (own is not None and call.id == own)
            if is_named or (is_whole_agent and call.is_whole_agent):
                # With the agent's own process every call of it has ended.
                del self._open[index : None if call.is_whole_agent else index + 1]
                return
