"""The body of a request -> what the gateway needs to know of it: model, stream, most output tokens, size of the prompt."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import orjson

from steelyard.deferred.data_class import dataclass
from steelyard.providers.endpoints import Endpoint

DEFAULT_OUTPUT = 32_768  # where a request names no limit
# The names that a provider reads. A limit by another name limits nothing there.
_LIMITS = {
    "messages": ("max_tokens",),
    "chat": ("max_completion_tokens", "max_tokens"),
    "responses": ("max_output_tokens",),
    "generate": ("maxOutputTokens", "max_output_tokens"),
}
_SETTINGS = ("generationConfig", "generation_config")  # Gemini reads both spellings
_CHOICES = ("n", "candidateCount", "candidate_count")
_DECISIVE = frozenset(
    {name for names in _LIMITS.values() for name in names}
    | {*_SETTINGS, *_CHOICES, "model", "stream", "tools", "background"}
)
_ESCAPED_KEY = re.compile(rb'"[^"\\\s]{0,40}\\u00[0-9a-fA-F]{2}[^"\s]{0,60}"\s*:')
_MODEL_CHARS = 200
_MOST_DIGITS = 18


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model, as far as metering needs it."""

    endpoint: Endpoint
    body: bytes = field(repr=False)  # as the client sent it
    data: Mapping[str, Any] = field(repr=False)
    model: str = ""
    is_stream: bool = False
    max_output: int = DEFAULT_OUTPUT  # tokens, over all choices
    names_limit: bool = False
    messages: int = 0
    tools: int = 0

    @property
    def is_ambiguous(self) -> bool:
        """Whether another parser could read a different limit: a key that is there twice, or is spelt with escapes."""
        twice = any(self.body.count(b'"%b"' % name.encode()) > 1 for name in _DECISIVE)
        return twice or (b"\\u00" in self.body and _ESCAPED_KEY.search(self.body) is not None)


def parse_request(endpoint: Endpoint, body: bytes) -> ModelRequest:
    """Raises ValueError for a body that is not one JSON object."""
    data = orjson.loads(body)
    if not isinstance(data, dict):
        raise ValueError("the body is not a JSON object")  # noqa: TRY004  # the client's mistake, not ours
    model = endpoint.model or data.get("model")
    limit = _limit(endpoint, data)
    listed = data.get(_CONVERSATION.get(endpoint.wire, "messages"))
    tools = data.get("tools")
    return ModelRequest(
        endpoint,
        body,
        data,
        model=model[:_MODEL_CHARS] if isinstance(model, str) else "",
        is_stream=endpoint.streams or data.get("stream") is True,
        max_output=(DEFAULT_OUTPUT if limit is None else limit) * _choices(data),
        names_limit=limit is not None,
        messages=len(listed) if isinstance(listed, list) else int(isinstance(listed, str)),
        tools=len(tools) if isinstance(tools, list) else 0,
    )


def with_output_limit(request: ModelRequest, tokens: int) -> bytes:
    """The same request, in which all choices of the answer together have at most so many tokens."""
    data, wire = dict(request.data), request.endpoint.wire
    limit = max(tokens // _choices(data), 1)
    names = _LIMITS[wire]
    if wire == "generate":
        settings = {key: value for key, value in _settings(data).items() if key not in names}
        kept = {key: value for key, value in data.items() if key not in _SETTINGS}
        return orjson.dumps({**kept, _SETTINGS[0]: {**settings, names[0]: limit}})
    lowered = dict.fromkeys([name for name in names if name in data] or names[:1], limit)
    return orjson.dumps({**data, **lowered})


def with_usage(request: ModelRequest) -> bytes | None:
    """A streamed chat completion reports its usage only on request; None where the client asks for it itself."""
    if request.endpoint.wire != "chat" or not request.is_stream:
        return None
    options = request.data.get("stream_options")
    options = options if isinstance(options, dict) else {}
    if options.get("include_usage") is True:
        return None
    return orjson.dumps({**request.data, "stream_options": {**options, "include_usage": True}})


_CONVERSATION = {"responses": "input", "generate": "contents"}


def _limit(endpoint: Endpoint, data: Mapping[str, Any]) -> int | None:
    """The largest one, where a request has several."""
    holder = _settings(data) if endpoint.wire == "generate" else data
    said = [_count(holder.get(name)) for name in _LIMITS.get(endpoint.wire, ())]
    named = [one for one in said if one is not None]
    return max([1, *named]) if named else None


def _choices(data: Mapping[str, Any]) -> int:
    """Several answers to one prompt are several times the tokens."""
    said = [_count(holder.get(name)) for holder in (data, _settings(data)) for name in _CHOICES]
    return min(max(1, *(one or 1 for one in said)), 1024)


def _settings(data: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in reversed(_SETTINGS):
        one = data.get(name)
        found.update(one if isinstance(one, dict) else {})
    return found


def _count(value: Any) -> int | None:
    """A number as lenient servers read it: 5, 5.0 and "5" are the same."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS:
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return int(value)
    return value if type(value) is int else None
