"""Recorded answers are found by the content of a conversation, and a cassette shows no secret."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_rig import REAL_KEY, WIRES, Got, MakeRig, Rig
from steelyard.errors import OperatorFault
from steelyard.gateway import cassette
from steelyard.gateway.cassette import CassettePlayer, CassetteWriter, check_record, check_replay, folder_of
from steelyard.gateway.conversation import first_difference, plain_text

USAGE = {"tokens_in": 1000, "tokens_out": 50}
SCRIPT = {"turns": [{"text": "The first answer."}, {"text": "The second answer."}], "usage": USAGE}


def placeholders(made: Rig) -> dict[str, str]:
    return {made.address.key: "{key}", f"{made.address.host}:{made.address.port}": "{gateway}"}


def recording(rig: MakeRig, folder: Path, script: Any = None) -> Rig:
    made = rig(script or SCRIPT)
    made.route.writer = CassetteWriter(folder, {"agent": "a"}, placeholders(made))
    return made


def replaying(rig: MakeRig, folder: Path) -> Rig:
    made = rig(url="http://127.0.0.1:1", key="")
    made.route.player = CassettePlayer(folder, placeholders(made))
    return made


def talk(made: Rig, wire: str, *, stream: bool) -> list[Got]:
    """Two turns; the second says again what the model said first."""
    first = made.ask(wire, stream=stream)
    result = "The first answer."
    if wire == "generate":
        turns = [("user", "hello"), ("model", result), ("user", "go on")]
        more: dict[str, Any] = {
            "contents": [{"role": role, "parts": [{"text": text}]} for role, text in turns]
        }
    else:
        turns = [("user", "hello"), ("assistant", result), ("user", "go on")]
        messages = [{"role": role, "content": text} for role, text in turns]
        more = {"input" if wire == "responses" else "messages": messages}
    return [first, made.ask(wire, stream=stream, **more)]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_a_replay_gives_the_same_bytes_and_the_same_bill(
    wire: str,
    stream: bool,  # noqa: FBT001
    rig: MakeRig,
    tmp_path: Path,
) -> None:
    first = recording(rig, tmp_path / "tape")
    recorded = talk(first, wire, stream=stream)
    assert b"second" in recorded[1].body
    again = replaying(rig, tmp_path / "tape")
    assert [one.body for one in talk(again, wire, stream=stream)] == [one.body for one in recorded]
    usages = [[one["usage"] for one in made.payloads("model.response")] for made in (first, again)]
    assert usages[0] == usages[1]


def test_requests_are_found_by_content_and_not_by_order(rig: MakeRig, tmp_path: Path) -> None:
    made = recording(rig, tmp_path / "tape", {"replies": [{"text": "one"}, {"text": "two"}]})
    for prompt in ("a", "b"):
        made.ask(messages=[{"role": "user", "content": prompt}])
    again = replaying(rig, tmp_path / "tape")
    answers = [again.ask(messages=[{"role": "user", "content": prompt}]).json for prompt in ("b", "a", "b")]
    assert [one["content"][0]["text"] for one in answers] == ["two", "one", "two"]


def test_the_same_conversation_gets_its_answers_in_their_order(rig: MakeRig, tmp_path: Path) -> None:
    made = recording(rig, tmp_path / "tape", {"replies": [{"text": "one"}, {"text": "two"}]})
    made.ask(), made.ask()
    again = replaying(rig, tmp_path / "tape")
    assert [again.ask().json["content"][0]["text"] for _ in range(3)] == ["one", "two", "two"]


def test_what_changes_from_run_to_run_does_not_matter(rig: MakeRig, tmp_path: Path) -> None:
    made = recording(rig, tmp_path / "tape")
    text = "at 2026-11-16T08:00:00Z, took 0.31s, in /tmp/tmpabc, key {}, session 01234567-89ab-cdef-0123-456789abcdef"
    made.ask(messages=[{"role": "user", "content": text.format(made.address.key)}], metadata={"user_id": "1"})
    again = replaying(rig, tmp_path / "tape")
    other = (
        text.replace("08:00:00", "09:11:12")
        .replace("0.31s", "12s")
        .replace("tmpabc", "tmpxyz")
        .replace("0123-4567", "0123-9999")
    )
    got = again.ask(
        messages=[{"role": "user", "content": other.format(again.address.key)}], metadata={"user_id": "2"}
    )
    assert got.status == 200


def test_a_request_that_was_not_recorded_names_the_nearest_and_the_first_difference(
    rig: MakeRig, tmp_path: Path
) -> None:
    recording(rig, tmp_path / "tape").ask(messages=[{"role": "user", "content": "fix the bug in calc.py"}])
    again = replaying(rig, tmp_path / "tape")
    got = again.ask(messages=[{"role": "user", "content": "fix the bug in main.py"}])
    assert got.status == 400
    message = got.json["error"]["message"]
    assert "0001.json" in message
    assert "messages[0].content character 15" in message
    assert "calc.py" in message
    assert "main.py" in message
    assert message.removeprefix("this request was not recorded: ") in again.failures[0]
    assert str(tmp_path / "tape") in again.failures[0]
    assert again.route.is_lasting
    assert again.payloads("model.error")[0]["kind"] == "cassette"


def test_a_cassette_holds_no_key(rig: MakeRig, tmp_path: Path) -> None:
    made = recording(rig, tmp_path / "tape", [{"text": f"echo {REAL_KEY}"}])
    made.ask(messages=[{"role": "user", "content": f"my key is {made.address.key}"}])
    text = (tmp_path / "tape" / "0001.json").read_text()
    assert REAL_KEY not in text
    assert made.address.key not in text
    assert "my key is {key}" in text
    assert set(json.loads(text)) == {"match", "request", "response"}


def test_answers_of_an_overloaded_server_are_not_recorded(rig: MakeRig, tmp_path: Path) -> None:
    fault = {"status": 429, "retry_after": 999, "times": 1}
    made = recording(rig, tmp_path / "tape", {"turns": [{"text": "hi", "fault": fault}]})
    assert [made.ask().status for _ in range(2)] == [429, 200]
    assert replaying(rig, tmp_path / "tape").ask().status == 200


def test_a_folder_that_has_something_in_it_is_not_recorded_into(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(OperatorFault, match="something already"):
        check_record(tmp_path)
    check_record(tmp_path / "new")


def test_a_folder_without_a_cassette_is_not_replayed(tmp_path: Path) -> None:
    with pytest.raises(OperatorFault, match="no cassette"):
        check_replay(tmp_path)


def test_the_only_cassette_of_a_folder_is_found_whatever_its_trial(rig: MakeRig, tmp_path: Path) -> None:
    recording(rig, tmp_path / "t1")
    assert folder_of(tmp_path, "t2") == tmp_path / "t1"
    recording(rig, tmp_path / "t3")
    with pytest.raises(OperatorFault, match="no cassette of the trial t2"):
        folder_of(tmp_path, "t2")


def test_a_damaged_cassette_is_refused(tmp_path: Path) -> None:
    (tmp_path / "0001.json").write_text("{}")
    with pytest.raises(OperatorFault, match="not a recorded exchange"):
        CassettePlayer(tmp_path, {})


REQUEST = {"provider": "anthropic", "wire": "messages", "path": "/v1/messages", "model": "m", "body": {}}
RESPONSE = {"status": 200, "headers": {"content-type": "application/json"}, "body": "{}"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": None}, "status is None, not a status of HTTP"),
        ({"status": 99}, "status is 99"),
        ({"headers": {"content-type": "a\r\nx: y"}}, "not one line of text"),
        ({"headers": 3}, "not a recorded exchange"),
        ({"base64": "a*b"}, "not a recorded exchange"),
        ({"events": [1]}, "not a recorded exchange"),
    ],
)
def test_an_edited_answer_that_cannot_be_sent_is_refused_before_the_run(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    entry = {"request": REQUEST, "response": {**RESPONSE, **change}}
    (tmp_path / "0001.json").write_text(json.dumps(entry))
    with pytest.raises(OperatorFault, match=words):
        CassettePlayer(tmp_path, {})


def test_a_cassette_does_not_wait_for_a_fifo(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "0001.json")
    with pytest.raises(OperatorFault, match="not a regular file"):
        CassettePlayer(tmp_path, {})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    place=st.sampled_from(["request", "response", *REQUEST, *RESPONSE, "base64", "events"]),
    value=JSON,
)
def test_any_json_in_a_cassette_is_loaded_or_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, place: str, value: Any
) -> None:
    entry: dict[str, Any] = {"request": dict(REQUEST), "response": dict(RESPONSE)}
    if place in entry:
        entry[place] = value
    else:
        entry["request" if place in REQUEST else "response"][place] = value
    folder = tmp_path_factory.mktemp("tape")
    (folder / "0001.json").write_text(json.dumps(entry))
    with suppress(OperatorFault):
        CassettePlayer(folder, {})


@pytest.mark.parametrize(
    ("recorded", "asked", "where"),
    [
        ({"a": 1}, {"a": 1}, None),
        ({"a": 1}, {"a": 2}, "a"),
        ({"a": [1, 2]}, {"a": [1]}, "a[1]"),
        ({"a": {"b": "xy"}}, {"a": {"b": "xz"}}, "a.b character 1"),
        ({}, {"a": 1}, "a"),
        ([1], {"a": 1}, "."),
    ],
)
def test_the_first_difference_is_named_by_its_place(recorded: Any, asked: Any, where: str | None) -> None:
    found = first_difference(recorded, asked)
    assert (found and found.where) == where


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("2026-11-16", "{date}"),
        ("Monday, November 16, 2026", "{date}"),
        ("-rw-r--r-- 1 a a 12 Nov 16 08:25 calc.py", "-rw-r--r-- 1 a a 12 {date} calc.py"),
        ("1 passed in 0.03s", "1 passed in {duration}"),
        ("version 1.2.3 has 12 tests", "version 1.2.3 has 12 tests"),
        ("May I edit it?", "May I edit it?"),
        ("msg_28c6ddbc-6a45-57da-ad91-e416a39684f2", "msg_{uuid}"),
        ("Chunk ID: a25432", "{chunk}"),
    ],
)
def test_dates_and_durations_have_a_name_in_their_place(text: str, plain: str) -> None:
    assert plain_text(text, {}) == plain


def test_a_cassette_ends_at_its_limit_and_says_so(
    rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cassette, "MOST_BYTES", 2000)
    made = recording(rig, tmp_path / "tape")
    for text in ("one", "two " * 800, "three"):
        assert made.ask(messages=[{"role": "user", "content": text}]).status == 200
    assert sorted(path.name for path in (tmp_path / "tape").iterdir()) == ["0001.json", "cassette.json"]
    (error,) = made.payloads("model.error")
    assert (error["kind"], error["request"]) == ("cassette", 2)
    assert "exchange 2 does not fit into the 2,000 bytes" in error["why"]
    replayed = replaying(rig, tmp_path / "tape")
    assert replayed.ask(messages=[{"role": "user", "content": "one"}]).status == 200
    assert "the recording is incomplete" in str(
        replayed.ask(messages=[{"role": "user", "content": "three"}]).json
    )
