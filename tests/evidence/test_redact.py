"""Redaction is deterministic, complete, and leaves the digest of what was there."""

from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from steelyard.evidence.redact import redact


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
