"""Reports of init in Python, and an init that can have no listener: it refuses the same calls, or nothing is run."""

from __future__ import annotations

import errno
import os
import platform
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from steelyard.errors import InfraFault
from steelyard.sandboxes.base import Command
from steelyard.sandboxes.fake import Answer, FakeSandbox
from steelyard.sandboxes.init import frames
from steelyard.sandboxes.init.attempts import Attempt, unpack_attempt
from steelyard.sandboxes.init.binary import init_binary
from steelyard.sandboxes.init.watch_calls import count_attempts, start_watching
from steelyard.sandboxes.init.wire import Wire
from steelyard.sandboxes.seccomp import TABLES, watched_calls_here

NAMES = {42: "connect", 59: "execve", 101: "ptrace", 257: "openat"}


def report(number: int, error: int, detail: bytes, length: int | None = None, wanted: int = 0) -> Attempt:
    size = len(detail) if length is None else length
    payload = struct.pack("<IIIII16s", number, error, 7, wanted, size, b"curl\0rest") + detail
    return unpack_attempt(payload, NAMES)


@pytest.mark.parametrize(
    ("family", "address", "shown"),
    [
        (socket.AF_INET, bytes([1, 187]) + bytes([192, 0, 2, 7]) + bytes(8), "192.0.2.7:443"),
        (
            socket.AF_INET6,
            bytes([0, 22, 0, 0, 0, 0]) + socket.inet_pton(socket.AF_INET6, "2001:db8::1") + bytes(4),
            "[2001:db8::1]:22",
        ),
        (40, bytes(10), "address family 40"),
        (socket.AF_INET, b"", "address family 2"),
    ],
)
def test_an_address_is_shown_with_its_port(family: int, address: bytes, shown: str) -> None:
    assert report(42, 0, struct.pack("<H", family) + address).target == shown


def test_a_path_is_shown_without_detours() -> None:
    seen = report(257, errno.EROFS, b"//tmp/../etc/./passwd", wanted=2)
    assert (seen.kind, seen.error, seen.process, seen.target) == ("open", "EROFS", "curl", "/etc/passwd")


@pytest.mark.parametrize(
    ("wanted", "kind"), [(1, "read"), (5, "list"), (2, "open"), (3, "open"), (7, "open")]
)
def test_an_open_is_named_by_what_it_asks_for(wanted: int, kind: str) -> None:
    assert report(257, errno.EACCES, b"/etc/shadow", wanted=wanted).kind == kind


def test_a_detail_that_could_not_be_read_is_hidden() -> None:
    seen = report(42, 0, b"", 0xFFFFFFFF)
    assert (seen.target, seen.is_hidden, seen.error) == ("", True, "")


def test_a_report_that_is_too_short_is_left_out() -> None:
    taken: list[Attempt] = []
    with FakeSandbox(lambda _: Answer()) as sandbox:
        wire = sandbox._wire
        with pytest.raises(InfraFault, match="did not load"):  # the fake knows no such frame
            start_watching(wire, taken.append, timeout_s=0.1)
        assert wire.on_attempt is not None
        wire.on_attempt(b"short")
    assert taken == []


@pytest.fixture
def unwatched() -> Iterator[Wire]:
    """An init that is not process 1, and so has no listener."""
    ours, theirs = socket.socketpair()
    binary = str(init_binary())
    actions = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), number) for number in (0, 1)]
    with theirs:
        pid = os.posix_spawn(binary, [binary], {}, file_actions=actions, setsid=True)
    wire = Wire(ours)
    assert wire.hello(b"", 30) is not None
    yield wire
    wire.close()
    os.waitpid(pid, 0)


def test_without_a_listener_the_same_calls_are_refused_or_nothing_is_run(unwatched: Wire) -> None:
    """An unprivileged user may load a filter only where no program can gain rights: such a sandbox is not used."""
    taken: list[Attempt] = []
    if os.geteuid() != 0:
        with pytest.raises(InfraFault, match="cannot load its system call filter"):
            start_watching(unwatched, taken.append)
        return
    assert os.strerror(errno.EOPNOTSUPP) in start_watching(unwatched, taken.append)
    number = TABLES[platform.machine()].denied["keyctl"]
    code = f"import ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.syscall({number}, 0), ctypes.get_errno())"
    command = Command(("/usr/bin/python3", "-I", "-c", code), timeout_s=60)
    done = unwatched.run(command, "/", {}, None)
    assert done.stdout.text == f"-1 {errno.EPERM}\n"
    assert (taken, count_attempts(unwatched, 5.0)) == ([], {})


def test_attempts_are_counted_though_init_answers_late() -> None:
    """A busy machine may give init no time for more than a second."""
    ours, theirs = socket.socketpair()

    def answer() -> None:
        _size, _kind, number = struct.unpack("<IcI", theirs.recv(9, socket.MSG_WAITALL))
        time.sleep(1.2)
        theirs.sendall(frames.pack(b"n", number, struct.pack("<Q", 7)))

    wire = Wire(ours)
    init = threading.Thread(target=answer)
    init.start()
    counts = count_attempts(wire)
    init.join()
    wire.close()
    theirs.close()
    assert counts == {watched_calls_here().calls[0].name: 7}


def test_a_filter_is_loaded_once_and_before_any_command(unwatched: Wire) -> None:
    """What arrives on the channel after that changes nothing."""
    malformed = unwatched.ask(b"W", b"\xff" * 12, 30)
    assert malformed == struct.pack("<ii", errno.EINVAL, errno.EINVAL)
