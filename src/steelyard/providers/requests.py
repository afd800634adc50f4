"""The body of a request -> what the gateway needs to know of it: model, stream, most output tokens, size of the prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from steelyard.providers.endpoints import Endpoint

DEFAULT_OUTPUT = 32_768  # where a request names no limit
_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
_CHOICES = ("n", "candidateCount")
_ESCAPED_KEY = re.compile(rb'"[^"\\\s]{0,40}\\u00[0-9a-fA-F]{2}[^"\s]{0,60}"\s*:')
_MODEL_CHARS = 200


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
        names = (*_LIMITS, *_CHOICES, "model", "stream")
        twice = any(self.body.count(b'"%b"' % name.encode()) > 1 for name in names)
        return twice or (b"\\u00" in self.body and _ESCAPED_KEY.search(self.body) is not None)


def parse_request(endpoint: Endpoint, body: bytes) -> ModelRequest:
    """Raises ValueError for a body that is not one JSON object."""
    data = orjson.loads(body)
    if not isinstance(data, dict):
        raise ValueError("the body is not a JSON object")  # noqa: TRY004  # of the client's, not of ours
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
        max_output=DEFAULT_OUTPUT if limit is None else limit * _choices(data),
        names_limit=limit is not None,
        messages=len(listed) if isinstance(listed, list) else int(isinstance(listed, str)),
        tools=len(tools) if isinstance(tools, list) else 0,
    )


def with_output_limit(request: ModelRequest, tokens: int) -> bytes:
    """The same request, in which the answer has at most so many tokens."""
    data = dict(request.data)
    if request.endpoint.wire == "generate":
        settings = data.get("generationConfig")
        data["generationConfig"] = {
            **(settings if isinstance(settings, dict) else {}),
            "maxOutputTokens": tokens,
        }
        return orjson.dumps(data)
    name = _LIMIT_OF[request.endpoint.wire]
    if request.endpoint.wire == "chat" and "max_completion_tokens" not in data and "max_tokens" in data:
        name = "max_tokens"
    return orjson.dumps({**data, name: tokens})


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
_LIMIT_OF = {"messages": "max_tokens", "chat": "max_completion_tokens", "responses": "max_output_tokens"}


def _limit(endpoint: Endpoint, data: Mapping[str, Any]) -> int | None:
    holder: Any = data.get("generationConfig") if endpoint.wire == "generate" else data
    if not isinstance(holder, dict):
        return None
    limits: list[int] = [holder[name] for name in _LIMITS if type(holder.get(name)) is int]
    return max(limits[0], 1) if limits else None


def _choices(data: Mapping[str, Any]) -> int:
    """Several answers to one prompt are several times the tokens."""
    settings = data.get("generationConfig")
    holders = (data, settings if isinstance(settings, dict) else {})
    limits: list[int] = [
        holder[name] for holder in holders for name in _CHOICES if type(holder.get(name)) is int
    ]
    return min(max([1, *limits]), 1024)
