"""An agent with an allowed host tries to reach more hosts, to keep connections open, or to crash the proxy."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
from far_hosts import digest, echo, pour, serving, silence
from own_engine import eventually
from sandbox_stage import Stage, each_sandbox, result  # noqa: F401

from steelyard.sandboxes.base import AllowedHost

HOST = "host.internal"
OPEN = 64  # connections at once


@contextlib.contextmanager
def behind(*ports: int) -> Iterator[Stage]:
    with Stage(allowed_hosts=tuple(AllowedHost(HOST, port) for port in ports)) as stage:
        yield stage


@pytest.fixture
def port() -> Iterator[int]:
    with serving(echo) as found:
        yield found


def still_works(stage: Stage, port: int) -> bool:
    code = f"""
import socket, time
for _ in range(200):  # places are free again a moment after the connection that held them has ended
    try:
        with socket.create_connection(("{HOST}", {port}), 300) as made:
            made.sendall(b"still"); made.shutdown(socket.SHUT_WR); print(made.recv(9).decode())
            break
    except OSError: time.sleep(0.05)
"""
    return stage.python(code).stdout.text == "still\n"


def test_opening_and_dropping_connections_by_the_thousand(port: int) -> None:
    """So many that the record or the proxy could fail. A thousand are recorded, and the sum of the rest."""
    code = f"""
import socket
for number in range(1200):
    try: made = socket.create_connection(("{HOST}", {port}), 300)
    except ConnectionResetError: continue
    if number % 3 == 0: made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
    made.close()
print("done")
"""
    with behind(port) as stage:
        assert result(stage.python(code)) == "done\n[0]"
        assert still_works(stage, port)
        stage.stop()
        told = stage.told
    assert (
        1201 <= sum(one.count + one.refused for one in told) <= 1401
    )  # the last one may have been tried again
    assert len(told) <= 1001


def test_keeping_every_connection_open(port: int) -> None:
    """The agent holds every connection: beyond 64, new ones are reset and counted."""
    code = f"""
import socket
held, reset = [], 0
for _ in range(100):
    try:
        made = socket.create_connection(("{HOST}", {port}), 300)
        made.sendall(b"x"); held.append((made, made.recv(1)))
    except OSError: reset += 1
print(len(held), reset)
"""
    with behind(port) as stage:
        assert result(stage.python(code)) == f"{OPEN} {100 - OPEN}\n[0]"
        assert still_works(stage, port)  # they went with the process that held them
        stage.stop()
        # At least: the last command may have been refused too, until the places were free again.
        assert sum(one.refused for one in stage.told) >= 100 - OPEN


def test_never_reading_what_it_asked_for() -> None:
    """The controller would have to hold what 64 servers pour out; it takes no more than a window from each."""
    code = f"""
import socket, time
held = [socket.create_connection(("{HOST}", PORT), 300) for _ in range({OPEN})]
time.sleep(1)
print("held")
"""
    size = 256 << 20
    with serving(pour(size)) as pouring, behind(pouring) as stage:
        assert result(stage.python(code.replace("PORT", str(pouring)))) == "held\n[0]"
        assert result(stage.sh("echo here")) == "here\n[0]"
        stage.stop()
        told = stage.told
    assert len(told) == OPEN
    assert all(one.in_bytes < size // 8 for one in told)


def test_pushing_more_than_the_far_side_reads() -> None:
    """A host that accepts and never reads: what the agent sends must not pile up here."""
    code = f"""
import socket
made = socket.create_connection(("{HOST}", PORT), 300); made.settimeout(1)
sent = 0
try:
    while sent < 256 << 20: sent += made.send(b"z" * 65536)
except TimeoutError: pass
print(sent < 64 << 20)
"""
    with serving(silence) as silent, behind(silent) as stage:
        assert result(stage.python(code.replace("PORT", str(silent)))) == "True\n[0]"
        assert result(stage.sh("echo here")) == "here\n[0]"


def test_a_frame_for_every_byte(port: int) -> None:
    """Twenty thousand writes of one byte each, while another command runs."""
    code = f"""
import socket, threading
made = socket.create_connection(("{HOST}", {port}), 300)
made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
def write():
    for _ in range(20000): made.sendall(b"x")
    made.shutdown(socket.SHUT_WR)
threading.Thread(target=write).start()
count = 0
while part := made.recv(65536): count += len(part)
print(count)
"""
    with behind(port) as stage:
        assert result(stage.python(code)) == "20000\n[0]"


def test_listening_at_the_address_of_an_allowed_host(port: int) -> None:
    """The agent listens on the port of the allowed host, to answer other processes in its place."""
    code = f"""
import socket
for option in (None, socket.SO_REUSEADDR, socket.SO_REUSEPORT):
    for address in ("127.0.1.1", "0.0.0.0"):
        with socket.socket() as own:
            if option: own.setsockopt(socket.SOL_SOCKET, option, 1)
            try: own.bind((address, {port})); own.listen(); print("listening", address, option)
            except OSError as error: print(error.errno)
"""
    with behind(port) as stage:
        assert result(stage.python(code)) == "98\n" * 6 + "[0]"
        assert still_works(stage, port)


def test_a_daemon_that_talks_on_after_the_end() -> None:
    """It outlives the agent's last command; what it sends after the sandbox has stopped is not delivered."""
    heard, came, ended = [0], threading.Event(), threading.Event()

    def listen(sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := sock.recv(1 << 16):
                heard[0] += len(data)
                came.set()
        ended.set()

    with serving(listen) as port, behind(port) as stage:
        code = (
            f'import socket, time; made = socket.create_connection((\\"{HOST}\\", {port}))\n'
            'while True: made.sendall(b\\"x\\"); time.sleep(0.01)'
        )
        stage.sh(f'setsid /usr/bin/python3 -I -c "{code}" > /dev/null 2>&1 &')
        assert came.wait(300)
        stage.stop()
        (one,) = stage.told
        assert ended.wait(300)
        assert heard[0] == one.out_bytes > 0
        assert one.failed == "still open when the network was shut"


def test_half_a_goodbye() -> None:
    """The agent says that it will send no more, dies without a word, and leaves the other half open."""
    code = f"""
import os, signal, socket
held = [socket.create_connection(("{HOST}", PORT), 300) for _ in range({OPEN})]
for made in held: made.sendall(b"x"); made.shutdown(socket.SHUT_WR)
os.kill(os.getpid(), signal.SIGKILL)
"""
    with serving(digest) as slow, behind(slow) as stage:
        for times in (1, 2, 3):  # each time all 64 places, so that none can have been lost before
            assert stage.python(code.replace("PORT", str(slow))).signal == 9
            eventually(lambda: len(stage.told) == times * OPEN)  # noqa: B023  # called at once
        stage.stop()
        assert sum(one.count + one.refused for one in stage.told) == 3 * OPEN


def test_a_name_of_its_own_for_the_host() -> None:
    """The agent may not write the file in which names are looked up; and what it would add led nowhere."""
    with serving(echo) as port, behind(port) as stage:
        done = stage.sh(f"echo 127.0.0.1 {HOST} >> /etc/hosts; echo $?; getent hosts {HOST}")
        assert done.stdout.text.split()[-2:] == ["127.0.1.1", HOST]
        assert "0" not in done.stdout.text.splitlines()[:1]


def test_taking_the_address_of_an_allowed_host_between_two_steps() -> None:
    """A connection of its own that was closed there is remembered by the kernel for a minute: then no door could be
    opened for the next step, and the run would not count.
    """
    code = """
import os, socket, time
met = socket.create_server(("127.0.0.1", 0))
if os.fork(): os._exit(0)
for number in range(3): os.close(number)
while True:
    with socket.socket() as own:
        try: own.bind(("127.0.1.1", PORT))
        except OSError: continue
        own.connect(met.getsockname())
        kept = met.accept()
    time.sleep(60)
"""
    with serving(echo) as port, behind(port) as stage:
        for _ in range(5):
            stage.python(code.replace("PORT", str(port)))
            stage.sandbox.kill_processes()
            assert still_works(stage, port)
