"""The name of a model -> where it is asked, with which key, in which wire format.

    claude-*        Anthropic Messages          ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL
    gpt-*, o1...    OpenAI chat completions     OPENAI_API_KEY, OPENAI_BASE_URL
    anthropic:NAME, openai:NAME                 says it for any other name

A key is in no repr, no error and no record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from steelyard.deferred.data_class import dataclass

_FORM = re.compile(r"(?:(anthropic|openai):)?([A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199})")
_OPENAI = re.compile(r"gpt-|chatgpt-|o\d")
# They refuse a temperature. Others that do are asked once more without it (client.py).
_WITHOUT_TEMPERATURE = re.compile(r"claude-[a-z]+-(4-[7-9]|[5-9])|gpt-[5-9]|o\d")


class NoAnswer(Exception):
    """The model gave no answer; the message says why."""


@dataclass(frozen=True, slots=True)
class JudgeRetryPolicy:
    """How long a model is waited for, and how often it is asked."""

    total_s: float = 300.0
    attempts: int = 5
    backoff_s: float = 1.0  # doubled each time
    most_wait_s: float = 60.0  # however long a server asks for


class Words(NamedTuple):
    """What came back: the text, and what was metered."""

    text: str
    tokens_in: int | None
    tokens_out: int | None
    complete: bool  # not cut off at the limit of tokens


@dataclass(frozen=True, slots=True)
class JudgeApi:
    """How one family of models is spoken to."""

    name: str
    default_model: str
    default_url: str
    path: str
    headers: Callable[[str], Mapping[str, str]]
    body: Callable[[str, str, str], dict[str, Any]]  # model, system, user
    words: Callable[[Any], Words]  # of the reply, parsed; raises when it is none

    @property
    def key_name(self) -> str:
        return f"{self.name.upper()}_API_KEY"

    @property
    def url_name(self) -> str:
        return f"{self.name.upper()}_BASE_URL"


@dataclass(frozen=True, slots=True)
class Juror:
    """A model that can be asked, or `missing`: why it cannot."""

    model: str  # as the contract names it
    name: str = ""  # as its maker does
    provider: JudgeApi | None = None
    url: str = ""
    key: str = field(default="", repr=False)
    missing: str = ""


class ModelMaker(NamedTuple):
    provider: JudgeApi
    name: str  # what the maker calls it


def maker_of(model: str) -> ModelMaker | None:
    """Who makes the model of that name, or None if the name does not tell."""
    form = _FORM.fullmatch(model)
    provider = _provider_of(form[1], form[2]) if form else None
    return ModelMaker(provider, form[2]) if form and provider else None


def juror_of(model: str, env: Mapping[str, str]) -> Juror:
    maker = maker_of(model)
    if maker is None:
        return Juror(
            model,
            missing=f"unknown provider of the model {model[:200]!r}; write anthropic:NAME or openai:NAME",
        )
    provider, name = maker
    key, url = (
        env.get(provider.key_name, "").strip(),
        env.get(provider.url_name, "").strip() or provider.default_url,
    )
    if not key:
        return Juror(model, missing=f"no key: set {provider.key_name}")
    if not re.fullmatch(r"[!-~]+", key):
        return Juror(model, missing=f"{provider.key_name} has characters that no key has")
    if not _is_plain(url):
        return Juror(model, missing=f"{provider.url_name} is not an http(s) address")
    return Juror(model, name, provider, url.rstrip("/") + provider.path, key)


def default_models(env: Mapping[str, str]) -> tuple[str, ...]:
    """One model, of the first maker that there is a key of."""
    keyed = [
        provider.default_model for provider in PROVIDERS.values() if env.get(provider.key_name, "").strip()
    ]
    return tuple(keyed[:1])


def _provider_of(maker: str | None, name: str) -> JudgeApi | None:
    if maker:
        return PROVIDERS[maker]
    if name.startswith("claude-"):
        return PROVIDERS["anthropic"]
    return PROVIDERS["openai"] if _OPENAI.match(name) else None


def _is_plain(url: str) -> bool:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # raises where it is no number
    except ValueError:
        return False
    return (
        parts.scheme in {"http", "https"}
        and bool(parts.hostname)
        and not (parts.query or parts.fragment or parts.username)
        and re.fullmatch(r"[!-~]+", url) is not None
    )


def _anthropic_body(model: str, system: str, user: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": user}]
    return {"model": model, "max_tokens": 8192, **_temperature(model), "system": system, "messages": messages}


def _anthropic_words(reply: Any) -> Words:
    text = "".join(block["text"] for block in reply["content"] if block["type"] == "text")
    usage = reply.get("usage") or {}
    tokens = _count(usage.get("input_tokens")), _count(usage.get("output_tokens"))
    return Words(text, *tokens, complete=reply.get("stop_reason") != "max_tokens")


def _openai_body(model: str, system: str, user: str) -> dict[str, Any]:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return {"model": model, "max_completion_tokens": 16_000, **_temperature(model), "messages": messages}


def _openai_words(reply: Any) -> Words:
    choice, usage = reply["choices"][0], reply.get("usage") or {}
    text = choice["message"].get("content") or choice["message"].get("refusal") or ""
    tokens = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    return Words(str(text), *tokens, complete=choice.get("finish_reason") != "length")


def _temperature(model: str) -> dict[str, int]:
    return {} if _WITHOUT_TEMPERATURE.match(model) else {"temperature": 0}


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 53 else None


PROVIDERS = {
    "anthropic": JudgeApi(
        name="anthropic",
        default_model="claude-opus-4-8",
        default_url="https://api.anthropic.com",
        path="/v1/messages",
        headers=lambda key: {"x-api-key": key, "anthropic-version": "2023-06-01"},
        body=_anthropic_body,
        words=_anthropic_words,
    ),
    "openai": JudgeApi(
        name="openai",
        default_model="gpt-5.4",
        default_url="https://api.openai.com/v1",
        path="/chat/completions",
        headers=lambda key: {"authorization": f"Bearer {key}"},
        body=_openai_body,
        words=_openai_words,
    ),
}
