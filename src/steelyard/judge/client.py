"""A question to one model -> its words. No SDK of a maker: one takes a second to load.

Asked again after 429, 5xx and a connection that broke, after as long as the server says, within `total_s`. No redirect
is followed, so the key goes to no other host; a reply is read up to `MOST_BYTES` and never unpacked. What goes wrong is a
`NoAnswer` that says what, in words that the key is not among.
"""

from __future__ import annotations

import json
import random
import time
from typing import Any, NamedTuple

from steelyard.judge.provider import Juror, NoAnswer, RetryPolicy, Words
from steelyard.judge.reply import prefix
from steelyard.providers.client import PostFailure, post

MOST_BYTES = 1 << 20
SECRET_CHARS = 16  # makers' keys are longer than forty
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_DISPENSABLE = (
    "temperature",
    "max_completion_tokens",
)  # newer models refuse the one, older servers the other


class _Got(NamedTuple):
    status: int
    body: bytes
    retry_after: str


class _Again(Exception):
    """Worth another try, after `wait_s` if the server said so."""

    def __init__(self, why: str, wait_s: float | None = None) -> None:
        super().__init__(why)
        self.wait_s = wait_s


def words_of(juror: Juror, system: str, user: str, retry_policy: RetryPolicy | None = None) -> Words:
    """Ask, and ask again where that may help; raises `NoAnswer`."""
    if juror.missing or juror.wire is None:
        raise NoAnswer(juror.missing)
    retry_policy = retry_policy or RetryPolicy()
    body, ends = juror.wire.body(juror.name, system, user), time.monotonic() + retry_policy.total_s
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
    """One try. What the server refuses by name, and can be done without, is left out from then on."""
    assert juror.wire is not None
    got = _post(juror, body, ends)
    if got.status in _AGAIN:
        raise _Again(f"HTTP {got.status}", _seconds(got.retry_after))
    if got.status == 400 and (
        refused := [name for name in _DISPENSABLE if name in body and name.encode() in got.body]
    ):
        del body[refused[0]]
        raise _Again(f"HTTP 400 about {refused[0]}", 0.0)
    if got.status in {401, 403}:
        raise NoAnswer(f"HTTP {got.status}: the key in {juror.wire.key_name} was refused")
    if got.status != 200:
        raise NoAnswer(f"HTTP {got.status}: {_without(juror.key, got.body)}".rstrip(": "))
    try:
        words = juror.wire.words(json.loads(got.body))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise NoAnswer(
            f"not a reply in the format of this provider: {_without(juror.key, got.body)}"
        ) from error
    return words._replace(text=_hidden(juror.key, words.text))


def _post(juror: Juror, body: dict[str, Any], ends: float) -> _Got:
    assert juror.wire is not None
    headers = {**juror.wire.headers(juror.key), "content-type": "application/json"}
    try:
        got = post(juror.url, json.dumps(body).encode(), headers, within_s=_left(ends), most_bytes=MOST_BYTES)
    except PostFailure as failure:
        if failure.kind in {"timeout", "compressed", "too_large"}:
            raise NoAnswer(str(failure)) from failure
        why = str(failure) if failure.kind == "broken" else f"the connection failed: {failure}"
        raise _Again(_without(juror.key, why.encode())) from failure
    return _Got(got.status, got.body, got.headers.get("retry-after", ""))


def _left(ends: float) -> float:
    left = ends - time.monotonic()
    if left <= 0:
        raise NoAnswer("timed out")
    return left


def _seconds(said: str) -> float | None:
    """`retry-after: 2`; a date is as good as nothing said."""
    return float(said) if said.isascii() and said.isdigit() and len(said) < 6 else None


def _without(key: str, body: bytes) -> str:
    return prefix(_hidden(key, body[:4096].decode("utf-8", "replace")))


def _hidden(key: str, text: str) -> str:
    """A server of one's own takes any word for a key, and a word must not be cut out of what a model says."""
    return text.replace(key, "[key]") if len(key) >= SECRET_CHARS else text
