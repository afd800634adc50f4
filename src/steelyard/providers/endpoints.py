"""A method and a path -> the endpoint of a provider, or None. What is not in this table is not served.

POST /v1/messages                                      anthropic messages
POST /v1/messages/count_tokens                         anthropic count_tokens
POST /v1/chat/completions                              openai    chat
POST /v1/responses                                     openai    responses
POST /v1beta/models/MODEL:generateContent              gemini    generate
POST /v1beta/models/MODEL:streamGenerateContent        gemini    generate, streaming
POST /v1beta/models/MODEL:countTokens                  gemini    count_tokens
GET  /v1/models, /v1beta/models, .../MODEL             a provider's models
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from steelyard.deferred.data_class import dataclass

WireFormat = Literal["messages", "chat", "responses", "generate", "count_tokens", "models"]

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}"
_QUERY = re.compile(r"(?:beta|alt|pageSize|limit)=[A-Za-z0-9_-]{1,40}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a request goes, relative to the provider's base URL, and what is spoken there."""

    provider: str
    wire: WireFormat
    path: str  # appended to a base URL
    query: str = ""
    model: str = ""  # where the path names it
    streams: bool = False  # where the path says so

    @property
    def is_metered(self) -> bool:
        """Whether a model generates an answer, for which tokens are billed."""
        return self.wire in {"messages", "chat", "responses", "generate"}


def endpoint_of(method: str, path: str, query: str, headers: Mapping[str, str]) -> Endpoint | None:
    """`path` as the client sent it, without decoding: an escaped slash is no slash here, and matches nothing."""
    found = _endpoint_of(method, path, headers)
    if found is None:
        return None
    kept = "&".join(part for part in query.split("&") if _QUERY.fullmatch(part))
    return Endpoint(found.provider, found.wire, found.path, kept, found.model, found.streams)


def _endpoint_of(method: str, path: str, headers: Mapping[str, str]) -> Endpoint | None:
    if method == "POST" and path in _POSTED:
        return _POSTED[path]
    if method == "POST" and (match := _GENERATED.fullmatch(path)):
        wire: WireFormat = "count_tokens" if match[2] == "countTokens" else "generate"
        return Endpoint("gemini", wire, path, model=match[1], streams=match[2].startswith("stream"))
    if method == "GET" and (match := _LISTED.fullmatch(path)):
        if match[1] == "v1beta":
            return Endpoint("gemini", "models", path)
        if "anthropic-version" in headers:
            return Endpoint("anthropic", "models", path)
        return Endpoint("openai", "models", path.removeprefix("/v1"))
    return None


_POSTED: Mapping[str, Endpoint] = {
    "/v1/messages": Endpoint("anthropic", "messages", "/v1/messages"),
    "/v1/messages/count_tokens": Endpoint("anthropic", "count_tokens", "/v1/messages/count_tokens"),
    "/v1/chat/completions": Endpoint("openai", "chat", "/chat/completions"),
    "/v1/responses": Endpoint("openai", "responses", "/responses"),
}
_GENERATED = re.compile(rf"/v1(?:beta)?/models/({_NAME}):(generateContent|streamGenerateContent|countTokens)")
_LISTED = re.compile(rf"/(v1|v1beta)/models(?:/{_NAME})?")
