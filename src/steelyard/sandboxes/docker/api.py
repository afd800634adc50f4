r"""Requests to a container engine -> its answers: HTTP on a unix socket, which Docker and Podman both speak.

    GET /version                   who answers
    POST /containers/ID/attach     101, then both directions are init's: stdin plain, stdout in chunks of
                                   u8 stream | 3 zero bytes | u32 length (big endian) | bytes

No client program, no library: a command must not cost a process, and the API is a dozen calls.
"""

from __future__ import annotations

import functools
import http.client
import json
import os
import socket
import struct
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from steelyard.errors import InfraFault, MissingCapability

DOCKER_SOCKET = "/var/run/docker.sock"
CALL_TIMEOUT_S = 120.0
_MOST_ANSWER_BYTES = 64 << 20
_STDERR_KEPT = 4096
_START = "run `systemctl start docker` (or `dockerd &` as root), or set DOCKER_HOST=unix:///path/to.sock"
_WITHOUT = (
    "without one, `--sandbox bubblewrap` runs only the Harbor tasks whose Dockerfile leaves the system alone"
)
_ALLOW = "run `usermod -aG docker $USER` and log in again"
_CHUNK = struct.Struct(">BxxxI")
_STDOUT = 1

Query = Mapping[str, str | int]


class EngineRefusal(InfraFault):
    """The engine refused. The caller explains it where the reason is known."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"the container engine refused ({status}): {message}{advice_on(message)}")
        self.status = status
        self.message = message


NO_ROOM = "free some disk and try again"


def advice_on(message: str) -> str:
    """How to mend what the engine says, if it is a full disk."""
    return f"; {NO_ROOM}" if "no space left" in message.lower() else ""


class Version(NamedTuple):
    name: str  # docker | podman
    version: str


class Engine:
    """One engine, named by its socket. Every call is a connection of its own, so any thread may call."""

    def __init__(self, path: str) -> None:
        self.path = path

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | BinaryIO | None = None,
        query: Query | None = None,
        *,
        timeout_s: float = CALL_TIMEOUT_S,
    ) -> Any:
        """The answer as JSON, or None if there is none; EngineRefusal for anything above 399."""
        with self.opened(method, path, body, query, timeout_s=timeout_s) as answer:
            data = answer.read(_MOST_ANSWER_BYTES)
        return json.loads(data) if data.strip() else None

    @contextmanager
    def opened(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | BinaryIO | None = None,
        query: Query | None = None,
        *,
        timeout_s: float = CALL_TIMEOUT_S,
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer while it comes in; a file as `body` is sent as a tar."""
        connection = _Connection(self.path, timeout_s)
        try:
            with _faults(self.path):
                connection.request(method, _target(path, query or {}), *_payload(body))
                answer = connection.getresponse()
                if answer.status >= 400:
                    raise EngineRefusal(answer.status, _reason(answer.read(1 << 16)))
            with _faults(self.path):
                yield answer
        finally:
            connection.close()

    def attach(self, container: str) -> AttachedSocket:
        """The stdin and stdout of a container's process 1."""
        # An empty detachKeys: Podman would otherwise look for ctrl-p ctrl-q in init's frames.
        query: Query = {"stream": 1, "stdin": 1, "stdout": 1, "stderr": 1, "detachKeys": ""}
        head = f"POST {_target(f'/containers/{container}/attach', query)} HTTP/1.1\r\n"
        head += "Host: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n"
        with _faults(self.path):
            raw = _connect(self.path, CALL_TIMEOUT_S)
            try:
                raw.sendall(head.encode())
                return AttachedSocket(raw, _upgrade(raw))
            except BaseException:
                raw.close()
                raise

    @functools.cached_property
    def version(self) -> Version:
        version = self.call("GET", "/version", timeout_s=10)
        names = " ".join(part.get("Name", "") for part in version.get("Components") or ())
        return Version("podman" if "podman" in names.lower() else "docker", str(version.get("Version", "?")))

    @functools.cached_property
    def info(self) -> dict[str, Any]:
        return dict(self.call("GET", "/info", timeout_s=30))


class AttachedSocket(socket.socket):
    """Init's end of an attached container: what is received is stdout, taken out of its chunks."""

    def __init__(self, raw: socket.socket, rest: bytes) -> None:
        super().__init__(fileno=raw.detach())
        self._pending = bytearray(rest)
        self._left = 0
        self._is_stdout = False
        self.stderr = b""  # the first output of a runtime that could not start init
        self.first = self._taken()  # what came with the answer to the request: no poll will tell of it

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Some of init's output; BlockingIOError while there is only the head of a chunk."""
        raw = super().recv(bufsize, flags)
        if not raw:
            return b""
        self._pending += raw
        taken = self._taken()
        if not taken:
            raise BlockingIOError
        return taken

    def _taken(self) -> bytes:
        out, at = bytearray(), 0
        while at < len(self._pending):
            if self._left == 0:
                if len(self._pending) - at < _CHUNK.size:
                    break
                stream, self._left = _CHUNK.unpack_from(self._pending, at)
                self._is_stdout = stream == _STDOUT
                at += _CHUNK.size
                continue
            part = self._pending[at : at + self._left]
            if self._is_stdout:
                out += part
            else:
                self.stderr = (self.stderr + part)[:_STDERR_KEPT]
            self._left -= len(part)
            at += len(part)
        del self._pending[:at]
        return bytes(out)


class _Connection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("docker", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        self.sock = _connect(self._path, self.timeout)


def _connect(path: str, timeout_s: float | None) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    try:
        sock.settimeout(timeout_s)
        sock.connect(path)
    except BaseException:
        sock.close()
        raise
    return sock


@contextmanager
def _faults(path: str) -> Iterator[None]:
    """Whatever goes wrong on the way to the engine is this machine's, and has a command that mends it."""
    try:
        yield
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise MissingCapability(f"no container engine answers on {path}; {_START}; {_WITHOUT}") from error
    except PermissionError as error:
        raise MissingCapability(f"this user may not use {path}; {_ALLOW}") from error
    except TimeoutError as error:
        raise InfraFault(f"the container engine on {path} does not answer; {_START}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise InfraFault(f"the container engine on {path} went away ({reason}); {_START}") from error


def _target(path: str, query: Query) -> str:
    # Without a version in it: each engine then speaks its own, and newer ones refuse the old numbers.
    return f"{path}?{urllib.parse.urlencode(query)}" if query else path


def _payload(body: Mapping[str, Any] | BinaryIO | None) -> tuple[Any, dict[str, str]]:
    if body is None:
        return None, {}
    if isinstance(body, Mapping):
        return json.dumps(body).encode(), {"Content-Type": "application/json"}
    size = body.seek(0, os.SEEK_END)
    body.seek(0)
    return body, {"Content-Type": "application/x-tar", "Content-Length": str(size)}


def _upgrade(raw: socket.socket) -> bytes:
    """What already came after the head of the answer, which must say yes."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = raw.recv(4096)
        if not part or len(data) > 1 << 16:
            raise http.client.BadStatusLine(data[:100].decode(errors="replace"))
        data += part
    head, _, rest = data.partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    if status not in {101, 200}:
        raise EngineRefusal(status, _reason(rest + raw.recv(1 << 16)))
    return rest


def _reason(data: bytes) -> str:
    with suppress(ValueError):
        reply = json.loads(data)
        if isinstance(reply, dict):
            return str(reply.get("message") or reply.get("cause") or reply)
    return data.decode(errors="replace").strip() or "no reason given"


@functools.cache
def _at(path: str) -> Engine:
    return Engine(path)


def engine() -> Engine:
    """The engine that DOCKER_HOST names, or the first whose socket is there."""
    named = os.environ.get("DOCKER_HOST", "")
    if named and not named.startswith("unix://"):
        raise MissingCapability(
            f"DOCKER_HOST={named} is not on this machine; set DOCKER_HOST=unix:///path/to.sock"
        )
    return _at(named.removeprefix("unix://") or _first_socket())


def _first_socket() -> str:
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    others = (f"{runtime}/docker.sock", f"{runtime}/podman/podman.sock", "/run/podman/podman.sock")
    return next((path for path in (DOCKER_SOCKET, *others) if _is_there(path)), DOCKER_SOCKET)


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:
        return False
