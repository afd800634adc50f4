"""A program `steelyard` for shells: it asks a server that has imported every verb, so that its start takes milliseconds.

    with served_command() as programs:   `programs` goes first on PATH

    program --SOCKET--> server     [stdin, stdout, stderr] + u64 length, then JSON: {"words": [..], "cwd": "..", "env": {..}}
    server --> program             i64 exit code, negative for a signal

Each command is a process of its own, a fork of the server. Several may run at once, as in a pipe.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def served_command() -> Iterator[Path]:
    """A folder with the program `steelyard`, for as long as the block runs."""
    with (
        tempfile.TemporaryDirectory(
            prefix="steelyard-"
        ) as made,  # the name of a socket has at most 107 bytes
        socket.socket(socket.AF_UNIX) as listening,
    ):
        address, program = Path(made, "socket"), Path(made, "programs", "steelyard")
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {__file__} ask {address} "$@"\n')
        program.chmod(0o755)
        listening.bind(str(address))
        listening.listen()
        line = [sys.executable, "-P", __file__, "serve", str(listening.fileno())]
        with subprocess.Popen(line, pass_fds=[listening.fileno()], stdin=subprocess.DEVNULL) as server:
            try:
                yield program.parent
            finally:
                server.kill()


def _ask(address: str, words: list[str]) -> int:
    order = json.dumps({"words": words, "cwd": str(Path.cwd()), "env": dict(os.environ)}).encode()
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(address)
        socket.send_fds(server, [struct.pack("Q", len(order))], [0, 1, 2])
        server.sendall(order)
        answer = server.recv(8, socket.MSG_WAITALL)
    code: int = struct.unpack("q", answer)[0] if answer else 70
    return code if code >= 0 else 128 - code


def _serve(listening: socket.socket) -> None:
    sys.path.append(str(Path(__file__).parent))
    from command_line import prepare

    prepare()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the processes that answer are not waited for
    while True:
        client, _address = listening.accept()
        if os.fork() == 0:
            listening.close()
            _answer(client)
        client.close()


def _answer(client: socket.socket) -> None:
    from command_line import carry_out

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    length, descriptors, _flags, _sender = socket.recv_fds(client, 8, 3)
    (size,) = struct.unpack("Q", length)
    order = json.loads(client.recv(size, socket.MSG_WAITALL))
    child = os.fork()
    if child == 0:
        client.close()
        for place, descriptor in enumerate(descriptors):
            os.dup2(descriptor, place)
            os.close(descriptor)
        carry_out(order)
    for descriptor in descriptors:
        os.close(descriptor)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    client.sendall(struct.pack("q", code))
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve(socket.socket(fileno=int(sys.argv[2])))
    sys.exit(_ask(sys.argv[2], sys.argv[3:]))
