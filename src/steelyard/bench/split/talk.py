"""A command in a sandbox -> lines to it and lines from it, bounded, from any thread."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import replace

from steelyard.errors import InfraFault
from steelyard.sandboxes.base import Command, CommandResult, Sandbox
from steelyard.sandboxes.init.feed import Feed

MAX_FRAME = 8 << 20
KILL_S = 20.0


class Lines:
    """Bytes as they come -> whole lines; nothing more once a line is longer than any may be."""

    def __init__(self, take: Callable[[bytes], None], limit_bytes: int = MAX_FRAME) -> None:
        self._take = take
        self._limit_bytes = limit_bytes
        self._rest = bytearray()
        self.too_long = False

    def feed(self, data: bytes) -> None:
        if self.too_long:
            return
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._rest += line
            if len(self._rest) > self._limit_bytes:
                break
            self._take(bytes(self._rest))
            self._rest.clear()
        else:
            self._rest += rest
        if len(self._rest) > self._limit_bytes:
            self.too_long = True
            self._rest.clear()


class Talk:
    """One command under way. What it says is put in `lines`, by the line; None is its end."""

    def __init__(
        self, sandbox: Sandbox, command: Command, first: bytes, on_line: Callable[[bytes], None] | None = None
    ) -> None:
        self.feed = Feed(first, limit_bytes=4 * MAX_FRAME)
        self.lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self.finished: CommandResult | None = None
        self.fault: InfraFault | None = None
        self._sandbox = sandbox
        self._lines = Lines(on_line or self._keep)
        self._unread = 0
        self._command = replace(command, stdin=self.feed)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def flooded(self) -> bool:
        return self._lines.too_long or self._unread > MAX_UNREAD

    def say(self, line: bytes) -> None:
        self.feed.write(line + b"\n", patience_s=KILL_S)

    def next_line(self, timeout_s: float) -> bytes | None:
        """The next thing it says; None when it is over or says nothing acceptable. Raises queue.Empty."""
        line = self.lines.get(timeout=max(timeout_s, 0.0))
        self._unread -= 1
        return line

    def kill(self) -> None:
        """End it, and whatever is in its process group; what left that dies with the sandbox."""
        self.feed.kill()
        self._thread.join(KILL_S)

    def join(self, timeout_s: float) -> CommandResult | None:
        self._thread.join(timeout_s)
        return self.finished

    def _run(self) -> None:
        try:
            self.finished = self._sandbox.run(self._command, self._on_output)
        except InfraFault as fault:
            self.fault = fault
        finally:
            self.lines.put(None)

    def _on_output(self, stream: str, data: bytes) -> None:
        if stream == "stdout" and not self.flooded:
            self._lines.feed(data)
            if self.flooded:
                self.lines.put(None)

    def _keep(self, line: bytes) -> None:
        if self._unread <= MAX_UNREAD:
            self._unread += 1
            self.lines.put(line)


MAX_UNREAD = 4  # an honest candidate answers one ask at a time and is never this far ahead
