r"""A function from request to answer -> an init, and a sandbox around it, with no process behind them.

For tests of whatever talks to a sandbox: the wire and its frames are real, only the commands are not.

    FakeBackend(lambda request: Answer())      a `Backend` for whole trials: every command succeeds

    sandbox = FakeSandbox(lambda request: Answer(stdout=b"hello\n"))
    sandbox.run(Command(("greet",))).stdout.text
"""

from __future__ import annotations

import os
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Self

from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.sandboxes.base import (
    HOME,
    AllowedHost,
    Command,
    CommandResult,
    ExitStats,
    Facts,
    OnOutput,
    SandboxSpec,
)
from steelyard.sandboxes.init import frames
from steelyard.sandboxes.init.frames import Exit, Frame, Hello, Request
from steelyard.sandboxes.init.wire import Wire


class Answer(NamedTuple):
    """How a faked command goes. `hangs`: it runs until it is killed, and so does one that replies."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0
    signal: int = 0
    errno: int = 0  # it does not start
    hangs: bool = False
    replies: Callable[[bytes], bytes] | None = None  # to each piece of stdin; it ends when stdin does


Script = Callable[[Request], Answer]


class FakeInit:
    """Speaks docs/init-protocol.md on one end of a socketpair, from a thread."""

    def __init__(self, script: Script) -> None:
        self.controller, self._sock = socket.socketpair()
        self._script = script
        self._hanging: dict[int, Answer] = {}
        self._allowed_hosts = 0
        self.received: list[Frame] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def die(self) -> None:
        """End as if the sandbox had been killed from outside."""
        self._sock.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def send(self, kind: bytes, number: int, payload: bytes = b"") -> None:
        self._sock.sendall(frames.pack(kind, number, payload))

    def _serve(self) -> None:
        splitter = frames.Splitter()
        with self._sock:
            self.send(b"H", 0, frames.pack_hello(Hello(frames.PROTOCOL, 1)))
            try:
                while data := self._sock.recv(1 << 16):
                    for frame in splitter.feed(data):
                        self.received.append(frame)
                        self._obey(frame)
            except OSError:
                return

    def _obey(self, frame: Frame) -> None:
        if frame.type == b"E":
            self._run(frame.id, self._script(frames.unpack_request(frame.payload)))
        elif frame.type == b"I":
            self._hear(frame)
        elif frame.type == b"S":
            self._kill({frame.id} & self._hanging.keys())
        elif frame.type == b"T":
            self._kill({frame.id} & self._hanging.keys())
            self.send(b"D", frame.id)
        elif frame.type == b"K":
            self._kill(set(self._hanging))
            self.send(b"D", frame.id)
        elif frame.type in (b"P", b"M", b"w"):
            self.send(frame.type, frame.id, frames.pack_size(0) if frame.type == b"M" else frame.payload)
        elif frame.type in (b"l", b"g"):
            self._allowed_hosts += frame.type == b"l"
            self.send(frame.type, frame.id, frames.pack_signal(0))
        elif frame.type == b"u":
            self.send(b"u", frame.id, frames.pack_count(0) * self._allowed_hosts)
            self._allowed_hosts = 0
        elif frame.type in (b"b", b"a", b"e", b"r", b"h"):
            return  # deadlines, or of a stream that the test itself began, with `send(b"c", ...)`
        else:
            self.send(b"!", frame.id, frame.type + b" unknown frame")

    def _run(self, number: int, answer: Answer) -> None:
        if answer.errno:
            self.send(b"F", number, frames.pack_not_started(answer.errno))
            return
        for kind, data in ((b"O", answer.stdout), (b"R", answer.stderr)):
            for start in range(0, len(data), 1 << 16):
                self.send(kind, number, data[start : start + (1 << 16)])
        if answer.hangs or answer.replies is not None:
            self._hanging[number] = answer
        else:
            self._exit(number, answer.exit_code << 8 | answer.signal)

    def _hear(self, frame: Frame) -> None:
        answer = self._hanging.get(frame.id, Answer())
        if frame.payload:
            self.send(b"A", frame.id, frames.pack_count(len(frame.payload)))
            if answer.replies is not None:
                self.send(b"O", frame.id, answer.replies(frame.payload))
        elif answer.replies is not None:
            del self._hanging[frame.id]
            self._exit(frame.id, answer.exit_code << 8 | answer.signal)

    def _kill(self, numbers: set[int]) -> None:
        for number in numbers:
            del self._hanging[number]
            self._exit(number, 9)

    def _exit(self, number: int, status: int) -> None:
        self.send(b"X", number, frames.pack_exit(Exit(status, 0, 0, 0)))


def _facts() -> Facts:
    limits = dict.fromkeys(("cpu", "memory", "disk", "processes"), "none")
    return Facts("fake", "none", "copy", "", "none", os.geteuid(), limits, write_switch=True)  # type: ignore[arg-type]


class FakeSandbox:
    """A `Sandbox` whose commands are answered by a function; its workspace is an empty folder."""

    def __init__(self, script: Script, exit_stats: ExitStats | None = None) -> None:
        self.init = FakeInit(script)
        self._wire = Wire(self.init.controller)
        self._wire.hello(b"", 10)
        self._exit_stats = exit_stats or ExitStats()
        self._folder = tempfile.TemporaryDirectory()
        self._descriptors: list[int] = []
        self._closed = False
        self.is_writable = True

    @property
    def facts(self) -> Facts:
        return _facts()

    @property
    def workspace(self) -> Path:
        return Path(self._folder.name)

    def run(self, command: Command, on_output: OnOutput | None = None) -> CommandResult:
        return self._wire.run(command, command.folder(), {"HOME": HOME, **command.env}, on_output)

    def kill_processes(self) -> None:
        self._wire.kill_all(10)

    def set_workspace_writable(self, *, writable: bool) -> bool:
        self.is_writable = writable
        return True

    def process_tree(self) -> None:
        """There are no processes."""

    def hold_deadlines(self, *, hold: bool) -> None:
        self._wire.hold_deadlines(hold=hold)

    def attempts(self) -> dict[str, int]:
        return {}

    def forget_hosts(self, kept: tuple[AllowedHost, ...]) -> None:
        """There are none."""

    def stop(self) -> ExitStats:
        if not self._wire.gone:
            self._wire.kill_all(10)
        self._wire.close()
        return self._exit_stats

    def captured_tree(self) -> CapturedTree:
        if not self._descriptors:
            self._descriptors = [os.open(self.workspace, os.O_RDONLY | os.O_DIRECTORY) for _ in range(2)]
        workspace, baseline = self._descriptors
        return CapturedTree(workspace, baseline)

    def open_folder(self, path: str) -> int | None:
        del path
        return None

    def running_tree(self) -> CapturedTree:
        return self.captured_tree()

    def close(self) -> None:
        self.stop()
        if not self._closed:
            self._closed = True
            for descriptor in self._descriptors:
                os.close(descriptor)
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class FakeBackend:
    """A `Backend` of fake sandboxes; `on_start` sees each spec, and what it raises keeps that sandbox from starting."""

    def __init__(self, script: Script, on_start: Callable[[SandboxSpec], None] | None = None) -> None:
        self._script = script
        self._on_start = on_start

    def facts(self, spec: SandboxSpec) -> Facts:
        del spec
        return _facts()

    def start(self, spec: SandboxSpec) -> FakeSandbox:
        if self._on_start is not None:
            self._on_start(spec)
        return FakeSandbox(self._script)
