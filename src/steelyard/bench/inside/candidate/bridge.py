"""Takes the connections of the tests, in their own sandbox, and passes each line on to the controller and back.

stdin and stdout are the channel to the controller. Nothing of the candidate's is in this sandbox. The checks of
this program report mistakes; they are no defence.
"""

import contextlib
import json
import os
import socket
import sys
import threading
from typing import Any, BinaryIO, Dict

from .values import MAX_FRAME

MAX_CONNECTIONS = 256


class Bridge:
    def __init__(self, address: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen(64)
        self._connections: Dict[int, socket.socket] = {}
        self._lock = threading.Lock()

    def say(self, frame: Dict[str, Any]) -> None:
        self._write(json.dumps(frame).encode() + b"\n")

    def accept(self) -> None:
        number = 0
        while True:
            connection, _ = self._listener.accept()
            number += 1
            if len(self._connections) >= MAX_CONNECTIONS:
                connection.close()
                continue
            self._connections[number] = connection
            threading.Thread(target=self._listen, args=(number, connection), daemon=True).start()

    def answer(self, source: BinaryIO) -> None:
        """Pass answers on until the controller has no more to say."""
        while True:
            line = source.readline(MAX_FRAME + 100)
            if not line.endswith(b"\n"):
                return
            head, _, answer = line.partition(b" ")
            connection = self._connections.get(int(head))
            if connection is not None:
                with contextlib.suppress(OSError):
                    connection.sendall(answer)

    def _listen(self, number: int, connection: socket.socket) -> None:
        lines = connection.makefile("rb")
        while True:
            try:
                line = lines.readline(MAX_FRAME + 1)
            except OSError:
                line = b""
            if not line.endswith(b"\n"):
                break
            self._write(b"%d %s" % (number, line))
        self._write(b"%d end\n" % number)
        self._connections.pop(number, None)
        connection.close()

    def _write(self, data: bytes) -> None:
        with self._lock:
            view = memoryview(data)
            while view:
                view = view[os.write(1, view) :]


def main(source: BinaryIO, config: Dict[str, Any]) -> None:
    bridge = Bridge(config["address"])
    bridge.say({"ready": True})
    threading.Thread(target=bridge.accept, daemon=True).start()
    try:
        bridge.answer(source)
    finally:
        sys.stdout.flush()
        os.unlink(config["address"])
