"""Answers are metered while they arrive, however they are cut into chunks, and whatever a server sends."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.providers import answer
from steelyard.providers.answer import AnswerMeter
from steelyard.providers.scripted.actions import Call
from steelyard.providers.scripted.render import ReplyContent, document, events
from steelyard.providers.scripted.script import ReplyPosition
from steelyard.providers.usage import Usage

WIRES = ("messages", "chat", "responses", "generate")
REPLY = ReplyContent(
    model="m-1",
    text="Let me look at the file first, it is a long one.",
    calls=(Call("bash", {"command": "ls -la"}), Call("bash", {"command": "pwd"})),
    usage=Usage(1000, 50, 200),
    place=ReplyPosition(0, 3),
)


def metered(wire: str, data: bytes, size: int, *, is_stream: bool) -> AnswerMeter:
    meter = AnswerMeter(wire, is_stream=is_stream)
    for start in range(0, len(data), size):
        meter.feed(data[start : start + size])
    meter.end()
    return meter


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("is_stream", [False, True])
def test_usage_calls_and_end_of_an_answer_are_read(wire: str, is_stream: bool) -> None:  # noqa: FBT001
    data = b"".join(events(wire, REPLY)) if is_stream else document(wire, REPLY)
    meter = metered(wire, data, 1000, is_stream=is_stream)
    assert meter.usage == Usage(1000, 50, 200)
    assert (meter.tool_calls, meter.model, meter.is_done, meter.malformed) == (2, "m-1", True, 0)
    assert meter.stop_reason
    assert meter.output_chars >= len(REPLY.text)


@given(wire=st.sampled_from(WIRES), size=st.integers(1, 300))
def test_chunks_may_be_cut_anywhere(wire: str, size: int) -> None:
    data = b"".join(events(wire, REPLY))
    whole, cut = metered(wire, data, len(data), is_stream=True), metered(wire, data, size, is_stream=True)
    assert (cut.usage, cut.tool_calls, cut.output_chars) == (
        whole.usage,
        whole.tool_calls,
        whole.output_chars,
    )


@given(data=st.binary(max_size=300), wire=st.sampled_from(WIRES), is_stream=st.booleans())
def test_no_bytes_of_a_server_raise(data: bytes, wire: str, is_stream: bool) -> None:  # noqa: FBT001
    metered(wire, data, 7, is_stream=is_stream).estimated_usage(10)


@given(
    event=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "message",
                        "usage",
                        "delta",
                        "choices",
                        "content",
                        "response",
                        "candidates",
                        "item",
                    ]
                ),
                inner,
                max_size=3,
            )
        ),
        max_leaves=15,
    ),
    wire=st.sampled_from(WIRES),
)
def test_no_event_of_a_wrong_shape_raises(event: object, wire: str) -> None:
    data = b"data: " + json.dumps(event).encode() + b"\n\n"
    metered(wire, data, 1000, is_stream=True)
    metered(wire, json.dumps(event).encode(), 1000, is_stream=False)


def test_an_event_that_is_too_large_is_skipped_and_the_next_one_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(answer, "MOST_EVENT_BYTES", 2000)
    parts = events("messages", REPLY)
    data = b"".join([parts[0], b"data: " + b"x" * 9000 + b"\n\n", *parts[1:]])
    meter = metered("messages", data, 500, is_stream=True)
    assert (meter.malformed, meter.usage) == (1, Usage(1000, 50, 200))


def test_an_answer_that_broke_off_is_counted_from_its_text() -> None:
    parts = events("messages", REPLY)
    meter = metered("messages", b"".join(parts[:4]), 1000, is_stream=True)
    usage = meter.estimated_usage(9999)
    assert (usage.tokens_in, usage.estimated) == (1000, True)
    assert usage.tokens_out == -(-meter.output_chars // 4) > 0


def test_without_any_usage_the_prompt_is_counted_from_its_bytes() -> None:
    meter = metered(
        "chat", b'data: {"choices": [{"delta": {"content": "12345678"}}]}\n\n', 999, is_stream=True
    )
    assert meter.estimated_usage(400) == Usage(100, 2, estimated=True)
