"""Allowed hosts: a sandbox without a network reaches them, and nothing else."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from far_hosts import Talk, digest, echo, pour, serving, silence, unused_port

from steelyard.sandboxes.base import AllowedHost, Command, CommandResult, Connection, Sandbox, addresses
from steelyard.sandboxes.egress.connect import is_elsewhere

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Start

KINDS = ["bubblewrap", "docker"]
HOST = "host.internal"
_MB = 1 << 20


class House:
    """A sandbox with allowed hosts, and the connections that were reported."""

    def __init__(self, start: Start, *ports: int, more: tuple[AllowedHost, ...] = ()) -> None:
        self.connections: list[Connection] = []
        allowed_hosts = (*(AllowedHost(HOST, port) for port in ports), *more)
        self.sandbox: Sandbox = start(allowed_hosts=allowed_hosts, on_connection=self.connections.append)

    def python(self, code: str, timeout_s: float = 60) -> CommandResult:
        return self.sandbox.run(Command(("/usr/bin/python3", "-I", "-c", code), timeout_s=timeout_s))

    def says(self, code: str) -> str:
        done = self.python(code)
        assert done.exit_code == 0, done
        return done.stdout.text.strip()


@pytest.fixture
def echoing() -> Iterator[int]:
    with serving(echo) as port:
        yield port


def test_an_allowed_host_is_reached_and_nothing_else(start: Start, echoing: int) -> None:
    """Not another port of that host, not the host's own loopback, not another host, not by its address."""
    code = f"""
import socket
def try_(host, port):
    try:
        with socket.create_connection((host, port), 60) as made:
            made.sendall(b"hello"); made.shutdown(socket.SHUT_WR); return made.recv(9).decode()
    except OSError as error: return type(error).__name__
print(try_("{HOST}", {echoing}), try_("{HOST}", {{other}}), try_("127.0.0.1", {echoing}), try_("127.0.1.2", {echoing}),
      try_("localhost", {echoing}), try_("elsewhere.example", {echoing}))
print(socket.gethostbyname("{HOST}"), [name for _, name in socket.if_nameindex()])
"""
    with serving(echo) as other:
        house = House(start, echoing)
        refused = "ConnectionRefusedError " * 4
        assert house.says(code.replace("{other}", str(other))) == f"hello {refused}gaierror\n127.0.1.1 ['lo']"
        house.sandbox.stop()
    assert house.sandbox.facts.network == "allow_list"
    (connection,) = house.connections
    assert (connection.to, connection.out_bytes, connection.in_bytes, connection.failed) == (
        f"{HOST}:{echoing}",
        5,
        5,
        None,
    )


def test_ten_megabytes_each_way_arrive_as_they_were_sent(start: Start) -> None:
    code = f"""
import hashlib, socket
data = bytes(range(256)) * 40960
with socket.create_connection(("{HOST}", UP)) as up:
    up.sendall(data); up.shutdown(socket.SHUT_WR)
    print(up.recv(64).decode() == hashlib.sha256(data).hexdigest())
seen, count = hashlib.sha256(), 0
with socket.create_connection(("{HOST}", DOWN)) as down:
    while part := down.recv(65536): seen.update(part); count += len(part)
print(count, seen.hexdigest())
"""
    with serving(digest) as up, serving(pour(10 * _MB)) as down:
        house = House(start, up, down)
        result = house.says(code.replace("UP", str(up)).replace("DOWN", str(down)))
    assert result == f"True\n{10 * _MB} {hashlib.sha256(b'y' * 10 * _MB).hexdigest()}"


def test_tls_through_a_low_port(start: Start, tmp_path: Path) -> None:
    """A port below 1024 can be allowed, though no process in the sandbox is root; the name is the one in the certificate."""
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}",
         "-addext", f"subjectAltName=DNS:{HOST}", "-keyout", tmp_path / "key", "-out", tmp_path / "cert"],
        check=False, capture_output=True,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("no openssl to make a certificate with")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")

    def talk(sock: object) -> None:
        with context.wrap_socket(sock, server_side=True) as wrapped:  # type: ignore[arg-type]
            wrapped.recv(100)
            wrapped.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi")

    code = f"""
import ssl, urllib.request
context = ssl.create_default_context(cadata={(tmp_path / "cert").read_text()!r})
print(urllib.request.urlopen("https://{HOST}:PORT/", context=context).read().decode())
"""
    with ExitStack() as stack:
        low = _serve_at_a_low_port(stack, talk)
        assert House(start, low).says(code.replace("PORT", str(low))) == "hi"


def _serve_at_a_low_port(stack: ExitStack, talk: Talk) -> int:
    """The first free port below 1024: other tests and other programs may have any of them."""
    for port in range(443, 1024):
        with suppress(OSError):
            return stack.enter_context(serving(talk, port))
    pytest.skip("this user may not listen at a port below 1024")


def test_fifty_connections_at_once_do_not_mix(start: Start, echoing: int) -> None:
    code = f"""
import socket, threading
threading.stack_size(1 << 18)
right = []
def one(number):
    word = str(number).encode() * 5000
    with socket.create_connection(("{HOST}", {echoing})) as made:
        made.sendall(word); made.shutdown(socket.SHUT_WR)
        back = b""
        while part := made.recv(65536): back += part
        right.append(back == word)
threads = [threading.Thread(target=one, args=(n,)) for n in range(50)]
for t in threads: t.start()
for t in threads: t.join()
print(right.count(True))
"""
    house = House(start, echoing)
    assert house.says(code) == "50"
    house.sandbox.stop()
    assert (len(house.connections), {one.failed for one in house.connections}) == (50, {None})


def test_a_host_that_is_not_there_resets_and_says_why(start: Start) -> None:
    """Its name is known to the sandbox, so it can only be found out by talking to it."""
    nobody = unused_port()
    house = House(
        start, nobody, more=(AllowedHost("nowhere.invalid", 443), AllowedHost("localhost.localdomain", 80))
    )
    code = f"""
import socket
for host, port in (("{HOST}", {nobody}), ("nowhere.invalid", 443)):
    try:
        with socket.create_connection((host, port), 30) as made: print(made.recv(9))
    except OSError as error: print(type(error).__name__)
"""
    assert house.says(code).split() == ["ConnectionResetError"] * 2
    house.sandbox.stop()
    why = {one.to: str(one.failed) for one in house.connections}
    assert "refused" in why[f"{HOST}:{nobody}"]
    assert "cannot be resolved" in why["nowhere.invalid:443"]


def test_a_slow_stream_holds_up_neither_others_nor_commands(start: Start, echoing: int) -> None:
    """One whose other end reads nothing, and one whose client reads nothing, while others talk."""
    code = f"""
import socket, threading
stuck = socket.create_connection(("{HOST}", SILENT)); stuck.settimeout(1)
sent = 0
try:
    while True: sent += stuck.send(b"z" * 65536)
except TimeoutError: pass
lazy = socket.create_connection(("{HOST}", POURING))
with socket.create_connection(("{HOST}", {echoing})) as made:
    made.sendall(b"still here"); print(made.recv(20).decode(), flush=True)
input()
"""
    with serving(silence) as silent, serving(pour(64 * _MB)) as pouring:
        house = House(start, echoing, silent, pouring)
        line = code.replace("SILENT", str(silent)).replace("POURING", str(pouring))
        talking = threading.Thread(target=lambda: house.python(line, timeout_s=120))
        talking.start()
        assert house.sandbox.run(Command(("/bin/sh", "-c", "echo there"))).stdout.text == "there\n"
        talking.join()
        house.sandbox.stop()
    by = {one.to.partition(":")[2]: one for one in house.connections}
    assert by[str(echoing)].in_bytes == 10
    # Unread data is in the buffers of a few sockets and our two windows, and nowhere else.
    assert by[str(pouring)].in_bytes < 64 * _MB


def test_listeners_close_when_processes_are_killed_and_open_for_the_next_command(
    start: Start, echoing: int
) -> None:
    """Between two steps no connection passes, old or new; a later one reaches the host again."""
    house = House(start, echoing)
    talk = f"""
import socket
with socket.create_connection(("{HOST}", {echoing})) as made:
    made.sendall(b"x"); print(made.recv(1).decode())
"""
    left = house.sandbox.run(
        Command(("/bin/sh", "-c", f"setsid /usr/bin/python3 -I -c '{_LINGER % (HOST, echoing)}' & {_AWAIT}"))
    )
    assert left.exit_code == 0, left
    house.sandbox.kill_processes()
    assert [(one.out_bytes, one.in_bytes) for one in house.connections] == [(1, 1)]
    assert house.says(talk) == "x"
    assert house.says(talk) == "x"
    house.sandbox.stop()
    assert len(house.connections) == 3


_LINGER = (
    'import socket, time\ns = socket.create_connection(("%s", %d)); s.sendall(b"x"); s.recv(1); '
    'open("there", "w"); time.sleep(600)'
)
_AWAIT = "until [ -e there ]; do sleep 0.05; done"


def test_a_process_in_the_background_talks_between_commands(start: Start) -> None:
    """No command runs then, and the host is still reachable."""
    heard = threading.Event()

    def talk(sock: object) -> None:
        while sock.recv(1 << 16):  # type: ignore[attr-defined]
            pass
        heard.set()

    with serving(talk) as port:
        house = House(start, port)
        code = f'import socket, time; time.sleep(1); s = socket.create_connection(("{HOST}", {port})); s.sendall(b"z" * 4000000)'
        house.sandbox.run(
            Command(("/bin/sh", "-c", f"setsid /usr/bin/python3 -I -c '{code}' >/dev/null 2>&1 &"))
        )
        assert heard.wait(300)


def test_the_server_may_end_first_and_the_client_may_half_close(start: Start, echoing: int) -> None:
    code = f"""
import socket
with socket.create_connection(("{HOST}", POURING)) as made:
    got = b""
    while part := made.recv(9): got += part
    print(len(got))
with socket.create_connection(("{HOST}", {echoing})) as made:
    made.sendall(b"ab"); made.shutdown(socket.SHUT_WR)
    print(made.recv(9).decode(), made.recv(9))
"""
    with serving(pour(1000)) as pouring:
        house = House(start, echoing, pouring)
        assert house.says(code.replace("POURING", str(pouring))) == "1000\nab b''"


def test_a_controller_that_is_killed_takes_its_streams_along(tmp_path: Path) -> None:
    """The host sees the end of the connection, and no process of the sandbox remains."""
    came, gone = threading.Event(), threading.Event()

    def talk(sock: object) -> None:
        while sock.recv(1 << 16):  # type: ignore[attr-defined]
            came.set()
        gone.set()

    with serving(talk) as port:
        program = f"""
from pathlib import Path
from steelyard.sandboxes.catalogue import backend
from steelyard.sandboxes.base import SandboxSpec, Command, AllowedHost
Path({str(tmp_path / "tree")!r}).mkdir()
box = SandboxSpec(layers=(Path({str(tmp_path / "tree")!r}),), allowed_hosts=(AllowedHost("{HOST}", {port}),))
with backend("bubblewrap").start(box) as sandbox:
    sandbox.run(Command(("/usr/bin/python3", "-I", "-c", {_LINGER % (HOST, port)!r})), lambda *_: None)
"""
        controller = subprocess.Popen([sys.executable, "-c", program], env={**os.environ})
        try:
            assert came.wait(300)
            assert not gone.is_set()
        finally:
            controller.send_signal(signal.SIGKILL)
            controller.wait()
        assert gone.wait(300)


def test_hosts_have_an_address_each_and_ports_of_one_share_it() -> None:
    allowed_hosts = (AllowedHost("a", 1), AllowedHost("b", 1), AllowedHost("a", 2))
    assert addresses(allowed_hosts) == {"a": "127.0.1.1", "b": "127.0.1.2"}


@pytest.mark.parametrize(
    ("address", "elsewhere"),
    [("93.184.215.14", True), ("10.1.2.3", True), ("127.0.0.1", False), ("127.9.9.9", False), ("0.0.0.0", False),  # noqa: S104
     ("169.254.169.254", False), ("::1", False), ("::ffff:127.0.0.1", False), ("fe80::1%eth0", False),
     ("224.0.0.1", False), ("2606:2800::1", True), ("64:ff9b::7f00:1", False), ("64:ff9b::a9fe:a9fe", False),
     ("2002:7f00:1::", False), ("64:ff9b::5db8:d70e", True), ("fd00:ec2::254", False), ("100.100.100.200", False),
     ("fd12::1", True)],
)  # fmt: skip
def test_only_host_internal_leads_to_this_machine(address: str, elsewhere: bool) -> None:  # noqa: FBT001
    """A name is what its owner says it is: it must not lead to what this machine keeps to itself."""
    assert is_elsewhere(address) is elsewhere


def test_an_address_of_this_machine_on_its_network_is_not_elsewhere() -> None:
    """What listens on every interface would be reached by it, under a name that says nothing of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))  # sends nothing, and tells the address it would be sent from
        except OSError:
            pytest.skip("this machine is on no network")
        own = probe.getsockname()[0]
    assert not is_elsewhere(own)
