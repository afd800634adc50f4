"""An agent that prints a trace of calls and results that do not belong together: reading it must not take hours."""

from __future__ import annotations

import time

from steelyard.evidence.trace.chain import Event
from steelyard.evidence.trace.completeness import _Reading

CALLS = 25_000  # with as many results, all that one message may have


def event(seq: int, kind: str, own: str) -> Event:
    return Event(seq, 0, "", kind, "agent", {"id": own, "tool": "x"}, "", "")


def test_results_that_end_no_call_are_read_in_a_moment() -> None:
    reading = _Reading()
    begun = time.thread_time()
    for seq in range(CALLS):
        reading.add(event(seq, "tool.call", f"call {seq}"))
    for seq in range(CALLS, 2 * CALLS):
        reading.add(event(seq, "tool.result", f"result {seq}"))
    assert time.thread_time() - begun < 30  # it took six minutes when every call was compared
    assert next(
        one for one in reading.completeness((), needs_live=False).items if one.name == "tool_calls"
    ).missing
