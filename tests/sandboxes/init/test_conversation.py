"""Talking with a command while it runs: stdin from one thread, output as it comes in another."""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from steelyard.sandboxes.base import Command, CommandResult, Sandbox
from steelyard.sandboxes.fake import Answer, FakeSandbox
from steelyard.sandboxes.init.feed import Feed, FeedFullError

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Start

KINDS = ["bubblewrap", "docker"]

ECHO = 'while read line; do echo "$line"; done'
ADDER = "import sys\nfor line in sys.stdin:\n    print(int(line) + 1, flush=True)\n"


class Talk:
    """One command in a thread of its own; its stdout by the line."""

    def __init__(self, pool: ThreadPoolExecutor, sandbox: Sandbox, *argv: str, timeout_s: float = 60) -> None:
        self.feed = Feed()
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._rest = b""
        command = Command(argv, stdin=self.feed, timeout_s=timeout_s)
        self.finished: Future[CommandResult] = pool.submit(sandbox.run, command, self._take)

    def _take(self, stream: str, data: bytes) -> None:
        if stream == "stdout":
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._lines.put(line)

    def ask(self, text: str) -> str:
        self.feed.write(f"{text}\n".encode())
        return self._lines.get(timeout=300).decode()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def test_a_command_answers_while_it_runs(start: Start, pool: ThreadPoolExecutor) -> None:
    talk = Talk(pool, start(), "sh", "-c", ECHO)
    assert [talk.ask(word) for word in ("one", "two", "three")] == ["one", "two", "three"]
    talk.feed.close()
    assert talk.finished.result().exit_code == 0


def test_two_commands_of_one_sandbox_talk_at_the_same_time(start: Start, pool: ThreadPoolExecutor) -> None:
    sandbox = start()
    talks = [Talk(pool, sandbox, "sh", "-c", ECHO) for _ in range(2)]
    for number in range(50):
        assert [talk.ask(f"{number}") for talk in talks] == [f"{number}"] * 2
    for talk in talks:
        talk.feed.close()
    assert [talk.finished.result().exit_code for talk in talks] == [0, 0]


def test_what_was_written_before_the_start_is_read_first(start: Start) -> None:
    feed = Feed(b"early\n")
    feed.close()
    assert start().run(Command(("cat",), stdin=feed, timeout_s=60)).stdout.text == "early\n"


def test_a_large_transfer_goes_both_ways_at_once(start: Start, pool: ThreadPoolExecutor) -> None:
    """More than every buffer between, so each side must read while it writes."""
    feed, heard = Feed(), hashlib.sha256()
    command = Command(("cat",), stdin=feed, timeout_s=100)
    finished = pool.submit(start().run, command, lambda _, data: heard.update(data))
    shown = hashlib.sha256()
    for number in range(300):
        piece = number.to_bytes(4, "big") * 25_000
        shown.update(piece)
        feed.write(piece, patience_s=60)
    feed.close()
    assert finished.result().stdout.size == 300 * 100_000
    assert heard.digest() == shown.digest()


def test_what_is_written_after_the_end_goes_nowhere(start: Start) -> None:
    feed = Feed(b"x", limit_bytes=1)
    assert start().run(Command(("true",), stdin=feed, timeout_s=60)).exit_code == 0
    assert feed.ended
    for _ in range(3):
        feed.write(b"more", patience_s=60)
    feed.close()


def test_a_writer_that_waits_for_room_is_let_go_when_the_command_ends(
    start: Start, pool: ThreadPoolExecutor
) -> None:
    feed = Feed(b"z" * 200_000)
    pool.submit(start().run, Command(("sleep", "1"), stdin=feed, timeout_s=60))
    for _ in range(40):
        feed.write(b"z" * 100_000, patience_s=60)
    assert feed.ended


def test_a_command_that_does_not_read_fills_the_feed_and_no_more(
    start: Start, pool: ThreadPoolExecutor
) -> None:
    feed = Feed(limit_bytes=1 << 18)
    finished = pool.submit(start().run, Command(("sleep", "1000"), stdin=feed, timeout_s=5))
    feed.write(b"z" * 400_000)
    with pytest.raises(FeedFullError):
        feed.write(b"z", patience_s=0.05)
    assert finished.result().timed_out


def test_a_command_that_waits_for_a_word_is_ended_at_its_deadline(start: Start) -> None:
    done = start().run(Command(("sh", "-c", "sleep 1000 & read line"), stdin=Feed(), timeout_s=0.3))
    assert done.timed_out


def test_a_sandbox_that_is_stopped_ends_the_conversation(start: Start, pool: ThreadPoolExecutor) -> None:
    sandbox = start()
    talk = Talk(pool, sandbox, "sh", "-c", ECHO)
    talk.ask("there?")
    sandbox.stop()
    assert talk.finished.result().exit_code is None
    talk.feed.write(b"anybody?\n")
    assert talk.feed.ended


def test_a_command_that_never_started_ends_its_feed(start: Start) -> None:
    sandbox = start()
    for argv in (("no-such-program",), ("nul\0",)):
        feed = Feed(b"x")
        assert sandbox.run(Command(argv, stdin=feed, timeout_s=60)).not_started
        assert feed.ended
    sandbox.stop()
    feed = Feed(b"x")
    assert sandbox.run(Command(("cat",), stdin=feed)).lost
    assert feed.ended


def test_a_feed_is_for_one_command() -> None:
    with FakeSandbox(lambda _: Answer()) as sandbox:
        feed = Feed()
        sandbox.run(Command(("x",), stdin=feed))
        with pytest.raises(RuntimeError, match="one command"):
            sandbox.run(Command(("x",), stdin=feed))


def test_a_fault_of_the_listener_ends_the_command_and_is_raised(start: Start) -> None:
    def refuse(_stream: str, _data: bytes) -> None:
        raise FeedFullError("no")

    with pytest.raises(FeedFullError):
        start().run(Command(("sh", "-c", "echo; read forever"), stdin=Feed(), timeout_s=60), refuse)


def test_a_command_may_be_answered_in_its_own_on_output(start: Start) -> None:
    feed, count = Feed(b"0\n"), iter(range(200))

    def answer(_stream: str, data: bytes) -> None:
        if next(count, None) is None:
            feed.close()
        else:
            feed.write(data)

    done = start().run(Command(("/usr/bin/python3", "-c", ADDER), stdin=feed, timeout_s=60), answer)
    assert done.exit_code == 0
    assert done.stdout.text.splitlines()[-1] == "201"


def relay(to: Feed) -> Callable[[str, bytes], None]:
    def pass_on(stream: str, data: bytes) -> None:
        if stream == "stdout":
            to.write(data)

    return pass_on


def test_two_sandboxes_are_tied_together_for_a_thousand_round_trips(
    start: Start, pool: ThreadPoolExecutor
) -> None:
    """One asks, one adds; each one's output is the other's input."""
    asker = (
        "import sys\nn = 0\n"
        "while n < 1000:\n    print(n, flush=True)\n    got = int(input())\n    assert got == n + 1\n    n = got\n"
        "print('done', file=sys.stderr)\n"
    )
    to_asker, to_adder = Feed(), Feed()
    adder = pool.submit(
        start().run,
        Command(("/usr/bin/python3", "-c", ADDER), stdin=to_adder, timeout_s=100),
        relay(to_asker),
    )
    asked = start().run(
        Command(("/usr/bin/python3", "-c", asker), stdin=to_asker, timeout_s=100), relay(to_adder)
    )
    to_adder.close()
    assert (asked.exit_code, asked.stderr.text) == (0, "done\n")
    assert adder.result().exit_code == 0


def test_two_commands_that_flood_each_other_and_do_not_read_are_both_ended(
    start: Start, pool: ThreadPoolExecutor
) -> None:
    """A relay that waited for room here would wait for ever, and with it both deadlines."""
    feeds = [Feed(), Feed()]
    boxes = [start(), start()]
    runs = [
        pool.submit(spec.run, Command(("sh", "-c", "cat /dev/zero"), stdin=own, timeout_s=5), relay(other))
        for spec, own, other in zip(boxes, feeds, feeds[::-1], strict=True)
    ]
    for run in runs:
        fault = run.exception()
        assert isinstance(fault, FeedFullError) or (fault is None and run.result().timed_out)


def test_a_fake_command_replies() -> None:
    with (
        FakeSandbox(lambda _: Answer(replies=bytes.upper, exit_code=3)) as sandbox,
        ThreadPoolExecutor() as pool,
    ):
        talk = Talk(pool, sandbox, "x")
        assert talk.ask("hello") == "HELLO"
        talk.feed.close()
        assert talk.finished.result().exit_code == 3


def test_many_writers_lose_nothing(start: Start) -> None:
    """The pieces of one writer stay whole and in order, from any thread."""
    feed = Feed()

    def write(name: bytes) -> None:
        for number in range(200):
            feed.write(b"%s %d\n" % (name, number), patience_s=60)

    threads = [threading.Thread(target=write, args=(name,)) for name in (b"a", b"b", b"c")]

    def close() -> None:
        for thread in threads:
            thread.join()
        feed.close()

    ending = threading.Thread(target=close)
    for thread in [*threads, ending]:
        thread.start()
    lines = start().run(Command(("cat",), stdin=feed, timeout_s=60)).stdout.text.splitlines()
    for name in "abc":
        assert [line for line in lines if line[0] == name] == [f"{name} {number}" for number in range(200)]


def test_a_conversation_that_waits_uses_no_processor(start: Start) -> None:
    """A full window and a full socket are waited for, not asked about again and again."""
    feed = Feed(b"z" * 300_000)
    sandbox = start()
    before = time.thread_time()
    sandbox.run(Command(("sleep", "1"), stdin=feed, timeout_s=60))
    assert time.thread_time() - before < 0.5
