"""A client's output becomes events as it comes; hostile output costs a bounded number of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import native_records as native
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.agents.traces import recorder as recording
from steelyard.agents.traces.claude_code import parse_claude_code
from steelyard.agents.traces.items import Claim, ToolCall
from steelyard.agents.traces.openhands import parse_openhands
from steelyard.agents.traces.recorder import TraceRecorder
from steelyard.evidence.trace.events import Event, EventLog, read_events


class Recording:
    """A recorder of Claude Code's output, and the events that it wrote."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = EventLog(path)
        self.recorder = TraceRecorder(
            self._log, "claude_code", parse_claude_code, {"conversation": 1, "index": 1}
        )

    def feed(self, *records: Any) -> None:
        for record in records:
            line = record if isinstance(record, bytes) else json.dumps(record).encode()
            self.recorder.take("stdout", line + b"\n")

    def events(self, kind: str = "") -> list[Event]:
        return [event for event in read_events(self._path) if not kind or event.type == kind]


@pytest.fixture
def recording_of(tmp_path: Path) -> Recording:
    return Recording(tmp_path / "events.jsonl")


def test_a_call_and_its_result_are_events_of_the_agent(recording_of: Recording) -> None:
    recording_of.feed(*native.CLAUDE)
    (call,), (result,) = recording_of.events("tool.call"), recording_of.events("tool.result")
    assert (call.actor, call.payload["kind"], call.payload["tool"]) == ("agent", "execute", "Bash")
    assert call.payload["input"] == {"command": "ls"}
    assert (result.payload["id"], result.payload["tool"]) == ("toolu_1", "Bash")
    assert result.payload["wall_ns"] > 0


def test_an_event_is_written_when_its_line_is_complete(recording_of: Recording) -> None:
    line = json.dumps(native.CLAUDE[2]).encode()
    recording_of.recorder.take("stdout", line)
    assert not recording_of.events("agent.message")
    recording_of.recorder.take("stdout", b"\n")
    assert recording_of.events("agent.message")


def test_a_last_line_without_an_end_counts(recording_of: Recording) -> None:
    recording_of.recorder.take("stdout", json.dumps(native.claude_result()).encode())
    recording_of.recorder.end_output()
    assert recording_of.recorder.facts.success is not None


def test_unknown_lines_are_counted_and_the_first_are_shown(recording_of: Recording) -> None:
    recording_of.feed({"type": "of_next_year"}, b"no json", b"[1]", *native.CLAUDE)
    facts = recording_of.recorder.facts
    assert facts.unknown == 3
    assert facts.samples[1] == "no json"
    assert facts.success is not None


def test_text_beside_the_records_of_a_client_that_prints_both_is_no_unknown_line(tmp_path: Path) -> None:
    with EventLog(tmp_path / "events.jsonl") as log:
        recorder = TraceRecorder(log, "openhands", parse_openhands, {}, skips_text=True)
        for line in (
            b"Agent is working",
            b'{"kind": "OfNextYear"}',
            json.dumps(native.OPENHANDS[-1]).encode(),
        ):
            recorder.take("stdout", line + b"\n")
    assert (recorder.facts.unknown, recorder.facts.answer) == (1, "Done.")


def test_a_denial_that_is_reported_twice_is_one(recording_of: Recording) -> None:
    denied = {"type": "system", "subtype": "permission_denied", "tool_name": "Edit", "tool_use_id": "toolu_9"}
    recording_of.feed(denied, native.claude_result(permission_denials=[denied]))
    assert len(recording_of.events("permission.decision")) == 1
    assert recording_of.events("permission.decision")[0].payload["decision"] == "deny"


def test_the_clients_own_cost_is_a_claim_of_the_agent(recording_of: Recording) -> None:
    recording_of.feed(*native.CLAUDE)
    recording_of.recorder.claim_cost()
    (cost,) = recording_of.events("cost")
    assert (cost.actor, cost.payload["usd"], cost.payload["tokens_in"]) == ("agent", 0.03528, 11400)


def test_claims_of_single_requests_are_summed(recording_of: Recording) -> None:
    claim = Claim(10, 1, usd=0.5, is_total=False)
    recording_of.recorder.take_items([claim, claim, Claim(usd=0.25, is_total=False)])
    assert recording_of.recorder.facts.claim == Claim(20, 2, usd=1.25)


def test_a_line_that_is_too_long_is_skipped_and_the_next_is_read(
    recording_of: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MOST_LINE_BYTES", 1000)
    for _ in range(5):
        recording_of.recorder.take("stdout", b"x" * 600)
    recording_of.recorder.take("stdout", b"\n")
    recording_of.feed(native.claude_result())
    assert recording_of.recorder.facts.oversized == 1
    assert recording_of.recorder.facts.success is not None


def test_a_flood_of_other_output_ends_the_parsing(
    recording_of: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MOST_UNKNOWN", 100)
    recording_of.recorder.take("stdout", b"y\n" * 10_000)
    facts = recording_of.recorder.facts
    assert facts.is_flooded
    assert facts.lines == 101


def test_the_number_of_events_is_bounded(recording_of: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_EVENTS", 3)
    recording_of.recorder.take_items(ToolCall(str(number), "Bash") for number in range(10))
    assert len(recording_of.events()) == 3
    assert recording_of.recorder.facts.left_out == 7


def test_a_long_input_is_kept_as_its_beginning_and_digest(recording_of: Recording) -> None:
    recording_of.recorder.take_items([ToolCall("1", "Write", {"content": "x" * 100_000})])
    (call,) = recording_of.events("tool.call")
    assert call.payload["input"] is None
    assert len(call.payload["input_prefix"]) == recording.PREFIX_CHARS


@given(chunks=st.lists(st.binary(max_size=40) | st.just(b"\n"), max_size=20))
def test_no_bytes_stop_the_recorder(tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes]) -> None:
    made = Recording(tmp_path_factory.mktemp("trace") / "events.jsonl")
    for chunk in chunks:
        made.recorder.take("stdout", chunk)
    made.recorder.end_output()
    made.recorder.claim_cost()
    assert made.recorder.facts.to_json()
