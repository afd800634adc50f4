"""An agent that writes texts against the redaction of the log: to stall the controller, or to be shown what is redacted."""

from __future__ import annotations

import time

from steelyard.evidence.bounded_search import BoundedSearch, Match
from steelyard.evidence.key_rules import redact_keys
from steelyard.evidence.text_rules import TextRules

BEGIN, END = b"-----BEGIN PRIVATE" + b" KEY-----", b"-----END PRIVATE" + b" KEY-----"


def test_many_beginnings_of_a_key_take_no_time() -> None:
    """Python holds its lock while it searches, so every other run would wait too."""
    begun = time.process_time()
    redact_keys(BEGIN * (500_000 // len(BEGIN)))
    assert time.process_time() - begun < 3  # it took 7 s


def test_a_removed_key_and_one_behind_a_lone_beginning_are_redacted() -> None:
    removed = b"-" + BEGIN + b"\n-MIIE\n-" + END
    assert redact_keys(removed).data == b"-[redacted:private_key]"
    assert b"MIIE" not in redact_keys(BEGIN + b" is how one begins\n" + BEGIN + b"\nMIIE\n" + END).data


def test_the_place_of_a_span_does_not_show_a_redacted_name() -> None:
    safe = TextRules({"mail": r"[a-z]+@[a-z.]+"}).redact_json({"ann@work.org": {"to": "bob@work.org"}})
    assert safe.spans[1].where == "[redacted:mail].to"
    assert "ann" not in str(safe)


def test_a_text_that_a_pattern_needs_exponential_time_for_is_replaced_as_a_whole() -> None:
    rules = TextRules({"twice": "(?:a+)+b"})
    safe = rules.redact_json({"kind": "note", "text": "a" * 60, "after": "aab"})
    assert safe.value == {"kind": "note", "text": "[redacted:time]", "after": "[redacted:twice]"}
    assert [span.rule for span in safe.spans] == ["time", "twice"]


def test_a_search_ends_its_process_when_its_time_is_over() -> None:
    search = BoundedSearch("(?P<rule0>(?:a+)+b)", time_ms=300)
    assert [search.find("a" * 70 + str(number)) for number in range(2)] == [None, None]
    assert search.find("xaab") == [Match(1, 3, 0)]
