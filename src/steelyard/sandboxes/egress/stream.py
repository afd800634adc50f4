"""One connection to an allowed host: bytes from the sandbox to the host, and back.

Both ways there is a window: what init may send us before we passed it on, and what we may send before the client
took it. So neither side can make the other hold more than that, and a slow one holds up itself alone.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from steelyard.sandboxes.base import AllowedHost
from steelyard.sandboxes.egress.connect import connect
from steelyard.sandboxes.init import frames
from steelyard.sandboxes.init.frames import STREAM_WINDOW, Frame
from steelyard.sandboxes.init.wire import Wire

_ERROR = select.POLLERR | select.POLLHUP | select.POLLNVAL


class Stream:
    """`serve` runs in a thread of its own; `take` and `end` come from others and wait for nothing."""

    def __init__(
        self, number: int, allowed_host: AllowedHost, wire: Wire, ended: Callable[[Stream, str | None], None]
    ) -> None:
        self.number = number
        self.allowed_host = allowed_host
        self.opened = time.monotonic_ns()
        self.out_bytes = 0
        self.in_bytes = 0
        self._wire = wire
        self._ended = ended
        self._lock = threading.Lock()  # of what `take` fills
        self._inbox = bytearray()
        self._client_done = False
        self._client_gone = False
        self._untaken = 0  # bytes on their way to the client
        self._over: str | None = None
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def take(self, frame: Frame) -> None:
        with self._lock:
            if frame.type == b"b":
                if len(self._inbox) + len(frame.payload) > STREAM_WINDOW:
                    raise ValueError("more than the window: the two sides are out of step")
                self._inbox += frame.payload
                self._client_done = self._client_done or not frame.payload
            elif frame.type == b"a":
                self._untaken = max(0, self._untaken - frames.unpack_count(frame.payload))
            else:
                self._client_gone = True
            self._ring()

    @property
    def is_ending(self) -> bool:
        """Nothing more comes from the client."""
        return self._client_done or self._client_gone

    def end(self, why: str) -> None:
        """Called by other threads: no further byte is forwarded."""
        with self._lock:
            self._over = self._over or why
            self._ring()

    def serve(self) -> None:
        """Until both sides have ended, or one cannot go on; the last word to init is ours."""
        failed: str | None = None
        try:
            with connect(self.allowed_host) as server:
                failed = self._pump(server)
        except OSError as error:
            failed = error.strerror or str(error)
        finally:
            self._leave(failed)

    def _leave(self, failed: str | None) -> None:
        """Forgotten here first: init gives the place away when it hears of it, and we must have room by then."""
        try:
            self._ended(self, failed)
        finally:
            self._wire.tell(b"e" if failed is None else b"r", self.number)
            with self._lock:
                os.close(self._bell)
                self._bell = -1

    def _ring(self) -> None:
        if self._bell >= 0:
            os.eventfd_write(self._bell, 1)

    def _pump(self, server: socket.socket) -> str | None:
        server.setblocking(False)
        waiting = select.poll()
        waiting.register(self._bell, select.POLLIN)
        server_done = server_ended = False
        while True:
            with self._lock:
                if self._over is not None or self._client_gone:
                    return self._over or "reset from inside"
                room = STREAM_WINDOW - self._untaken
                outgoing, client_done = bool(self._inbox), self._client_done
            if client_done and not outgoing and not server_ended:
                server_ended = True
                with suppress(OSError):  # it may be gone already; what it said last is still to be read
                    server.shutdown(socket.SHUT_WR)
            if server_done and server_ended:
                return None
            reads = not server_done and room > 0
            _watch(waiting, server, (select.POLLIN if reads else 0) | (select.POLLOUT if outgoing else 0))
            happened = dict(waiting.poll())
            if self._bell in happened:
                os.eventfd_read(self._bell)
            news = happened.get(server.fileno(), 0)
            if outgoing and news & (select.POLLOUT | _ERROR):
                self._pass_out(server)
            if reads and news & (select.POLLIN | _ERROR):
                server_done = not self._pass_in(server, room)

    def _pass_out(self, server: socket.socket) -> None:
        with self._lock:  # which `end` takes too: once it has, not a byte more goes out
            if self._over is not None:
                return
            try:
                count = server.send(bytes(self._inbox), socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return
            del self._inbox[:count]
            self.out_bytes += count
        self._wire.tell(b"a", self.number, frames.pack_count(count))

    def _pass_in(self, server: socket.socket, room: int) -> bool:
        """False at the end of what the server says."""
        try:
            data = server.recv(room)
        except BlockingIOError:
            return True
        with self._lock:
            self._untaken += len(data)
        self.in_bytes += len(data)
        self._wire.tell(b"b", self.number, data)
        return bool(data)


def _watch(waiting: select.poll, server: socket.socket, events: int) -> None:
    """A socket that nothing is wanted of is not watched: its end would be reported again and again."""
    if events:
        waiting.register(server, events)
    else:
        try:
            waiting.unregister(server)
        except KeyError:
            return
