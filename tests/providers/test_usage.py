"""What providers say about tokens, each in its own words, means one thing here."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.providers.usage import Usage, usage_of

SAID: list[tuple[str, dict[str, Any], Usage]] = [
    ("messages", {"input_tokens": 10, "output_tokens": 5}, Usage(10, 5)),
    (
        "messages",
        {
            "input_tokens": 10,
            "output_tokens": 5,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 20,
        },
        Usage(130, 5, 100, 20),
    ),
    (
        "messages",
        {
            "input_tokens": 1,
            "output_tokens": 2,
            "cache_creation_input_tokens": 20,
            "cache_creation": {"ephemeral_1h_input_tokens": 15},
        },
        Usage(21, 2, 0, 20, 15),
    ),
    (
        "chat",
        {
            "prompt_tokens": 130,
            "completion_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": 100},
            "completion_tokens_details": {"reasoning_tokens": 4},
        },
        Usage(130, 9, 100, reasoning=4),
    ),
    (
        "responses",
        {"input_tokens": 130, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 100}},
        Usage(130, 9, 100),
    ),
    (
        "generate",
        {
            "promptTokenCount": 130,
            "candidatesTokenCount": 5,
            "thoughtsTokenCount": 4,
            "cachedContentTokenCount": 100,
            "toolUsePromptTokenCount": 7,
        },
        Usage(137, 9, 100, reasoning=4),
    ),
]


@pytest.mark.parametrize(("wire", "result", "usage"), SAID)
def test_input_has_cached_tokens_in_it_and_output_has_reasoning(
    wire: str, result: dict[str, Any], usage: Usage
) -> None:
    assert usage_of(wire, result) == usage


@pytest.mark.parametrize("wire", ["messages", "chat", "responses", "generate"])
@pytest.mark.parametrize(
    "result", [None, [], {}, {"input_tokens": -1}, {"prompt_tokens": "5"}, {"input_tokens": True}]
)
def test_what_is_no_count_is_not_known(wire: str, result: Any) -> None:
    assert usage_of(wire, result) is None


def test_the_last_event_of_a_stream_may_name_the_output_alone() -> None:
    assert usage_of("messages", {"output_tokens": 40}, Usage(130, 1, 100)) == Usage(130, 40, 100)
