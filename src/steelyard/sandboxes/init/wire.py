"""A socket to init -> commands run: the controller's side of docs/init-protocol.md.

    run()       E, then I, O, R, A until X (or F); at the deadline T, then D: whatever the command started is dead
                Z before X: init ended it a moment after the deadline, since no T had come
    kill_all()  K, then D

Any number of threads may run commands at once. There is no reader thread: a waiting thread reads for all
if no other thread reads, so a lone command costs one send and one receive.
"""

from __future__ import annotations

import contextlib
import math
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from steelyard.errors import InfraFault
from steelyard.evidence.redact import NO_SECRETS, RedactedStream, Secrets
from steelyard.sandboxes.base import Command, CommandResult, OnOutput
from steelyard.sandboxes.init import frames
from steelyard.sandboxes.init.capture import Capture
from steelyard.sandboxes.init.feed import Feed
from steelyard.sandboxes.init.frames import Exit, Frame, Hello
from steelyard.sandboxes.init.guard_files import NO_ERROR, guarding_payload, unpack_writers

_STREAMS: dict[bytes, Literal["stdout", "stderr"]] = {b"O": "stdout", b"R": "stderr"}
_ANSWERS = frozenset({b"D", b"P", b"M", b"W", b"n", b"g", b"w", b"l", b"u"})
# Init ends a command itself if we do not: a controller may be stopped, swapped out or too busy
_GRACE_S = 0.2
_GUARD_S = 30.0  # for init to load a filter
_HELD_LOOK_S = 0.05  # how often a command whose deadline is held is looked at, at most
_AFTER_KILL_S = 15.0  # how long a killed process may take to be gone before the sandbox counts as broken


class Job:
    """One command under way: what init said about it so far."""

    def __init__(self, command: Command, on_output: OnOutput | None, secrets: Secrets = NO_SECRETS) -> None:
        self._on_output = on_output
        self._redacted = {kind: RedactedStream(secrets) for kind in _STREAMS}
        self._captures = {kind: Capture(command.keep_bytes, command.whole_bytes) for kind in _STREAMS}
        self._started_ns = time.monotonic_ns()
        self.feed = _feed(command)
        self._sent = 0  # by one sender at a time
        self._taken = 0  # by one reader at a time
        self.started = False
        self.done = False
        self.timed_out = False
        self.fault: Exception | None = None  # of the caller's own on_output
        self.sending = threading.Lock()  # its holder sends this command's stdin
        self._exit: Exit | None = None
        self._not_started = ""
        self._wall_ns = 0

    def take(self, frame: Frame) -> None:
        """One frame about this job. Called by whichever thread reads."""
        if frame.type in _STREAMS:
            self._take_output(frame)
        elif frame.type == b"A":
            self._taken += frames.unpack_count(frame.payload)
        elif frame.type == b"Z":
            self.timed_out = True
        elif frame.type == b"X":
            self._exit = frames.unpack_exit(frame.payload)
            self.end()
        elif frame.type == b"F":
            self._not_started = frames.unpack_not_started(frame.payload)
            self.end()
        elif frame.type == b"!":
            self._not_started = f"init refused: {frame.payload.decode(errors='replace')}"
            self.end()

    def _take_output(self, frame: Frame) -> None:
        self._keep_output(frame.type, self._redacted[frame.type].feed(frame.payload))

    def _keep_output(self, kind: bytes, data: bytes) -> None:
        """Before anything is hashed, kept or passed on, secrets are gone from it."""
        if not data:
            return
        self._captures[kind].feed(data)
        if self._on_output is None or self.fault is not None:
            return
        try:
            self._on_output(_STREAMS[kind], data)
        except Exception as fault:  # noqa: BLE001  # belongs to the thread that runs the job, not to this one
            self.fault = fault

    def end(self) -> None:
        self._wall_ns = time.monotonic_ns() - self._started_ns
        for kind, stream in self._redacted.items():
            self._keep_output(kind, stream.end())
        self.done = True
        self.feed.end()

    def wants_to_send(self) -> bool:
        return self._room() > 0 and self.feed.has_news()

    def needs_a_sender(self) -> bool:
        """The sending thread looks again when it is done."""
        return self.wants_to_send() and not self.sending.locked()

    def next_input(self) -> bytes | None:
        """Stdin that may be sent now; b"" closes it; None: nothing at the moment."""
        if self._room() <= 0:
            return None
        part = self.feed.take(self._room())
        self._sent += len(part or b"")
        return part

    def _room(self) -> int:
        return frames.STDIN_WINDOW - (self._sent - self._taken)

    def finished(self) -> CommandResult:
        stdout, stderr = (self._captures[kind].captured() for kind in _STREAMS)
        ended = self._exit
        if ended is None:
            lost = not self._not_started
            return CommandResult(
                None,
                not_started=self._not_started,
                lost=lost,
                wall_ns=self._wall_ns,
                stdout=stdout,
                stderr=stderr,
            )
        killed_by = ended.status & 0x7F
        shown = not self.timed_out
        return CommandResult(
            exit_code=ended.status >> 8 if shown and not killed_by else None,
            signal=killed_by if shown and killed_by else None,
            timed_out=self.timed_out,
            wall_ns=self._wall_ns,
            cpu_ns=(ended.user_us + ended.system_us) * 1000,
            stdout=stdout,
            stderr=stderr,
        )


def _feed(command: Command) -> Feed:
    """Fixed bytes are a feed that was filled and closed before."""
    if isinstance(command.stdin, Feed):
        return command.stdin
    return Feed(command.stdin, closed=bool(command.stdin))


class Wire:
    """The connection to one init. `hello` first, then anything from any thread."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._sock.setblocking(False)
        self._readable = select.poll()
        self._readable.register(sock, select.POLLIN)
        self._splitter = frames.Splitter()
        self._sending = threading.Lock()
        self._news = threading.Condition()
        self._reading = False
        self._reader = 0  # the thread that is passing on what it read
        self._jobs: dict[int, Job] = {}
        self._answers: dict[int, bytes] = {}  # of K, T, P, l and u, by id
        self._hello: Hello | None = None
        # Of connections to allowed hosts; must not wait for anything
        self.on_stream: Callable[[Frame], None] | None = None
        self.on_attempt: Callable[[bytes], None] | None = None  # of a frame N; must not wait for anything
        self._last_id = 0
        self._held_s = 0.0  # by which deadlines were put off, over all holds that have ended
        self._held_since: float | None = None
        self.gone = False
        self.secrets = NO_SECRETS  # of every command that follows

    def hello(self, first: bytes, timeout_s: float) -> Hello | None:
        """Init's first words; `first` is what the caller already read. None when it never spoke."""
        self._dispatch(first)
        self._wait(lambda: self._hello is not None, timeout_s)
        return self._hello

    def run(
        self, command: Command, cwd: str, env: Mapping[str, str], on_output: OnOutput | None
    ) -> CommandResult:
        """`cwd` and `env` are the whole truth; the command's own are already in them."""
        job, number = Job(command, on_output, self.secrets), self._number()
        try:
            time_s = None if command.timeout_s is None else max(command.timeout_s, 0) + _GRACE_S
            request = frames.pack_request(
                command.argv,
                cwd,
                env,
                wants_input=bool(command.stdin),
                time_s=time_s,
                ends_all=command.ends_all,
            )
        except ValueError as error:
            job.feed.end()
            return CommandResult(None, not_started=str(error))
        is_guarded = self._guard(command)
        job.feed.begin(lambda: self._feed_input(number, job), lambda: self.signal(number, signal.SIGKILL))
        self._jobs[number] = job
        try:
            self._send(frames.pack(b"E", number, request))
            job.started = True
            self._follow(number, job, command.timeout_s)
        finally:
            job.feed.end()
            del self._jobs[number]
        if job.fault is not None:
            raise job.fault
        return self._with_writers(command, job.finished()) if is_guarded else job.finished()

    def _guard(self, command: Command) -> bool:
        payload = guarding_payload(command.guarded, command.writers) if command.guarded else b""
        return bool(payload) and self.ask(b"g", payload, _GUARD_S) == NO_ERROR

    def _with_writers(self, command: Command, finished: CommandResult) -> CommandResult:
        answer = self.ask(b"w", b"", _GUARD_S) or b""
        return replace(finished, guarded=unpack_writers(command.guarded, answer))

    def kill_all(self, timeout_s: float) -> bool:
        """Kill every process but init; True once init says that all are dead."""
        return self._ask(b"K", timeout_s)

    def ping(self, timeout_s: float) -> bool:
        return self._ask(b"P", timeout_s)

    def memory_bytes(self, timeout_s: float) -> int:
        """What System V shared memory holds in the sandbox; 0 when init does not say."""
        answer = self.ask(b"M", b"", timeout_s)
        return frames.unpack_size(answer) if answer else 0

    def ask(self, kind: bytes, payload: bytes, timeout_s: float) -> bytes | None:
        """Init's answer to a question about listeners, or None."""
        number = self._number()
        self._send(frames.pack(kind, number, payload))
        self._wait(lambda: number in self._answers, timeout_s)
        return self._answers.pop(number, None)

    def tell(self, kind: bytes, number: int, payload: bytes = b"") -> None:
        self._send(frames.pack(kind, number, payload))

    def hold_deadlines(self, *, hold: bool) -> None:
        """While deadlines are held no command ends by its own; afterwards each has the time of the hold in addition."""
        now = time.monotonic()
        if self._held_since is not None:
            self._held_s += now - self._held_since
        self._held_since = now if hold else None
        self._send(frames.pack(b"h", 0, bytes([hold])))

    def _held(self) -> float:
        since = self._held_since
        return self._held_s + (time.monotonic() - since if since is not None else 0.0)

    def attend(self, until: Callable[[], bool]) -> None:
        """Read for all threads while no other thread reads; otherwise unrequested frames would wait for the next command."""
        self._wait(until, None)

    def signal(self, number: int, signal_number: signal.Signals) -> None:
        self._send(frames.pack(b"S", number, frames.pack_signal(signal_number)))

    def close(self) -> None:
        """Let go; init ends when its socket does."""
        with contextlib.suppress(OSError):
            # Wakes the reading thread; the number must not be reused under it
            self._sock.shutdown(socket.SHUT_RDWR)
        with self._news:
            self._news.wait_for(lambda: not self._reading, timeout=5)
        self._lose()
        self._sock.close()

    def _number(self) -> int:
        with self._news:
            self._last_id = self._last_id % 0xFFFFFFFF + 1
            return self._last_id

    def _ask(self, kind: bytes, timeout_s: float) -> bool:
        return self.ask(kind, b"", timeout_s) is not None

    def _follow(self, number: int, job: Job, timeout_s: float | None) -> None:
        """Feed stdin and read until the job ends; at the deadline end its whole tree."""
        deadline = None if timeout_s is None else time.monotonic() - self._held() + timeout_s
        while not job.done and not self.gone:
            self._feed_input(number, job)
            left = None if deadline is None else deadline + self._held() - time.monotonic()
            if left is not None and self._held_since is not None:
                left = max(left, _HELD_LOOK_S)
            self._wait(lambda: job.done or job.fault is not None or job.needs_a_sender(), left)
            if job.done or self.gone:
                break
            expired = deadline is not None and time.monotonic() >= deadline + self._held()
            if expired or job.fault is not None:
                job.timed_out = expired
                self._end_tree(number, job)
                break
        if not job.done:
            job.end()

    def _feed_input(self, number: int, job: Job) -> None:
        """Send what there is room for. From any thread; one that finds another at it leaves it to that one."""
        if not job.started or self._reader == threading.get_ident():
            return  # in an on_output: the thread that waits for the job looks for input when the reader is done
        while job.wants_to_send() and job.sending.acquire(blocking=False):
            try:
                while (data := job.next_input()) is not None:
                    self._send(frames.pack(b"I", number, data))
            finally:
                job.sending.release()

    def _end_tree(self, number: int, job: Job) -> None:
        self._send(frames.pack(b"T", number))
        self._wait(lambda: job.done and number in self._answers, _AFTER_KILL_S)
        dead = self._answers.pop(number, None) is not None
        if not dead and not self.gone:
            raise InfraFault(f"a command survived SIGKILL for {_AFTER_KILL_S:.0f} s; the sandbox is unusable")

    def _send(self, data: bytes) -> None:
        """Send all of it. While init is busy talking, listen, or both sides would wait for ever."""
        view = memoryview(data)
        with self._sending:
            while view and not self.gone:
                try:
                    view = view[self._sock.send(view, socket.MSG_NOSIGNAL) :]
                except BlockingIOError:
                    self._until_writable()
                except OSError:
                    self._lose()

    def _until_writable(self) -> None:
        with self._news:
            mine = not self._reading
            self._reading = True
        try:
            ready = select.poll()
            ready.register(self._sock, select.POLLOUT | (select.POLLIN if mine else 0))
            events = ready.poll(100)
            if mine and events and events[0][1] & (select.POLLIN | select.POLLHUP):
                self._read(0.1)
        finally:
            if mine:
                self._stop_reading()

    def _wait(self, done: Callable[[], bool], timeout_s: float | None) -> None:
        """Until `done`, the end of the connection, or the timeout; reads for all threads if no other thread does."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left = None if deadline is None else deadline - time.monotonic()
            with self._news:
                if done() or self.gone or (left is not None and left <= 0):
                    return
                if self._reading:
                    self._news.wait(left)
                    continue
                self._reading = True
            try:
                self._read(left)
            finally:
                self._stop_reading()

    def _stop_reading(self) -> None:
        with self._news:
            self._reading = False
            self._news.notify_all()

    def _read(self, timeout_s: float | None) -> None:
        if not self._readable.poll(None if timeout_s is None else math.ceil(timeout_s * 1000)):
            return
        try:
            data = self._sock.recv(1 << 18)
            self._reader = threading.get_ident()
            self._dispatch(data)
        except BlockingIOError:
            return
        except (OSError, ValueError, struct.error):
            data = b""  # reset, or out of step: either way nothing more can be believed
        finally:
            self._reader = 0
        if not data:
            self._lose()

    def _lose(self) -> None:
        self.gone = True
        for job in list(self._jobs.values()):
            if not job.done:
                job.end()

    def _dispatch(self, data: bytes) -> None:
        for frame in self._splitter.feed(data):
            job = self._jobs.get(frame.id)
            if frame.type == b"H":
                self._hello = frames.unpack_hello(frame.payload)
            elif frame.type in _ANSWERS:
                self._answers[frame.id] = frame.payload
            elif frame.type == b"N":
                if self.on_attempt is not None:
                    self.on_attempt(frame.payload)
            elif frame.type in frames.OF_STREAMS:
                if self.on_stream is not None:
                    self.on_stream(frame)
            elif job is not None and not job.done:
                job.take(frame)
