"""What a provider says it billed -> one meaning for all of them.

tokens_in     every input token: fresh ones, those read from a cache, those written to one
cache_read    of these, read from a cache          cache_write   of these, written to one
tokens_out    every output token, reasoning included     reasoning     of these, reasoning

anthropic   input_tokens leaves both kinds of cached tokens out; they are added here
openai      prompt_tokens / input_tokens include cached tokens; output tokens include reasoning
gemini      promptTokenCount includes cached tokens; thoughts and candidates are counted apart, and added here
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from steelyard.deferred.data_class import dataclass

MOST_TOKENS = 1 << 40  # a larger count is no count


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer. `estimated`: the provider did not say, so they were counted from the text."""

    tokens_in: int = 0
    tokens_out: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0  # of `cache_write`, kept for an hour, which costs more
    reasoning: int = 0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def to_json(self) -> dict[str, Any]:
        return {
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "cache_read": self.cache_read,
            "cache_write": self.cache_write,
            "reasoning": self.reasoning,
            "estimated": self.estimated,
        }


def usage_of(wire: str, data: Any, before: Usage | None = None) -> Usage | None:
    """The usage object of an answer, or of an event in a stream; `before` is what earlier events said."""
    if not isinstance(data, dict):
        return before
    read = _READERS.get(wire)
    return before if read is None else read(data, before)


def _anthropic(data: Mapping[str, Any], before: Usage | None) -> Usage | None:
    """The last event of a stream may name the output alone, or everything again."""
    fresh, out = _count(data.get("input_tokens")), _count(data.get("output_tokens"))
    if fresh is None:
        return before if before is None or out is None else replace(before, tokens_out=out)
    read, write = (
        _count(data.get("cache_read_input_tokens")) or 0,
        _count(data.get("cache_creation_input_tokens")) or 0,
    )
    by_time = data.get("cache_creation")
    hour = _count(by_time.get("ephemeral_1h_input_tokens")) or 0 if isinstance(by_time, dict) else 0
    return Usage(fresh + read + write, out or 0, read, write, min(hour, write))


def _chat(data: Mapping[str, Any], before: Usage | None) -> Usage | None:
    return _openai(data, before, ("prompt_tokens", "completion_tokens"))


def _responses(data: Mapping[str, Any], before: Usage | None) -> Usage | None:
    return _openai(data, before, ("input_tokens", "output_tokens"))


def _openai(data: Mapping[str, Any], before: Usage | None, names: tuple[str, str]) -> Usage | None:
    tokens_in, tokens_out = (_count(data.get(name)) for name in names)
    if tokens_in is None or tokens_out is None:
        return before
    cached = _count(_member(data, f"{names[0]}_details", "cached_tokens")) or 0
    reasoning = _count(_member(data, f"{names[1]}_details", "reasoning_tokens")) or 0
    return Usage(tokens_in, tokens_out, min(cached, tokens_in), reasoning=min(reasoning, tokens_out))


def _gemini(data: Mapping[str, Any], before: Usage | None) -> Usage | None:
    prompt = _count(data.get("promptTokenCount"))
    if prompt is None:
        return before
    tools = _count(data.get("toolUsePromptTokenCount")) or 0
    thoughts = _count(data.get("thoughtsTokenCount")) or 0
    cached = _count(data.get("cachedContentTokenCount")) or 0
    out = (_count(data.get("candidatesTokenCount")) or 0) + thoughts
    return Usage(prompt + tools, out, min(cached, prompt), reasoning=thoughts)


_READERS = {"messages": _anthropic, "chat": _chat, "responses": _responses, "generate": _gemini}


def _member(data: Mapping[str, Any], *path: str) -> Any:
    value: Any = data
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < MOST_TOKENS else None
