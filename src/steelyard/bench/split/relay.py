"""Asks of the tests -> the candidate's programs, and their answers back.

Each connection of the tests has a thread here, and up to two programs in the candidate's sandbox: a worker for its
code, remote_ops for everything else. When one of them is gone, the tests get an error, and the next ask starts another.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson

from steelyard.bench.split.answering import (
    START_S,
    Account,
    Candidate,
    CandidateProgram,
    ProgramGone,
    Spare,
    call_limit_s,
    ending,
    read_object,
)
from steelyard.bench.split.kinds import Kinds
from steelyard.bench.split.programs import ISOLATED, first_line
from steelyard.bench.split.talk import KILL_S, Talk
from steelyard.sandboxes.base import Command, Sandbox
from steelyard.sandboxes.init.feed import FeedFullError

CODE = frozenset({"import", "look", "call", "do", "set", "drop"})
HANDS = frozenset({"run", "start", "stop", "read", "write", "exists", "list", "http"})
MAX_HUNG = 0.55  # of a check's time may be lost with calls that never come back
MAX_PROGRAMS = 1000
MAX_CONNECTIONS = 64
READY_S = 60.0


class Connection:
    """One process of tests: its asks in order, each answered exactly once."""

    def __init__(self, relay: Relay, reply: Callable[[bytes], None]) -> None:
        self.asks: queue.Queue[bytes | None] = queue.Queue(maxsize=64)
        self._candidate = relay.candidate
        self._account = relay.account
        self._spare = relay.spare
        self._kinds = relay.kinds
        self._reply = reply
        self._language = ""
        self._programs: dict[str, CandidateProgram] = {}
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        try:
            while (line := self.asks.get()) is not None:
                self._one(line)
        finally:
            for name in (*self._programs,):
                self._forget(name)

    def _one(self, line: bytes) -> None:
        ask = read_object(line)
        if not self._language:
            self._language = str(ask.get("worker"))
            return
        number = ask.get("id")
        if not isinstance(number, int):
            self._account.note("a test process sent a malformed request")
            return
        self._reply(self._answered_or_gone(ask, number, line))

    def _answered_or_gone(self, ask: dict[str, Any], number: int, line: bytes) -> bytes:
        """Every ask is answered: a test that waits for a thread which died would wait until the check's time is up."""
        try:
            return self._answered(ask, number, line)
        except ProgramGone as gone:
            return orjson.dumps({"id": number, "gone": str(gone)})
        except Exception as error:  # noqa: BLE001  # nothing that a candidate says may end this thread
            self._account.note(f"the candidate's process sent unreadable data: {type(error).__name__}")
            for name in (*self._programs,):
                self._forget(name)
            return orjson.dumps({"id": number, "gone": "the candidate's process sent unreadable data"})

    def _answered(self, ask: dict[str, Any], number: int, line: bytes) -> bytes:
        self._account.count(len(line))
        if self._account.hung_s >= MAX_HUNG * self._candidate.timeout_s:
            raise ProgramGone(f"the candidate hung for {self._account.hung_s:.0f} s and is not asked again")
        op = ask.get("op")
        if op == "reset":
            self._forget(self._language)
            return orjson.dumps({"id": number, "ok": None})
        if op not in CODE | HANDS:
            return orjson.dumps({"id": number, "refused": f"unknown request: {str(op)[:40]}"})
        name = self._language if op in CODE else "remote_ops"
        limit_s = call_limit_s(self._candidate.timeout_s)
        asked_s = ask.get("timeout_s", limit_s)
        timeout_s = min(asked_s if isinstance(asked_s, int | float) else limit_s, self._candidate.timeout_s)
        try:
            answer = self._program(name).ask(number, line, timeout_s)
        except ProgramGone:
            self._programs.pop(name, None)
            raise
        return self._of_its_kind(ask, number, answer) if self._kinds.concerns(self._language, ask) else answer

    def _of_its_kind(self, ask: dict[str, Any], number: int, answer: bytes) -> bytes:
        """The answer, or a refusal where what was looked up is of another kind than on the trusted tree."""
        reply = orjson.loads(answer)
        why = self._kinds.refusal(self._language, ask, reply["ok"]) if "ok" in reply else ""
        return orjson.dumps({"id": number, "refused": why}) if why else answer

    def _program(self, name: str) -> CandidateProgram:
        if name not in self._programs:
            launch = self._candidate.programs.get(name)
            if launch is None:
                raise ProgramGone(f"there is no worker for {name[:40]!r}")
            with self._account.lock:
                self._account.programs += 1
            if self._account.programs > MAX_PROGRAMS:
                raise ProgramGone(f"more than {MAX_PROGRAMS} candidate processes were needed")
            spare = self._spare.take(name)
            self._programs[name] = spare or CandidateProgram(self._candidate, launch, self._account)
        return self._programs[name]

    def _forget(self, name: str) -> None:
        program = self._programs.pop(name, None)
        if program is not None:
            program.end()


class Relay:
    """The bridge in the tests' sandbox, and a `Connection` for each connection of the tests."""

    def __init__(
        self, tester: Sandbox, candidate: Candidate, address: str, kinds: Kinds | None = None
    ) -> None:
        self.account = Account()
        self.kinds = kinds or Kinds()
        self.candidate = candidate
        self.spare = Spare(candidate, self.account)
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
                return f"the bridge of the split did not start: {ending(self._bridge.finished)}"
        return ""

    def close(self) -> None:
        """After the tests: end every program, and know what each had left to say."""
        self._bridge.feed.close()
        self._bridge.join(KILL_S)
        self.spare.end()
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
                self.account.note(f"more than {MAX_CONNECTIONS} test processes sent requests")
                return
            connection = Connection(self, lambda text: self._reply(number, text))
            self._connections[number] = connection
        if connection is not None:
            self._pass(connection, None if rest == b"end" else rest)
        if connection is not None and rest == b"end":
            self._ended.append(self._connections.pop(number))

    def _pass(self, connection: Connection, line: bytes | None) -> None:
        try:
            connection.asks.put_nowait(line)
        except queue.Full:
            self.account.note("a test process sent requests without waiting for answers")

    def _reply(self, number: int, text: bytes) -> None:
        with suppress(ValueError, FeedFullError):  # the tests are over, or do not listen
            self._bridge.say(b"%d %s" % (number, text))
