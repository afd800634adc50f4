r"""Bytes from any thread -> the stdin of a command that is already running.

    feed = Feed()
    thread: sandbox.run(Command(("cat",), stdin=feed), on_output=answers.take)
    here:   feed.write(b"a question\n"); ...; feed.close()

What is written waits in a bounded buffer until init has room for it. Nothing here blocks unless the caller asks for it, so
`write` may be called in an `on_output`, of the same command or of another: two commands can be tied together.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

LIMIT_BYTES = 1 << 20


class FeedFullError(Exception):
    """The command does not read what it is sent."""


class Feed:
    """Stdin of one command. Once the command has ended, whatever is written goes nowhere."""

    def __init__(self, first: bytes = b"", *, closed: bool = False, limit_bytes: int = LIMIT_BYTES) -> None:
        self._waiting = bytearray(first)
        self._limit_bytes = limit_bytes
        self._changed = threading.Condition()
        self._closed = closed
        self._end_taken = False
        self._ended = False
        self._send: Callable[[], None] | None = None
        self._kill: Callable[[], None] | None = None

    @property
    def ended(self) -> bool:
        """Whether the command is over."""
        return self._ended

    def write(self, data: bytes, *, patience_s: float = 0.0) -> None:
        """Hand over all of it; the end of the command ends the wait too.

        Raises FeedFullError when more than the limit is waiting and stays so for `patience_s`. Be patient only in
        a thread that no command depends on: never in an `on_output`.
        """
        deadline = time.monotonic() + patience_s
        with self._changed:
            while len(self._waiting) >= self._limit_bytes and not self._ended:
                left = deadline - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    raise FeedFullError(
                        f"{len(self._waiting)} bytes wait for a command that does not read them"
                    )
            if self._ended:
                return
            if self._closed:
                raise ValueError("this stdin was closed")
            self._waiting += data
        self._hand_on()

    def close(self) -> None:
        """The command reads an end of file after what was written."""
        with self._changed:
            self._closed = True
        self._hand_on()

    def kill(self) -> None:
        """End the command, and what is in its process group. Not before it runs."""
        kill = self._kill
        if kill is not None and not self._ended:
            kill()

    def _hand_on(self) -> None:
        send = self._send
        if send is not None:
            send()

    # What follows is for the wire.

    def begin(self, send: Callable[[], None], kill: Callable[[], None]) -> None:
        """The command runs: call `send` whenever there is more."""
        with self._changed:
            if self._send is not None or self._ended:
                raise RuntimeError("a feed is for one command")
            self._send = send
            self._kill = kill

    def has_news(self) -> bool:
        return bool(self._waiting) or (self._closed and not self._end_taken)

    def take(self, room: int) -> bytes | None:
        """At most that many bytes; b"" for the end, once; None: nothing at the moment."""
        with self._changed:
            if not self._waiting:
                if not self._closed or self._end_taken:
                    return None
                self._end_taken = True
                return b""
            part = bytes(self._waiting[:room])
            del self._waiting[: len(part)]
            self._changed.notify_all()
            return part

    def end(self) -> None:
        """The command is over."""
        with self._changed:
            self._ended = True
            self._end_taken = True
            self._waiting.clear()
            self._changed.notify_all()
