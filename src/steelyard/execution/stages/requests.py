"""A folder of the sandbox -> requests for a stage, and the answers to them.

    steelyard-stage write    writes `request.PID` into /run/steelyard/stage and waits for `answer.PID`

The controller watches the folder from outside. Every process that can write there may ask. A request is at most one short word, read
without following links; an answer is a new file or none.
"""

from __future__ import annotations

import os
import select
import stat
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from steelyard.execution.mutations.inotify import CLOSE_WRITE, MOVED_TO, Inotify

FOLDER = "/run/steelyard/stage"
PROGRAMS = "/run/steelyard/control"
NAME = "steelyard-stage"
MOST_REQUESTS = 1000
_MOST_BYTES = 64
_REQUEST, _ANSWER = "request.", "answer."
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

SCRIPT = Path(__file__).with_name("steelyard-stage.sh")

Answer = Callable[[str], str]  # a stage that is asked for -> why not, or nothing


class StageRequests:
    """Answers requests from its own thread until `close`. Takes over the descriptor of the folder."""

    def __init__(self, folder: int, answer: Answer) -> None:
        self._folder = folder
        self._answer = answer
        self._answered = 0
        self._ended = threading.Event()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._inotify = Inotify()
        self._inotify.add(folder, MOVED_TO | CLOSE_WRITE)
        self._thread = threading.Thread(target=self._serve, name="steelyard-stages", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Idempotent."""
        if self._ended.is_set():
            return
        self._ended.set()
        os.eventfd_write(self._wake, 1)
        self._thread.join()
        self._inotify.close()
        os.close(self._wake)
        os.close(self._folder)

    def _serve(self) -> None:
        waiting = select.poll()
        waiting.register(self._inotify.fd, select.POLLIN)
        waiting.register(self._wake, select.POLLIN)
        while not self._ended.is_set():
            waiting.poll()
            for notice in self._inotify.read():
                name = os.fsdecode(notice.name)
                if name.startswith(_REQUEST):
                    self._serve_one(name.removeprefix(_REQUEST))

    def _serve_one(self, number: str) -> None:
        if not number.isdecimal() or len(number) > 20:
            return
        self._answered += 1
        if self._answered > MOST_REQUESTS:
            why = "too many requests"
        else:
            wanted = self._read(f"{_REQUEST}{number}")
            why = "the request cannot be read" if wanted is None else self._answer(wanted)
        with suppress(OSError):  # the folder is the agent's: it may be full, or the name taken
            os.unlink(f"{_REQUEST}{number}", dir_fd=self._folder)
        with suppress(OSError):
            self._write(f"{_ANSWER}{number}", f"no {why}\n" if why else "ok\n")

    def _read(self, name: str) -> str | None:
        try:
            opened = os.open(name, _READ, dir_fd=self._folder)
        except OSError:
            return None
        try:
            if not stat.S_ISREG(os.fstat(opened).st_mode):
                return None
            return os.read(opened, _MOST_BYTES).decode("ascii", "replace").strip()
        finally:
            os.close(opened)

    def _write(self, name: str, text: str) -> None:
        opened = os.open(name, _WRITE, 0o644, dir_fd=self._folder)
        try:
            os.write(opened, text.encode())
        finally:
            os.close(opened)
