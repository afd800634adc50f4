"""Which tool call a change belongs to: the last one whose result has not come."""

from __future__ import annotations

from typing import Any

from steelyard.evidence.trace.chain import GENESIS, Event
from steelyard.execution.mutations.in_flight import CallsInFlight


def calls(*events: tuple[str, dict[str, Any]]) -> list[int | None]:
    flight, seen = CallsInFlight(), []
    for seq, (kind, payload) in enumerate(events, start=1):
        flight.add(Event(seq, seq, "", f"tool.{kind}", "agent", payload, GENESIS, ""))
        seen.append(flight.current)
    return seen


WHOLE = ("call", {"whole_agent": True})


def test_a_call_is_in_flight_until_its_result() -> None:
    assert calls(("call", {}), ("result", {}), ("call", {})) == [1, None, 3]


def test_a_result_ends_the_call_that_it_names() -> None:
    assert calls(("call", {"id": "a"}), ("call", {"id": "b"}), ("result", {"id": "a"})) == [1, 2, 2]
    assert calls(("call", {}), ("call", {}), ("result", {"call": 1})) == [1, 2, 2]


def test_a_result_of_an_unknown_call_ends_none() -> None:
    assert calls(("call", {"id": "a"}), ("result", {"id": "z"})) == [1, 1]


def test_calls_inside_an_agent_end_with_its_process() -> None:
    assert calls(WHOLE, ("call", {"id": "a"}), ("result", {"call": 1})) == [1, 2, None]
    assert calls(WHOLE, ("call", {"id": "a"}), ("result", {"whole_agent": True})) == [1, 2, None]


def test_calls_without_results_are_bounded() -> None:
    assert calls(*[("call", {"id": str(number)}) for number in range(3000)])[-1] == 3000
