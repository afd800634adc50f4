"""Servers on this machine that are allowed hosts of a sandbox."""

from __future__ import annotations

import contextlib
import hashlib
import select
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator

Talk = Callable[[socket.socket], None]


def echo(sock: socket.socket) -> None:
    """Everything back, until the client will say no more."""
    while data := sock.recv(1 << 16):
        sock.sendall(data)


def digest(sock: socket.socket) -> None:
    """What was said, as its SHA-256, once the client has said all."""
    seen = hashlib.sha256()
    while data := sock.recv(1 << 16):
        seen.update(data)
    sock.sendall(seen.hexdigest().encode())


def pour(size: int) -> Talk:
    """So many bytes and the end, whatever the client says."""

    def talk(sock: socket.socket) -> None:
        piece = b"y" * (1 << 16)
        for left in range(size, 0, -len(piece)):
            sock.sendall(piece[:left])

    return talk


def silence(sock: socket.socket) -> None:
    """Accepts, reads nothing, says nothing, until the other side is gone."""
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        poll = select.poll()
        poll.register(sock, select.POLLRDHUP)
        poll.poll()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    allow_reuse_address = True


@contextlib.contextmanager
def serving(talk: Talk, port: int = 0) -> Iterator[int]:
    """A server on this machine's loopback; its port."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                talk(self.request)

    with _Server(("127.0.0.1", port), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()  # otherwise the thread polls a closed descriptor until the tests end, without a pause


def unused_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
