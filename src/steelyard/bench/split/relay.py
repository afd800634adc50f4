"""Asks of the tests -> the candidate's programs, and their answers back: checked for shape and size, never believed.

Each connection of the tests has a thread here, and up to two programs in the candidate's sandbox: a worker for its
code, hands for everything else. Whatever is wrong with an answer (none in time, none at all, too long, two of them,
one that nobody asked for) ends that program, and the tests are told that the candidate is gone. An answer that nobody
asked for is also a problem of the whole run: somebody tried something.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from steelyard.bench.split.programs import ISOLATED, Launch, first_line
from steelyard.bench.split.talk import KILL_S, Talk
from steelyard.sandboxes.base import Command, Finished, Sandbox
from steelyard.sandboxes.feed import FeedFullError

CODE = frozenset({"import", "look", "call", "do", "set", "drop"})
HANDS = frozenset({"run", "start", "stop", "read", "write", "exists", "list", "http"})
ANSWERS = frozenset({"ok", "raised", "refused"})
START_S = 60.0
END_S = 0.5
MAX_CALL_S = 60.0
MAX_HUNG = 0.55  # of a check's time may be lost with calls that never come back
MAX_PROGRAMS = 1000
MAX_CONNECTIONS = 64
MAX_ASKS = 1_000_000
MAX_BYTES = 1 << 30
READY_S = 60.0
UNASKED = "the candidate's process answered without being asked"


class Gone(Exception):
    """The candidate's program cannot answer this ask; what is said to the tests."""


def call_limit_s(timeout_s: float) -> float:
    """How long one call may take: so that a candidate that hangs fails tests before it runs out the clock."""
    return min(MAX_CALL_S, max(timeout_s / 5, 1.0))


@dataclass(frozen=True, slots=True)
class Candidate:
    """Where the candidate is, and how programs are started there."""

    sandbox: Sandbox
    programs: Mapping[str, Launch]  # `hands`, and a worker for each language
    timeout_s: float  # of the whole check


@dataclass
class Account:
    """What all connections used together, and what went wrong."""

    asks: int = 0
    bytes: int = 0
    programs: int = 0
    hung_s: float = 0.0  # until it was given up
    waited_s: float = 0.0  # for the candidate's answers
    problems: list[str] = field(default_factory=list)
    lost: bool = False
    printed: Finished | None = None  # the first program of the candidate's: what it wrote to stderr
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, problem: str) -> None:
        with self.lock:
            if problem not in self.problems and len(self.problems) < 20:
                self.problems.append(problem)

    def count(self, size_bytes: int) -> None:
        with self.lock:
            self.bytes += size_bytes
            self.asks += 1
            over = self.asks > MAX_ASKS or self.bytes > MAX_BYTES
        if over:
            self.note("more was said between tests and candidate than a split check allows")
            raise Gone("more was said than a split check allows")


class Answering:
    """One program in the candidate's sandbox, asked one thing at a time."""

    def __init__(self, candidate: Candidate, launch: Launch, account: Account) -> None:
        limit_s = candidate.timeout_s + START_S
        command = Command(launch.argv, cwd=launch.cwd, env=launch.env, timeout_s=limit_s, keep_bytes=1 << 16)
        self._account = account
        self._talk = Talk(candidate.sandbox, command, launch.first)
        self._wait_until_ready()

    def ask(self, number: int, line: bytes, timeout_s: float) -> bytes:
        """The answer, checked and written anew. Raises Gone, and then this program is no more."""
        self._refuse_early_words()
        began = time.monotonic()
        self._talk.say(line)
        try:
            said = self._talk.next_line(timeout_s)
        except queue.Empty:
            self._account.hung_s += timeout_s
            raise self._ended(f"no answer after {timeout_s:g} s") from None
        finally:
            self._account.waited_s += time.monotonic() - began
        if said is None:
            raise self._ended("the candidate's process ended before it answered")
        answer = _answer(said)
        if answer is None or answer["id"] != number:
            raise self._ended("what the candidate's process said is no answer", trick=True)
        self._account.count(len(said))
        return orjson.dumps(answer)

    def end(self) -> None:
        """No more asks; anything that it still has to say was not asked for."""
        self._talk.feed.close()
        if self._talk.join(END_S) is None:
            self._talk.kill()
        if not self._talk.heard.empty() and self._talk.next_line(0) is not None:
            self._account.note(UNASKED)
        self._keep_account()

    def _wait_until_ready(self) -> None:
        """Our own first lines say so, before anything of the candidate's is loaded."""
        try:
            said = self._talk.next_line(START_S)
        except queue.Empty:
            said = None
        if said is None or "ready" not in _object(said):
            raise self._ended("the candidate's process did not start")

    def _refuse_early_words(self) -> None:
        if self._talk.heard.empty():
            return
        if self._talk.next_line(0) is None:
            raise self._ended("the candidate's process ended before it was asked")
        raise self._ended(UNASKED, trick=True)

    def _ended(self, why: str, *, trick: bool = False) -> Gone:
        """Why there will be no answer; one that was nobody's question is held against the whole run."""
        if self._talk.flooded:
            why, trick = "the candidate's process said more than anybody asked for", True
        by_itself = self._talk.finished is not None
        self._talk.kill()
        self._keep_account()
        if trick:
            self._account.note(why)
        return Gone(f"{why} ({_ending(self._talk.finished)})" if by_itself else why)

    def _keep_account(self) -> None:
        finished = self._talk.finished
        if self._account.printed is None:
            self._account.printed = finished
        if self._talk.fault is not None or (finished is not None and finished.lost):
            self._account.lost = True


class Spare:
    """A worker that is started while the tests are, for whoever asks first: starting takes longer than asking."""

    def __init__(self, candidate: Candidate, account: Account) -> None:
        self._name = "node" if "node" in candidate.programs else "python"
        self._lock = threading.Lock()
        self._taken = False
        self._made: Answering | Gone | None = None
        self._thread = threading.Thread(target=self._start, args=(candidate, account), daemon=True)
        self._thread.start()

    def take(self, name: str) -> Answering | None:
        """The worker, once; None when it is of another kind or somebody else's. Raises Gone."""
        with self._lock:
            if name != self._name or self._taken:
                return None
            self._taken = True
        self._thread.join()
        if isinstance(self._made, Gone):
            raise self._made
        return self._made

    def end(self) -> None:
        with suppress(Gone):
            unused = self.take(self._name)
            if unused is not None:
                unused.end()

    def _start(self, candidate: Candidate, account: Account) -> None:
        try:
            self._made = Answering(candidate, candidate.programs[self._name], account)
        except Gone as gone:
            self._made = gone


class Connection:
    """One process of tests: its asks in order, each answered exactly once."""

    def __init__(
        self, candidate: Candidate, account: Account, spare: Spare, reply: Callable[[bytes], None]
    ) -> None:
        self.asks: queue.Queue[bytes | None] = queue.Queue(maxsize=64)
        self._candidate = candidate
        self._account = account
        self._spare = spare
        self._reply = reply
        self._language = ""
        self._programs: dict[str, Answering] = {}
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        try:
            while (line := self.asks.get()) is not None:
                self._one(line)
        finally:
            for program in self._programs.values():
                program.end()

    def _one(self, line: bytes) -> None:
        ask = _object(line)
        if not self._language:
            self._language = str(ask.get("worker"))
            return
        number = ask.get("id")
        if not isinstance(number, int):
            self._account.note("a process of the tests asked out of form")
            return
        try:
            self._reply(self._answered(ask, number, line))
        except Gone as gone:
            self._reply(orjson.dumps({"id": number, "gone": str(gone)}))

    def _answered(self, ask: dict[str, Any], number: int, line: bytes) -> bytes:
        self._account.count(len(line))
        if self._account.hung_s >= MAX_HUNG * self._candidate.timeout_s:
            raise Gone(f"the candidate hung for {self._account.hung_s:.0f} s and is not asked again")
        op = ask.get("op")
        if op == "reset":
            self._forget(self._language)
            return orjson.dumps({"id": number, "ok": None})
        if op not in CODE | HANDS:
            return orjson.dumps({"id": number, "refused": f"no such ask: {str(op)[:40]}"})
        name = self._language if op in CODE else "hands"
        limit_s = call_limit_s(self._candidate.timeout_s)
        asked_s = ask.get("timeout_s", limit_s)
        timeout_s = min(asked_s if isinstance(asked_s, int | float) else limit_s, self._candidate.timeout_s)
        try:
            return self._program(name).ask(number, line, timeout_s)
        except Gone:
            self._programs.pop(name, None)
            raise

    def _program(self, name: str) -> Answering:
        if name not in self._programs:
            launch = self._candidate.programs.get(name)
            if launch is None:
                raise Gone(f"there is no worker for {name[:40]!r}")
            with self._account.lock:
                self._account.programs += 1
            if self._account.programs > MAX_PROGRAMS:
                raise Gone(f"more than {MAX_PROGRAMS} processes of the candidate's were needed")
            spare = self._spare.take(name)
            self._programs[name] = spare or Answering(self._candidate, launch, self._account)
        return self._programs[name]

    def _forget(self, name: str) -> None:
        program = self._programs.pop(name, None)
        if program is not None:
            program.end()


class Relay:
    """The bridge in the tests' sandbox, and a `Connection` for each of theirs."""

    def __init__(self, tester: Sandbox, candidate: Candidate, address: str) -> None:
        self.account = Account()
        self._candidate = candidate
        self._spare = Spare(candidate, self.account)
        self._connections: dict[int, Connection] = {}
        self._ended: list[Connection] = []
        self._ready = threading.Event()
        command = Command(ISOLATED, timeout_s=candidate.timeout_s + START_S, keep_bytes=1 << 16)
        self._bridge = Talk(tester, command, first_line("bridge", {"address": address}), self._on_line)

    def wait_until_ready(self) -> str:
        """Why there is no bridge, or ""."""
        deadline = time.monotonic() + READY_S
        while not self._ready.wait(0.01):
            if self._bridge.finished is not None or self._bridge.fault or time.monotonic() > deadline:
                return f"the bridge of the split did not start: {_ending(self._bridge.finished)}"
        return ""

    def close(self) -> None:
        """After the tests: end every program, and know what each had left to say."""
        self._bridge.feed.close()
        self._bridge.join(KILL_S)
        self._spare.end()
        for connection in self._connections.values():
            connection.asks.put(None)
        for connection in (*self._ended, *self._connections.values()):
            connection.thread.join(2 * KILL_S)

    def _on_line(self, line: bytes) -> None:
        """Called by whichever thread reads: nothing here may wait."""
        if not self._ready.is_set():
            self._ready.set()
            return
        head, _, rest = line.partition(b" ")
        number = int(head)
        connection = self._connections.get(number)
        if connection is None and rest != b"end":
            if len(self._connections) >= MAX_CONNECTIONS:
                self.account.note(f"more than {MAX_CONNECTIONS} processes of tests asked")
                return
            connection = Connection(
                self._candidate, self.account, self._spare, lambda text: self._reply(number, text)
            )
            self._connections[number] = connection
        if connection is not None:
            self._pass(connection, None if rest == b"end" else rest)
        if connection is not None and rest == b"end":
            self._ended.append(self._connections.pop(number))

    def _pass(self, connection: Connection, line: bytes | None) -> None:
        try:
            connection.asks.put_nowait(line)
        except queue.Full:
            self.account.note("a process of the tests asked without waiting for answers")

    def _reply(self, number: int, text: bytes) -> None:
        with suppress(ValueError, FeedFullError):  # the tests are over, or do not listen
            self._bridge.say(b"%d %s" % (number, text))


def _object(line: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _answer(line: bytes) -> dict[str, Any] | None:
    """What was said, if it has the shape of an answer: an id and exactly one of ok, raised, refused."""
    found = _object(line)
    if len(found) != 2 or not isinstance(found.get("id"), int) or not ANSWERS & found.keys():
        return None
    return found


def _ending(finished: Finished | None) -> str:
    if finished is None:
        return "no end"
    if finished.not_started:
        return finished.not_started
    if finished.exit_code is not None:
        return f"exit {finished.exit_code}"
    return "its sandbox is gone" if finished.lost else f"signal {finished.signal}"
