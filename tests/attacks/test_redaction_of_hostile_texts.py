"""An agent that writes texts against the redaction of the log: to stall the controller, or to be shown what is redacted."""

from __future__ import annotations

import time

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
