"""Words of a command line -> what `steelyard` answered, without waiting for Python's imports each time.

    run_command("check", "contract", cwd=folder, env=variables) -> CompletedProcess

Each command is a process of its own with its own folder, environment, stdout and stderr: a fork of a server that
has imported every verb and done nothing else. One server a test process, started with its first command:

    here --STREAM--> server     u64 length + [stdout, stderr], then JSON: {"words": [..], "cwd": "..", "env": {..}}
    server --> here             i64 exit code, negative for a signal

Some variables must be there when a process starts: what an interpreter reads only then, and secrets, which lie open in
/proc/PID/environ. Commands with other values of those have another server.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

# What verbs import only where they need it.
_LATE = (
    "importlib.resources.readers",
    "pydantic.dataclasses",
    "rich._emoji_codes",
    "steelyard.bench.suite.run_tests",
    "steelyard.graders.judged.judge_input",
    "steelyard.importers.harbor.task",
    "steelyard.importers.write",
    "steelyard.judge.ask",
    "steelyard.sandboxes.bubblewrap.backend",
)
_FROM_THE_START = ("PYTHON", "LC_", "LANG", "LD_", "TZ", "MALLOC_", "OPENSSL_", "OPERATOR_")


def run_command(
    *words: object, cwd: Path, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    variables = {**os.environ, **(env or {})}
    key = _key(variables)
    if key not in _SERVERS:
        _SERVERS[key] = _Server.start(variables)
    try:
        return _SERVERS[key].answer([str(word) for word in words], cwd, variables)
    except BaseException:
        _SERVERS.pop(key).close()  # which ends the command too: its caller gave up
        raise


def _key(variables: Mapping[str, str]) -> object:
    return os.getpid(), frozenset(item for item in variables.items() if item[0].startswith(_FROM_THE_START))


class _Server(NamedTuple):
    process: subprocess.Popen[bytes]
    control: socket.socket

    @classmethod
    def start(cls, env: Mapping[str, str]) -> _Server:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                env=env,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,  # of the kind that commands write to; nothing comes out but its last words
                stderr=subprocess.STDOUT,
            )
        server = cls(process, ours)
        atexit.register(server.close)
        return server

    def answer(
        self, words: list[str], cwd: Path, env: Mapping[str, str]
    ) -> subprocess.CompletedProcess[bytes]:
        order = json.dumps({"words": words, "cwd": str(cwd), "env": env}).encode()
        out, err = _ask(self.control, order)
        code = self.control.recv(8, socket.MSG_WAITALL)
        if not code:
            raise RuntimeError(self.process.communicate()[0].decode())
        return subprocess.CompletedProcess(words, struct.unpack("q", code)[0], out, err)

    def close(self) -> None:
        self.control.close()
        self.process.communicate()


_SERVERS: dict[object, _Server] = {}


def _ask(control: socket.socket, order: bytes) -> tuple[bytes, bytes]:
    """What it wrote to stdout and stderr, read until no process holds them any more, as a shell's `$(...)` does."""
    readers, writers = zip(os.pipe(), os.pipe(), strict=True)
    socket.send_fds(control, [struct.pack("Q", len(order))], writers)
    for descriptor in writers:
        os.close(descriptor)
    control.sendall(order)
    result: dict[int, list[bytes]] = {descriptor: [] for descriptor in readers}
    with selectors.DefaultSelector() as ready:
        for descriptor in readers:
            ready.register(descriptor, selectors.EVENT_READ)
        while ready.get_map():
            for key, _ in ready.select():
                if data := os.read(key.fd, 1 << 16):
                    result[key.fd].append(data)
                else:
                    ready.unregister(key.fd)
                    os.close(key.fd)
    out, err = (b"".join(result[descriptor]) for descriptor in readers)
    return out, err


def _next_order(control: socket.socket) -> dict[str, Any]:
    """Returns in a fork of this process, once for each command."""
    while True:
        length, descriptors, _flags, _sender = socket.recv_fds(control, 8, 2)
        if not length:
            sys.exit()  # the tests are over
        (size,) = struct.unpack("Q", length)
        order: dict[str, Any] = json.loads(control.recv(size, socket.MSG_WAITALL))
        child = os.fork()
        if child == 0:
            control.close()
            for place, descriptor in enumerate(descriptors, 1):
                os.dup2(descriptor, place)
                os.close(descriptor)
            return order
        for descriptor in descriptors:
            os.close(descriptor)
        control.sendall(struct.pack("q", _await(child, control)))


def _await(child: int, control: socket.socket) -> int:
    watched = os.pidfd_open(child)
    ready, _, _ = select.select([watched, control.fileno()], [], [])
    os.close(watched)
    if control.fileno() in ready:  # no client waits for the answer any more
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _serve(control: socket.socket) -> None:
    prepare()
    carry_out(_next_order(control))


def prepare() -> None:
    """Import every verb, and do what each command with a contract does first."""
    from steelyard.cli.verbs import VERBS, module_of

    for module in (*map(module_of, VERBS), *_LATE):
        with suppress(Exception):  # a broken verb breaks the commands that name it
            importlib.import_module(module)
    with suppress(Exception):
        importlib.import_module("steelyard.graders.catalogue").installed_catalogue()
    gc.freeze()  # a collection in a fork would copy every page it looks at


def carry_out(order: Mapping[str, Any]) -> NoReturn:
    """Run the command of an order in this process, which ends with it."""
    from steelyard.cli.main import main

    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    try:
        code = main(order["words"])
    except SystemExit as end:  # argparse's
        code = end.code if isinstance(end.code, int) else bool(end.code)
    _end(code)


def _end(code: int) -> NoReturn:
    """As Python ends, except that it does not take every module apart: that would copy every page of the server."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads, as multiprocessing's forks do
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
