"""Texts under a privacy policy: what is replaced, where, and what an operator may write as a pattern."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.errors import OperatorFault
from steelyard.evidence.text_rules import MOST_DEPTH, MOST_SPANS, Span, TextRules, read_patterns
from steelyard.evidence.trace.events import EventLog, read_events

MAIL = {"mail": r"[a-z]+@[a-z]+\.[a-z]+"}
KEY = "ghp_" + "a1B2" * 10


def test_every_text_of_a_value_is_redacted_and_the_spans_name_their_places() -> None:
    safe = TextRules(MAIL).redact_json({"messages": [{"content": 'say "hi" to ann@work.org\n'}], "n": 3})
    assert safe.value == {"messages": [{"content": 'say "hi" to [redacted:mail]\n'}], "n": 3}
    assert (safe.spans, safe.total) == ([Span("messages[0].content", 12, 12, "mail")], 1)


def test_forms_of_keys_are_redacted_without_a_pattern_of_the_operator() -> None:
    assert TextRules().redact_json([f"token {KEY}"]).value == ["token [redacted:github_token]"]


def test_names_of_members_are_redacted_too() -> None:
    assert TextRules(MAIL).redact_json({"ann@work.org": 1}).value == {"[redacted:mail]": 1}


def test_a_pattern_that_matches_nothing_at_all_replaces_nothing() -> None:
    safe = TextRules({"empty": "x*"}).redact_json("abc")
    assert (safe.value, safe.total) == ("abc", 0)


def test_listed_spans_are_bounded_and_all_are_counted() -> None:
    safe = TextRules(MAIL).redact_json("a@b.c " * (MOST_SPANS + 5))
    assert (len(safe.spans), safe.total) == (MOST_SPANS, MOST_SPANS + 5)


def test_the_digest_of_the_rules_changes_with_a_pattern() -> None:
    assert TextRules(MAIL).digest != TextRules().digest == TextRules({}).digest


@pytest.mark.parametrize("text", ["mail", "mail=", "1a=x", "a=(", "a=(x)", "a=(?P<n>x)"])
def test_a_pattern_that_cannot_be_used_is_refused(text: str) -> None:
    with pytest.raises(OperatorFault, match="--redact"):
        read_patterns((text,))


def test_events_of_the_agent_are_redacted_and_those_of_the_harness_are_not(tmp_path: Path) -> None:
    with EventLog(tmp_path / "log", rules=TextRules(MAIL)) as log:
        log.append("agent.message", "agent", {"prefix": "to ann@work.org"})
        log.append("brief", "harness", {"text": "ask ann@work.org"})
    result, redaction, brief = read_events(tmp_path / "log")
    assert result.payload == {"prefix": "to [redacted:mail]"}
    assert (redaction.type, redaction.payload["event"], redaction.payload["spans"]) == (
        "redaction",
        1,
        {"mail": 1},
    )
    assert brief.payload == {"text": "ask ann@work.org"}


def test_what_is_nested_too_deeply_is_left_out() -> None:
    value: list[object] = ["ann@work.org"]
    for _ in range(MOST_DEPTH + 10):
        value = [value]
    safe = TextRules(MAIL).redact_json(value)
    assert ("[redacted:depth]" in str(safe.value), "ann" in str(safe.value)) == (True, False)
