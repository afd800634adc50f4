"""A question to one model -> its words. The standard library, for a makers' SDK takes a second to load.

Asked again after 429, 5xx and a connection that broke, after as long as the server says, within `total_s`. No redirect
is followed, so the key goes to no other host; a reply is read up to `MOST_BYTES` and never unpacked. What goes wrong is a
`NoAnswer` that says what, in words that the key is not among.
"""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.request
from typing import Any, NamedTuple

from steelyard.judge.provider import Juror, NoAnswer, RetryPolicy, Words
from steelyard.judge.reply import prefix

MOST_BYTES = 1 << 20
SECRET_CHARS = 16  # makers' keys are longer than forty
_CHUNK = 1 << 16
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_DISPENSABLE = (
    "temperature",
    "max_completion_tokens",
)  # newer models refuse the one, older servers the other
_HERE = frozenset({"127.0.0.1", "localhost"})  # no proxy leads there


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


class _AsItIs(urllib.request.HTTPErrorProcessor):
    """Every status is a reply. So no redirect is followed: a key is for the host that it was given for."""

    def http_response(self, request: Any, response: Any) -> Any:
        del request
        return response

    https_response = http_response


def _post(juror: Juror, body: dict[str, Any], ends: float) -> _Got:
    assert juror.wire is not None
    headers = {
        **juror.wire.headers(juror.key),
        "content-type": "application/json",
        "accept-encoding": "identity",
        "user-agent": "steelyard",
    }
    request = urllib.request.Request(juror.url, json.dumps(body).encode(), headers, method="POST")  # noqa: S310  # wire.py lets only http(s) through
    here = [urllib.request.ProxyHandler({})] if request.host.split(":")[0] in _HERE else []
    try:
        with urllib.request.build_opener(_AsItIs, *here).open(request, timeout=_left(ends)) as response:
            return _read(response, ends)
    except (OSError, http.client.HTTPException) as error:
        reason = str(getattr(error, "reason", None) or error) or type(error).__name__
        raise _Again(f"the connection failed: {_without(juror.key, reason.encode())}") from error


def _read(response: Any, ends: float) -> _Got:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise NoAnswer("a compressed reply, which was not requested")
    data = b""
    while chunk := response.read1(_CHUNK):
        data += chunk
        if len(data) > MOST_BYTES:
            raise NoAnswer(f"a reply of more than {MOST_BYTES >> 20} MiB")
        _left(ends)
    if response.length:
        raise _Again("the connection broke off")
    return _Got(response.status, data, response.headers.get("retry-after", ""))


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
