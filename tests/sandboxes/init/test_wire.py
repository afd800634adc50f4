"""The client of init against a scripted one: what it makes of every frame, and of silence."""

from __future__ import annotations

import errno
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from steelyard.sandboxes.base import Command
from steelyard.sandboxes.fake import Answer, FakeSandbox
from steelyard.sandboxes.init import frames
from steelyard.sandboxes.init.binary import init_binary
from steelyard.sandboxes.init.frames import Splitter
from steelyard.sandboxes.init.wire import Wire


def test_a_request_arrives_as_it_was_sent() -> None:
    seen = []

    def script(request: frames.Request) -> Answer:
        seen.append(request)
        return Answer()

    with FakeSandbox(script) as sandbox:
        sandbox.run(Command(("cmd", "", "a b", "\udcff"), cwd="x", env={"A": "1=2", "E": ""}))
    assert seen[0].argv == ["cmd", "", "a b", "\udcff"]
    assert seen[0].cwd == "/workspace/x"
    assert seen[0].env == {"HOME": "/home/agent", "A": "1=2", "E": ""}


@pytest.mark.parametrize(
    ("answer", "field", "value"),
    [
        (Answer(exit_code=3), "exit_code", 3),
        (Answer(signal=11), "signal", 11),
        (Answer(errno=errno.ENOEXEC), "not_started", "Exec format error"),
    ],
)
def test_an_end_is_reported_in_its_own_field(answer: Answer, field: str, value: object) -> None:
    with FakeSandbox(lambda _: answer) as sandbox:
        done = sandbox.run(Command(("x",)))
    ends = {
        "exit_code": None,
        "signal": None,
        "not_started": "",
        "timed_out": False,
        "lost": False,
        field: value,
    }
    assert {name: getattr(done, name) for name in ends} == ends


def test_a_hanging_command_is_ended_at_its_deadline() -> None:
    with FakeSandbox(lambda _: Answer(stdout=b"some", hangs=True)) as sandbox:
        done = sandbox.run(Command(("x",), timeout_s=2))
    assert (done.timed_out, done.signal, done.stdout.text) == (True, None, "some")


def test_a_sandbox_that_dies_under_a_command_loses_it() -> None:
    def die(_request: frames.Request) -> Answer:
        sandbox.init._sock.shutdown(socket.SHUT_RDWR)
        return Answer(hangs=True)

    with FakeSandbox(die) as sandbox:
        assert sandbox.run(Command(("x",))).lost


def test_stdin_is_sent_in_windows_and_then_closed() -> None:
    sandbox = FakeSandbox(lambda _: Answer(hangs=True))
    with sandbox:
        sandbox.run(Command(("x",), stdin=b"z" * 200_000, timeout_s=3))
        parts = [frame.payload for frame in sandbox.init.received if frame.type == b"I"]
    assert b"".join(parts) == b"z" * 200_000
    assert max(map(len, parts)) <= frames.STDIN_WINDOW
    assert parts[-1] == b""


def test_a_refused_frame_is_a_command_that_did_not_start() -> None:
    with FakeSandbox(lambda _: Answer(hangs=True)) as sandbox:
        sandbox.init._obey = lambda frame: sandbox.init.send(b"!", frame.id, b"E malformed")  # type: ignore[method-assign]
        assert sandbox.run(Command(("x",))).not_started == "init refused: E malformed"
        sandbox.init._obey = type(sandbox.init)._obey.__get__(sandbox.init)  # type: ignore[method-assign]


def test_frames_survive_any_cut_of_the_stream() -> None:
    stream = frames.pack(b"O", 1, b"abc") + frames.pack(b"X", 2, b"") + frames.pack(b"R", 3, b"z" * 1000)
    for size in (1, 2, 7, 100, len(stream)):
        splitter = Splitter()
        parts = [stream[at : at + size] for at in range(0, len(stream), size)]
        found = [frame for part in parts for frame in splitter.feed(part)]
        assert [(frame.type, frame.id, len(frame.payload)) for frame in found] == [
            (b"O", 1, 3),
            (b"X", 2, 0),
            (b"R", 3, 1000),
        ]


def test_a_frame_longer_than_allowed_is_out_of_step() -> None:
    with pytest.raises(ValueError, match="out of step"):
        list(Splitter().feed(b"\xff\xff\xff\xff" + b"O" + b"\0\0\0\0"))


def test_a_peer_out_of_step_loses_the_sandbox() -> None:
    def babble(_request: frames.Request) -> Answer:
        sandbox.init._sock.sendall(b"\xff" * 20)
        return Answer(hangs=True)

    with FakeSandbox(babble) as sandbox:
        assert sandbox.run(Command(("x",))).lost


def test_init_does_not_wait_for_ever_for_a_controller_that_never_speaks() -> None:
    """As in a container whose controller died between start and attach."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            [str(init_binary()), "patience=200"], stdin=theirs.fileno(), stdout=theirs.fileno()
        )
        assert process.wait(timeout=60) == 0


def test_init_that_was_spoken_to_waits_as_long_as_it_takes() -> None:
    ours, theirs = socket.socketpair()
    wire = Wire(ours)
    with ThreadPoolExecutor() as pool:
        pinged = pool.submit(wire.ping, 60)  # before init starts, so that its patience never runs out
        process = subprocess.Popen(
            [str(init_binary()), "patience=2000"], stdin=theirs.fileno(), stdout=theirs.fileno()
        )
        theirs.close()
        assert pinged.result()
    time.sleep(2.2)
    assert wire.ping(60)
    wire.close()
    process.wait(timeout=60)
