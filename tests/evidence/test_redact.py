"""Redaction is deterministic, complete, and leaves the digest of what was there."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.evidence.redact import RedactedStream, Secrets, redact


def test_a_secret_is_replaced_by_its_name() -> None:
    assert redact("key=hunter2 ok", {"API_KEY": "hunter2"}).text == "key=[redacted:API_KEY] ok"


def test_the_longest_secret_wins() -> None:
    assert redact("hunter22", {"SHORT": "hunter", "LONG": "hunter22"}).text == "[redacted:LONG]"


def test_an_empty_secret_redacts_nothing() -> None:
    assert redact("text", {"EMPTY": ""}).text == "text"


def test_a_pattern_is_redacted_too_but_never_inside_a_placeholder() -> None:
    redacted = redact("a1b2 secret", {"S": "secret"}, {"red": "[a-f0-9]{2}"})
    assert redacted.text == "[redacted:red][redacted:red] [redacted:S]"
    assert redacted.spans == 3


def test_the_digest_is_of_the_unredacted_text() -> None:
    assert redact("s", {"S": "s"}).sha256 == hashlib.sha256(b"s").hexdigest()


@given(
    text=st.text(), secrets=st.dictionaries(st.sampled_from(["A", "B"]), st.text(alphabet="xyz", min_size=1))
)
def test_no_secret_survives_outside_a_placeholder_and_the_result_is_the_same_each_time(
    text: str, secrets: dict[str, str]
) -> None:
    first = redact(text, secrets)
    assert first == redact(text, dict(reversed(secrets.items())))
    pieces = first.text.replace("[redacted:A]", "\0").replace("[redacted:B]", "\0").split("\0")
    assert not any(secret in piece for secret in secrets.values() for piece in pieces)


KEY = "sk-test-0123456789abcdef"
SECRETS = Secrets({"API_KEY": KEY})


@given(st.lists(st.integers(1, 9), max_size=20), st.binary(max_size=40), st.binary(max_size=40))
def test_a_stream_is_redacted_however_it_is_cut(sizes: list[int], before: bytes, after: bytes) -> None:
    data = before + KEY.encode() + after + KEY.encode()
    stream, at, out = RedactedStream(SECRETS), 0, b""
    for size in sizes:
        out += stream.feed(data[at : at + size])
        at += size
    out += stream.feed(data[at:]) + stream.end()
    assert out == SECRETS.redact(data)
    assert KEY.encode() not in out
    assert stream.found == {"API_KEY"}


def test_a_stream_holds_back_only_what_may_be_a_beginning() -> None:
    stream = RedactedStream(SECRETS)
    assert stream.feed(b"hello sk-te") == b"hello "
    assert stream.feed(b"apot") == b"sk-teapot"


def test_a_value_that_is_the_beginning_of_another_waits_for_the_longer_one() -> None:
    stream = RedactedStream(Secrets({"SHORT": "abcdefgh", "LONG": "abcdefghij"}))
    out = stream.feed(b"abcdefgh") + stream.feed(b"ij abcdefgh") + stream.end()
    assert out == b"[redacted:LONG] [redacted:SHORT]"


def test_the_end_of_a_value_is_not_taken_for_the_beginning_of_another() -> None:
    stream = RedactedStream(Secrets({"K": "abcabcabcab"}))
    assert stream.feed(b"abcabcabcab") + stream.end() == b"[redacted:K]"


@pytest.mark.parametrize(
    "spelling",
    [
        base64.b64encode(KEY.encode()),
        base64.b64encode(b"user:" + KEY.encode()),
        base64.b64encode(b"me:" + KEY.encode() + b"\n"),
        KEY.encode().hex().encode(),
    ],
)
def test_usual_encodings_of_a_value_are_redacted_too(spelling: bytes) -> None:
    assert b"[redacted:API_KEY]" in SECRETS.redact(b"<" + spelling + b">")


def test_a_value_with_quotes_is_found_in_json() -> None:
    secrets = Secrets({"K": 'pass"word\\here'})
    assert secrets.redact(json.dumps({"text": 'pass"word\\here'}).encode()) == b'{"text": "[redacted:K]"}'


def test_a_short_value_is_not_searched_for() -> None:
    assert not Secrets({"IS_SANDBOX": "1"})
    assert Secrets({"IS_SANDBOX": "1"}).redact(b"11") == b"11"


def test_the_values_are_not_in_the_representation() -> None:
    assert KEY not in repr(SECRETS)
