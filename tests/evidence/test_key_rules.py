"""What has the form of a key is not written into a log; that something was taken out is."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson
import pytest

from steelyard.evidence.folder.blobs import Blobs, store_text
from steelyard.evidence.key_rules import redact_keys
from steelyard.evidence.redact import Secrets
from steelyard.evidence.trace.events import EventLog, read_events, verify_chain

# Assembled here: a scanner of this repository need not find them.
KEYS = {
    "anthropic_key": "sk-ant-" + "api03-" + "Ab1_" * 8,
    "openai_key": "sk-" + "proj-" + "Ab1x" * 10,
    "google_key": "AIza" + "Ab1x-" * 7,
    "github_token": "ghp_" + "Ab1x" * 9,
    "aws_key": "AKIA" + "ABCD1234" * 2,
    "slack_token": "xoxb-" + "123456789012",
    "json_web_token": ".".join(("eyJ" + "hbGciOiJIUzI1NiJ9", "eyJ" + "zdWIiOiIxMjM0In0", "c2lnbmF0dXJlMTIz")),
    "private_key": "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIEow==\n-----END RSA PRIVATE" + " KEY-----",
}
NO_KEYS = [
    "sk-short",
    "task-" + "a" * 40,
    "0" * 64,
    "ghp_short",
    "AKIAXX",
    "eyJ.eyJ.x",
    "risk-" + "b" * 50,
    "xox-a",
]


@pytest.mark.parametrize(("name", "key"), KEYS.items())
def test_a_key_is_replaced_by_the_name_of_its_rule(name: str, key: str) -> None:
    found = redact_keys(f"before {key} after".encode())
    assert found == (f"before [redacted:{name}] after".encode(), {name: 1})


@pytest.mark.parametrize("text", NO_KEYS)
def test_what_only_resembles_a_key_stays(text: str) -> None:
    assert redact_keys(text.encode()) == (text.encode(), {})


def test_the_event_after_a_redacted_one_says_what_was_taken_out(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    payload = {"argv": ["curl", "line\n" + KEYS["github_token"]], "note": KEYS["private_key"]}
    seen = []
    with EventLog(log) as events:
        events.subscribe(lambda event: seen.append(event.type))
        assert events.append("tool.call", "agent", payload) == 1
        assert events.append("tool.result", "agent", {}) == 3
    call, redaction, _ = read_events(log)
    assert call.payload == {
        "argv": ["curl", "line\n[redacted:github_token]"],
        "note": "[redacted:private_key]",
    }
    given = orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
    assert redaction.payload == {
        "event": 1,
        "digest": hashlib.sha256(given).hexdigest(),
        "spans": {"github_token": 1, "private_key": 1},
    }
    assert seen == ["tool.call", "redaction", "tool.result"]
    assert verify_chain(log) is None


def test_the_value_of_a_variable_is_named_in_the_redaction(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    with EventLog(log, Secrets({"API_KEY": "hunter2hunter2"})) as events:
        events.append("tool.call", "agent", {"argv": ["echo", "hunter2hunter2"]})
    assert b"hunter2" not in log.read_bytes()
    _, redaction = read_events(log)
    assert redaction.payload["spans"] == {"value of API_KEY": 1}


def test_a_long_text_is_redacted_in_its_blob_and_keeps_its_own_digest(tmp_path: Path) -> None:
    text = ("x " * 2500 + KEYS["slack_token"]).encode()
    blobs = Blobs(tmp_path)
    shown = store_text(text, blobs)
    assert shown["digest"] == hashlib.sha256(text).hexdigest()
    assert blobs.read(shown["blob"]).endswith(b"[redacted:slack_token]")
    assert shown["redacted"] == {"slack_token": 1}
