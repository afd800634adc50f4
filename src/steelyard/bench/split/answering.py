"""A harness program in the candidate's sandbox -> answers, checked for shape and size, never believed.

Whatever is wrong with an answer (none in time, none at all, too long, two of them, one without a question) ends the
program. An answer without a question is also a problem of the whole run: it is an attempt to cheat.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import orjson

from steelyard.bench.split.programs import Launch
from steelyard.bench.split.talk import MAX_FRAME, Talk
from steelyard.sandboxes.base import Command, CommandResult, Sandbox
from steelyard.sandboxes.init.feed import FeedFullError

ANSWERS = frozenset({"ok", "raised", "refused"})
START_S = 60.0
END_S = 0.5
MAX_CALL_S = 60.0
MAX_ASKS = 1_000_000
MAX_BYTES = 1 << 30
UNASKED = "the candidate's process sent an answer without a request"


class ProgramGone(Exception):
    """The candidate's program cannot answer this request; the message is for the tests."""


def call_limit_s(timeout_s: float) -> float:
    """How long one call may take: so that a candidate that hangs fails tests before it runs out the clock."""
    return min(MAX_CALL_S, max(timeout_s / 5, 1.0))


@dataclass(frozen=True, slots=True)
class Candidate:
    """Where the candidate is, and how programs are started there."""

    sandbox: Sandbox
    programs: Mapping[str, Launch]  # `remote_ops`, and a worker for each language
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
    printed: CommandResult | None = None  # the first program of the candidate's: what it wrote to stderr
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
            self.note("tests and candidate exchanged more data than a split check allows")
            raise ProgramGone("more data was exchanged than a split check allows")


class CandidateProgram:
    """One program in the candidate's sandbox, asked one thing at a time."""

    def __init__(self, candidate: Candidate, launch: Launch, account: Account) -> None:
        limit_s = candidate.timeout_s + START_S
        command = Command(launch.argv, cwd=launch.cwd, env=launch.env, timeout_s=limit_s, keep_bytes=1 << 16)
        self._account = account
        self._talk = Talk(candidate.sandbox, command, launch.first)
        self._wait_until_ready(min(START_S, max(candidate.timeout_s / 2, 5.0)))

    def ask(self, number: int, line: bytes, timeout_s: float) -> bytes:
        """The answer, checked and written anew. Raises ProgramGone, and then this program is no more."""
        self._refuse_early_words()
        began = time.monotonic()
        try:
            self._talk.say(line)
            reply = self._talk.next_line(timeout_s)
        except queue.Empty:
            self._account.hung_s += timeout_s
            raise self._ended(f"no answer after {timeout_s:g} s") from None
        except FeedFullError:
            raise self._ended("the candidate's process does not read requests") from None
        finally:
            self._account.waited_s += time.monotonic() - began
        if reply is None:
            raise self._ended("the candidate's process ended before it answered")
        answer = answer_anew(reply, number)
        if answer is None:
            raise self._ended("the candidate's process sent a malformed answer", trick=True)
        self._account.count(len(reply))
        return answer

    def end(self) -> None:
        """No more asks; anything that it still has to say was not asked for."""
        self._talk.feed.close()
        if self._talk.join(END_S) is None:
            self._talk.kill()
        if not self._talk.lines.empty() and self._talk.next_line(0) is not None:
            self._account.note(UNASKED)
        self._keep_account()

    def _wait_until_ready(self, timeout_s: float) -> None:
        """Our own first lines say so, before anything of the candidate's is loaded."""
        began = time.monotonic()
        try:
            reply = self._talk.next_line(timeout_s)
        except queue.Empty:
            reply = None
        if reply is None or "ready" not in read_object(reply):
            self._account.hung_s += time.monotonic() - began
            raise self._ended("the candidate's process did not start")

    def _refuse_early_words(self) -> None:
        if self._talk.lines.empty():
            return
        if self._talk.next_line(0) is None:
            raise self._ended("the candidate's process ended before the first request")
        raise self._ended(UNASKED, trick=True)

    def _ended(self, why: str, *, trick: bool = False) -> ProgramGone:
        """Why there will be no answer; an answer without a question is a problem of the whole run."""
        if self._talk.flooded:
            why, trick = "the candidate's process sent more than was requested", True
        by_itself = self._talk.finished is not None
        self._talk.kill()
        self._keep_account()
        if trick:
            self._account.note(why)
        return ProgramGone(f"{why} ({ending(self._talk.finished)})" if by_itself else why)

    def _keep_account(self) -> None:
        finished = self._talk.finished
        if self._account.printed is None:
            self._account.printed = finished
        if self._talk.fault is not None or (finished is not None and finished.lost):
            self._account.lost = True


class Spare:
    """A worker that is started while the tests are, for the first question: starting takes longer than asking."""

    def __init__(self, candidate: Candidate, account: Account) -> None:
        self._name = "node" if "node" in candidate.programs else "python"
        self._lock = threading.Lock()
        self._taken = False
        self._made: CandidateProgram | ProgramGone | None = None
        self._thread = threading.Thread(target=self._start, args=(candidate, account), daemon=True)
        self._thread.start()

    def take(self, name: str) -> CandidateProgram | None:
        """The worker, once; None when it is of another kind or taken already. Raises ProgramGone."""
        with self._lock:
            if name != self._name or self._taken:
                return None
            self._taken = True
        self._thread.join()
        if isinstance(self._made, ProgramGone):
            raise self._made
        return self._made

    def end(self) -> None:
        with suppress(ProgramGone):
            unused = self.take(self._name)
            if unused is not None:
                unused.end()

    def _start(self, candidate: Candidate, account: Account) -> None:
        try:
            self._made = CandidateProgram(candidate, candidate.programs[self._name], account)
        except ProgramGone as gone:
            self._made = gone


def read_object(line: bytes) -> dict[str, Any]:
    try:
        found = orjson.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def answer_anew(line: bytes, number: int) -> bytes | None:
    """What was said, written by us, if it is an answer: the id that was asked and one of ok, raised, refused.

    None too for what no frame can hold: deeper than anything that crosses, or larger once it is written out.
    """
    found = read_object(line)
    if len(found) != 2 or not ANSWERS & found.keys():
        return None
    if type(found.get("id")) is not int or found["id"] != number:
        return None
    try:
        written = orjson.dumps(found)
    except orjson.JSONEncodeError:
        return None
    return written if len(written) <= MAX_FRAME else None


def ending(finished: CommandResult | None) -> str:
    if finished is None:
        return "timed out"
    if finished.not_started:
        return finished.not_started
    if finished.exit_code is not None:
        return f"exit {finished.exit_code}"
    return "its sandbox died" if finished.lost else f"signal {finished.signal}"
