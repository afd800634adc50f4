"""A chain of events: what is appended can be read back, and nothing can be changed unseen."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import InfraFault
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.redact import Secrets
from steelyard.evidence.trace.chain import MAX_LINE
from steelyard.evidence.trace.events import (
    ACTORS,
    EVENT_TYPES,
    Event,
    EventLog,
    read_events,
    store_text,
    verify_chain,
)

LINES = 8


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[bytes], str]:
    path = tmp_path_factory.mktemp("log") / "events.jsonl"
    with EventLog(path) as log:
        for index in range(LINES):
            log.append("tool.call", "agent", {"index": index, "text": "x" * index})
    return path.read_bytes().splitlines(keepends=True), log.head


def verify(tmp_path: Path, lines: list[bytes], head: str, count: int = LINES) -> int | None:
    path = tmp_path / "altered.jsonl"
    path.write_bytes(b"".join(lines))
    broken = verify_chain(path, head, count)
    return None if broken is None else broken.line


def test_an_untouched_chain_holds(tmp_path: Path, written: tuple[list[bytes], str]) -> None:
    assert verify(tmp_path, *written) is None


def test_a_line_has_sorted_keys_with_its_hash_last_over_the_bytes_before_it(
    written: tuple[list[bytes], str],
) -> None:
    import hashlib

    line = written[0][3]
    event = json.loads(line)
    assert list(event) == ["actor", "at", "payload", "prev", "seq", "t", "type", "hash"]
    assert hashlib.sha256(line[: line.rindex(b',"hash"')] + b"}").hexdigest() == event["hash"]
    assert event["prev"] == json.loads(written[0][2])["hash"]
    assert event["seq"] == 4


@settings(max_examples=300)
@given(data=st.data())
def test_any_changed_byte_is_found_at_its_line(
    tmp_path_factory: pytest.TempPathFactory, written: tuple[list[bytes], str], data: st.DataObject
) -> None:
    lines, head = list(written[0]), written[1]
    number = data.draw(st.integers(0, LINES - 1))
    at = data.draw(st.integers(0, len(lines[number]) - 2))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value not in {lines[number][at], 10}))
    lines[number] = lines[number][:at] + bytes([byte]) + lines[number][at + 1 :]
    assert verify(tmp_path_factory.getbasetemp(), lines, head) == number + 1


@given(one=st.integers(0, LINES - 1), other=st.integers(0, LINES - 1))
def test_any_two_swapped_lines_are_found_at_the_first(
    tmp_path_factory: pytest.TempPathFactory, written: tuple[list[bytes], str], one: int, other: int
) -> None:
    lines, head = list(written[0]), written[1]
    lines[one], lines[other] = lines[other], lines[one]
    expected = None if one == other else min(one, other) + 1
    assert verify(tmp_path_factory.getbasetemp(), lines, head) == expected


@pytest.mark.parametrize("number", range(LINES))
def test_any_deleted_line_is_found(tmp_path: Path, written: tuple[list[bytes], str], number: int) -> None:
    lines = [line for index, line in enumerate(written[0]) if index != number]
    assert verify(tmp_path, lines, written[1]) == number + 1


@pytest.mark.parametrize("number", range(LINES + 1))
def test_any_repeated_line_is_found(tmp_path: Path, written: tuple[list[bytes], str], number: int) -> None:
    lines = list(written[0])
    lines.insert(number, lines[min(number, LINES - 1)])
    assert verify(tmp_path, lines, written[1]) in {number + 1, number + 2}


@given(cut=st.integers(1, 3000))
def test_any_cut_tail_is_found(
    tmp_path_factory: pytest.TempPathFactory, written: tuple[list[bytes], str], cut: int
) -> None:
    whole = b"".join(written[0])
    kept = whole[: max(0, len(whole) - cut)]
    assert verify(tmp_path_factory.getbasetemp(), [kept], written[1]) == kept.count(b"\n") + 1


def test_another_whole_chain_of_the_same_length_is_not_the_one_that_was_sealed(
    tmp_path: Path, written: tuple[list[bytes], str]
) -> None:
    with EventLog(tmp_path / "forged.jsonl") as log:
        for index in range(LINES):
            log.append("tool.call", "agent", {"index": index})
    broken = verify_chain(tmp_path / "forged.jsonl", written[1], LINES)
    assert broken is not None
    assert "replaced" in broken.why


@pytest.mark.parametrize(
    ("line", "why"),
    [(b"not json\n", "not JSON"), (b"{}\n", "edited"), (b'{"hash":"0"}', "truncated"), (b"\n", "not JSON")],
)
def test_a_line_that_is_no_event_is_named_for_what_it_is(tmp_path: Path, line: bytes, why: str) -> None:
    (tmp_path / "log").write_bytes(line)
    broken = verify_chain(tmp_path / "log")
    assert broken is not None
    assert (broken.line, broken.why.startswith(why)) == (1, True)


def test_a_line_without_end_is_refused_without_being_held(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as stream:
        stream.truncate(MAX_LINE * 4)
    broken = verify_chain(tmp_path / "log")
    assert broken is not None
    assert "longer than an event can be" in broken.why


def test_a_forged_line_whose_time_goes_back_is_found(tmp_path: Path) -> None:
    import hashlib

    with EventLog(tmp_path / "log") as log:
        log.append("brief", "harness", {})
        log.append("brief", "harness", {})
    first, second = (tmp_path / "log").read_bytes().splitlines(keepends=True)
    event = json.loads(second)
    body = second[: second.rindex(b',"hash"')].replace(b'"t":%d' % event["t"], b'"t":0') + b"}"
    forged = body[:-1] + b',"hash":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n'
    (tmp_path / "log").write_bytes(first + forged)
    broken = verify_chain(tmp_path / "log")
    assert broken is not None
    assert (broken.line, "time not monotone" in broken.why) == (2, True)


def test_a_payload_cannot_pretend_to_be_the_end_of_its_line(tmp_path: Path) -> None:
    fake = {"prev": "0" * 64, "seq": 9, "t": 9, "type": "brief", "hash": "0" * 64}
    with EventLog(tmp_path / "log") as log:
        log.append("tool.call", "agent", {"z": fake, "text": json.dumps(fake)})
        log.append("tool.call", "agent", fake)
    assert verify_chain(tmp_path / "log", log.head, 2) is None


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.integers(-(2**52), 2**52),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=10,
)


@given(payload=st.dictionaries(st.text(), json_values))
def test_any_payload_is_read_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, payload: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    with EventLog(path) as log:
        log.append("tool.result", "agent", payload)
    [event] = read_events(path)
    assert event.payload == payload
    assert verify_chain(path, log.head, 1) is None
    shutil.rmtree(path.parent)


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("a\udc80b", "a\\udc80b"),
        (2**70, hex(2**70)),
        (b"\xff", "\\xff"),
        (float("nan"), None),
        ((1, 2), [1, 2]),
    ],
)
def test_what_json_cannot_hold_is_stored_the_same_each_time(tmp_path: Path, value: Any, stored: Any) -> None:
    with EventLog(tmp_path / "log") as log:
        log.append("tool.result", "agent", {"value": value})
    [event] = read_events(tmp_path / "log")
    assert event.payload == {"value": stored}


def test_endless_nesting_is_cut_and_not_a_crash(tmp_path: Path) -> None:
    nested: Any = "bottom"
    for _ in range(2000):
        nested = [nested]
    with EventLog(tmp_path / "log") as log:
        log.append("tool.result", "agent", {"value": nested})
    assert "nested too deeply" in (tmp_path / "log").read_text()


def test_a_payload_larger_than_a_line_may_be_is_kept_as_its_digest(tmp_path: Path) -> None:
    with EventLog(tmp_path / "log") as log:
        log.append("tool.result", "agent", {"value": "x" * (MAX_LINE + 1)})
    [event] = read_events(tmp_path / "log")
    assert event.payload["oversized"]["bytes"] > MAX_LINE
    assert verify_chain(tmp_path / "log", log.head, 1) is None


def test_many_threads_write_one_chain_with_strictly_increasing_times(tmp_path: Path) -> None:
    with EventLog(tmp_path / "log") as log:
        threads = [
            threading.Thread(target=lambda: [log.append("tool.call", "agent", {}) for _ in range(200)])
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert verify_chain(tmp_path / "log", log.head, 1600) is None
    assert (log.count, [event.seq for event in read_events(tmp_path / "log")]) == (1600, list(range(1, 1601)))


def test_an_unknown_type_or_actor_is_a_mistake_in_the_program(tmp_path: Path) -> None:
    with EventLog(tmp_path / "log") as log:
        with pytest.raises(ValueError, match="no such event"):
            log.append("tool.cal", "agent", {})
        with pytest.raises(ValueError, match="no such event"):
            log.append("tool.call", "judge", {})  # type: ignore[arg-type]
    assert log.count == 0


def test_a_log_is_never_continued_by_another_process(tmp_path: Path) -> None:
    EventLog(tmp_path / "log").close()
    with pytest.raises(FileExistsError):
        EventLog(tmp_path / "log")


def test_nothing_is_appended_to_a_closed_log(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "log")
    log.close()
    log.close()
    with pytest.raises(InfraFault):
        log.append("brief", "harness", {})


def test_a_full_disk_is_the_machines_fault_and_nothing_is_glued_to_half_a_line(tmp_path: Path) -> None:
    import resource
    import signal

    log = EventLog(tmp_path / "log")
    log.append("brief", "harness", {"text": "x" * 1000})
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "log").stat().st_size + 100, before[1]))
        with pytest.raises(InfraFault):
            log.append("brief", "harness", {"text": "x" * 1000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    with pytest.raises(InfraFault):
        log.append("brief", "harness", {})
    broken = verify_chain(tmp_path / "log")
    assert broken is not None
    assert (broken.line, log.count) == (2, 1)
    log.close()


def test_a_log_that_is_not_there_is_broken_at_its_first_line(tmp_path: Path) -> None:
    assert verify_chain(tmp_path / "nowhere") is not None


def test_a_long_text_is_a_blob_and_its_beginning(tmp_path: Path) -> None:
    blobs = Blobs(tmp_path / "blobs")
    short, long = store_text("ok", blobs), store_text(b"\xff" * 5000, blobs)
    assert "blob" not in short
    assert (long["bytes"], blobs.read(long["blob"])) == (5000, b"\xff" * 5000)
    assert len(long["prefix"]) <= 4 * 2048


def test_the_words_of_the_seed_are_all_there() -> None:
    assert {"agent", "harness", "monitor", "operator"} == ACTORS
    needed = {"brief", "model.request", "model.response", "tool.call", "tool.result", "workspace.change"}
    needed |= {"check.start", "check.end", "monitor.alert", "intervention", "operator.decision", "cost"}
    needed |= {
        "termination",
        "run.start",
        "run.end",
        "stage.enter",
        "stage.leave",
        "agent.final",
        "patch.apply",
    }
    needed |= {"permission.request", "permission.decision"}
    assert needed <= EVENT_TYPES


def test_a_subscriber_sees_each_event_in_order_after_it_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    seen: list[tuple[int, str, int]] = []
    with EventLog(path) as log:
        log.append("run.start", "harness", {})
        log.subscribe(lambda event: seen.append((event.seq, event.hash, len(path.read_bytes().splitlines()))))
        for index in range(3):
            log.append("tool.call", "agent", {"index": index})
    assert seen == [(event.seq, event.hash, event.seq) for event in list(read_events(path))[1:]]


def test_events_of_many_threads_reach_a_subscriber_in_the_order_of_the_log(tmp_path: Path) -> None:
    seen: list[int] = []
    with EventLog(tmp_path / "events.jsonl") as log:
        log.subscribe(lambda event: seen.append(event.seq))
        threads = [
            threading.Thread(target=lambda: [log.append("cost", "harness", {}) for _ in range(50)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == list(range(1, 201))


def test_an_event_that_a_subscriber_appends_is_delivered_after_the_current_one(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    first: list[str] = []
    second: list[str] = []
    with EventLog(path) as log:

        def answer(event: Event) -> None:
            first.append(event.type)
            if event.type == "tool.call":
                log.append("monitor.alert", "monitor", {"of": event.seq})

        log.subscribe(answer)
        log.subscribe(lambda event: second.append(event.type))
        log.append("tool.call", "agent", {})
        log.append("tool.result", "agent", {})
    assert first == second == ["tool.call", "monitor.alert", "tool.result"]
    assert verify_chain(path, log.head, 3) is None


def test_a_subscriber_that_fails_is_recorded_and_gets_no_further_event(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    calls: list[int] = []
    seen: list[str] = []

    def fail(event: Event) -> None:
        calls.append(event.seq)
        raise RuntimeError("out of order")

    with EventLog(path) as log:
        log.subscribe(fail)
        log.subscribe(lambda event: seen.append(event.type))
        log.append("tool.call", "agent", {})
        log.append("tool.result", "agent", {})
    assert calls == [1]
    assert seen == ["tool.call", "subscriber.error", "tool.result"]
    shown = list(read_events(path))[1].payload
    assert (shown["event"], shown["error"]) == (1, "RuntimeError('out of order')")
    assert verify_chain(path, log.head, 3) is None


def test_a_removed_subscriber_gets_no_further_event(tmp_path: Path) -> None:
    seen: list[int] = []
    with EventLog(tmp_path / "events.jsonl") as log:
        unsubscribe = log.subscribe(lambda event: seen.append(event.seq))
        log.append("cost", "harness", {})
        unsubscribe()
        unsubscribe()
        log.append("cost", "harness", {})
    assert seen == [1]


def test_no_event_shows_a_secret(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with EventLog(path, Secrets({"API_KEY": "sk-0123456789"})) as log:
        log.append("tool.call", "agent", {"argv": ["curl", "-H", "key: sk-0123456789"]})
    assert b"sk-0123456789" not in path.read_bytes()
    assert next(read_events(path)).payload["argv"][-1] == "key: [redacted:API_KEY]"


def test_a_follower_takes_each_event_once_in_order_and_as_it_is_in_the_log(tmp_path: Path) -> None:
    with EventLog(tmp_path / "events.jsonl", Secrets({"KEY": "long-enough-secret"})) as log:
        log.append("cost", "harness", {"usd": 1})
        take = log.follow()
        log.append("cost", "harness", {"usd": 2})
        log.append("brief", "harness", {"text": "long-enough-secret"})
        first = take()
        log.append("cost", "harness", {"usd": 3})
        assert [event.type for event in first] == ["cost", "brief", "redaction"]
        assert "long-enough-secret" not in str(first[1].payload)
        assert [event.payload for event in take()] == [{"usd": 3}]
        assert take() == []
    assert first == list(read_events(tmp_path / "events.jsonl"))[1:4]
