"""A question to one model -> its words. No vendor SDK is used: one takes a second to load.

A request is repeated after 429, 5xx and a broken connection, after the time that the server asks for, within `total_s`. No redirect
is followed, so the key goes to no other host; a reply is read up to `MOST_BYTES` and never unpacked. A failure is a
`NoAnswer` whose message never contains the key.
"""

from __future__ import annotations

import json
import random
import time
from typing import Any, NamedTuple

from steelyard.judge.provider import JudgeRetryPolicy, Juror, NoAnswer, Words
from steelyard.judge.reply import prefix
from steelyard.providers.client import PostFailure, post

MOST_BYTES = 1 << 20
SECRET_CHARS = 16  # makers' keys are longer than forty
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_DISPENSABLE = (
    "temperature",
    "max_completion_tokens",
)  # newer models refuse the one, older servers the other


class _HttpReply(NamedTuple):
    status: int
    body: bytes
    retry_after: str


class _Again(Exception):
    """Worth another try, after `wait_s` if the server said so."""

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.wait_s = wait_s


def words_of(juror: Juror, system: str, user: str, retry_policy: JudgeRetryPolicy | None = None) -> Words:
    """Ask, and ask again where that may help; raises `NoAnswer`."""
    if juror.missing or juror.provider is None:
        raise NoAnswer(juror.missing)
    retry_policy = retry_policy or JudgeRetryPolicy()
    body, ends = juror.provider.body(juror.name, system, user), time.monotonic() + retry_policy.total_s
    for attempt in range(retry_policy.attempts):
        try:
            return _words(juror, body, ends)
        except _Again as again:
            why, wait_s = str(again), again.wait_s
        if wait_s is None:
            wait_s = retry_policy.backoff_s * 2**attempt * random.uniform(0.5, 1)  # noqa: S311  # spreads a jury out
        wait_s = min(wait_s, retry_policy.most_wait_s)
        if attempt + 1 == retry_policy.attempts or time.monotonic() + wait_s >= ends:
            break
        time.sleep(wait_s)
    raise NoAnswer(f"{why}, asked {attempt + 1} times")


def _words(juror: Juror, body: dict[str, Any], ends: float) -> Words:
    """One try. An optional field that the server refuses by name is left out from then on."""
    assert juror.provider is not None
    http_reply = _post(juror, body, ends)
    if http_reply.status in _AGAIN:
        raise _Again(f"HTTP {http_reply.status}", _seconds(http_reply.retry_after))
    if http_reply.status == 400 and (
        refused := [name for name in _DISPENSABLE if name in body and name.encode() in http_reply.body]
    ):
        del body[refused[0]]
        raise _Again(f"HTTP 400 about {refused[0]}", 0.0)
    if http_reply.status in {401, 403}:
        raise NoAnswer(f"HTTP {http_reply.status}: the key in {juror.provider.key_name} was refused")
    if http_reply.status != 200:
        raise NoAnswer(f"HTTP {http_reply.status}: {_without(juror.key, http_reply.body)}".rstrip(": "))
    try:
        words = juror.provider.words(json.loads(http_reply.body))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise NoAnswer(
            f"not a reply in the format of this provider: {_without(juror.key, http_reply.body)}"
        ) from error
    return words._replace(text=_hidden(juror.key, words.text))


def _post(juror: Juror, body: dict[str, Any], ends: float) -> _HttpReply:
    assert juror.provider is not None
    headers = {**juror.provider.headers(juror.key), "content-type": "application/json"}
    try:
        http_reply = post(
            juror.url, json.dumps(body).encode(), headers, within_s=_seconds_left(ends), most_bytes=MOST_BYTES
        )
    except PostFailure as failure:
        if failure.kind in {"timeout", "compressed", "too_large"}:
            raise NoAnswer(str(failure)) from failure
        why = str(failure) if failure.kind == "broken" else f"the connection failed: {failure}"
        raise _Again(_without(juror.key, why.encode())) from failure
    return _HttpReply(http_reply.status, http_reply.body, http_reply.headers.get("retry-after", ""))


def _seconds_left(ends: float) -> float:
    left = ends - time.monotonic()
    if left <= 0:
        raise NoAnswer("timed out")
    return left


def _seconds(retry_after: str) -> float | None:
    """The seconds of `retry-after: 2`; a date is ignored."""
    return (
        float(retry_after)
        if retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 6
        else None
    )


def _without(key: str, body: bytes) -> str:
    return prefix(_hidden(key, body[:4096].decode("utf-8", "replace")))


def _hidden(key: str, text: str) -> str:
    """Remove a real key from a message. A local server may accept any short word as a key, and such a word stays."""
    return text.replace(key, "[key]") if len(key) >= SECRET_CHARS else text
