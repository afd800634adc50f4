"""Bytes -> `blobs/<sha256>`: written once, named by their own digest.

A file is copied into a temporary name while it is hashed and then renamed, so that a blob is either whole or
not there. Runs of zeros become holes: a sparse file of an agent does not grow on our disk.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import InfraFault
from steelyard.evidence.key_rules import redact_keys
from steelyard.evidence.redact import NO_SECRETS, RedactedStream, Secrets
from steelyard.filesystem.plain_file import open_plain

_CHUNK = 1 << 18
_ZEROS = bytes(_CHUNK)
PREFIX_BYTES = 2048


class StoredBlob(NamedTuple):
    sha256: str
    size: int
    redacted: frozenset[str] = frozenset()  # names of secrets whose values were replaced


class Blobs:
    """The store of one run; `secrets` are values that none of its blobs shows."""

    def __init__(self, root: Path, secrets: Secrets = NO_SECRETS) -> None:
        self.root = root
        self.secrets = secrets

    def path(self, sha256: str) -> Path:
        """Where a blob is, or would be. A content over an import cap has the name "" and is nowhere."""
        if sha256 == "":
            return self.root / "not-carried"
        if len(sha256) != 64 or not set(sha256) <= set("0123456789abcdef"):
            raise ValueError("a blob is named by 64 hex digits")
        return self.root / sha256

    def __contains__(self, sha256: str) -> bool:
        return sha256 != "" and self.path(sha256).is_file()

    def open(self, sha256: str) -> BinaryIO:
        return open_plain(self.path(sha256))

    def read(self, sha256: str) -> bytes:
        with self.open(sha256) as stream:
            return stream.read()

    def put_bytes(self, data: bytes) -> StoredBlob:
        redacted = self.secrets.found_in(data)
        data = self.secrets.redact(data)
        stored = StoredBlob(hashlib.sha256(data).hexdigest(), len(data), redacted)
        if not os.path.isfile(f"{self.root}/{stored.sha256}"):  # noqa: PTH113  # see below
            with self._temporary() as (fd, name):
                _write_all(fd, data)
                self._keep(name, stored.sha256)
        return stored

    def put_stream(self, fd: int) -> StoredBlob:
        """Copy what a regular file still has to give, hashing on the way."""
        chunk = os.read(fd, _CHUNK)
        if len(chunk) < _CHUNK:
            return self.put_bytes(chunk)  # its end already: most files are small, and many are there twice
        digest, size, stream = hashlib.sha256(), 0, RedactedStream(self.secrets)
        with self._temporary() as (out, name):
            for piece in _pieces(chunk, fd, stream):
                size += len(piece)
                digest.update(piece)
                if piece == _ZEROS:
                    os.lseek(out, len(piece), os.SEEK_CUR)
                else:
                    _write_all(out, piece)
            os.ftruncate(out, size)
            stored = StoredBlob(digest.hexdigest(), size, stream.found)
            self._keep(name, stored.sha256)
        return stored

    @contextmanager
    def _temporary(self) -> Iterator[tuple[int, str]]:
        """A new file and its name; a block that does not keep it removes it by raising."""
        name = f"{self.root}/.tmp-{os.urandom(8).hex()}"
        fd = self._create(name)
        try:
            yield fd, name
        except BaseException as error:
            with suppress(FileNotFoundError):
                os.unlink(name)  # noqa: PTH108  # names are text here: pathlib takes as long as the calls
            if isinstance(error, OSError):
                raise InfraFault(f"a blob could not be stored: {error.strerror}") from error
            raise
        finally:
            os.close(fd)

    def _create(self, name: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return os.open(name, flags, 0o400)
        except FileNotFoundError:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(name, flags, 0o400)

    def _keep(self, name: str, sha256: str) -> None:
        os.rename(name, f"{self.root}/{sha256}")  # noqa: PTH104  # see above


def store_text(value: str | bytes, blobs: Blobs) -> dict[str, Any]:
    """What an event says about a text of any size: digest, size and the beginning; the whole goes to a blob."""
    data = value.encode("utf-8", "backslashreplace") if isinstance(value, str) else value
    prefix = data[:PREFIX_BYTES].decode("utf-8", "backslashreplace")
    if len(data) <= PREFIX_BYTES:
        return {"digest": hashlib.sha256(data).hexdigest(), "bytes": len(data), "prefix": prefix}
    safe, spans = redact_keys(data)
    stored = blobs.put_bytes(safe)
    if spans:
        digest = hashlib.sha256(data).hexdigest()
        return {
            "digest": digest,
            "bytes": len(data),
            "prefix": prefix,
            "blob": stored.sha256,
            "redacted": spans,
        }
    return {"digest": stored.sha256, "bytes": stored.size, "prefix": prefix, "blob": stored.sha256}


def hash_stream(fd: int) -> str:
    digest = hashlib.sha256()
    while chunk := os.read(fd, _CHUNK):
        digest.update(chunk)
    return digest.hexdigest()


def _pieces(first: bytes, fd: int, stream: RedactedStream) -> Iterator[bytes]:
    while first:
        yield stream.feed(first)
        first = os.read(fd, _CHUNK)
    yield stream.end()


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
