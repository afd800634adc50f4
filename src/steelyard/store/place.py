"""A URL that fsspec knows (s3://, gs://, file://) -> files there, read and written whole.

File systems raise exceptions of many libraries; here each is an `Unreachable`.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, TypeVar

from steelyard.deferred.pattern import deferred_pattern
from steelyard.errors import InfraFault, OperatorFault
from steelyard.evidence.folder.folder import is_run_id
from steelyard.filesystem.plain_file import open_plain

T = TypeVar("T")
_USER = deferred_pattern(r"//[^/@]*@")
_NO_PLAIN_FILE = frozenset({errno.ELOOP, errno.EINVAL, errno.EISDIR, errno.ENXIO})
ATTEMPT_WAITS_S = (1.0, 5.0, 15.0, 60.0)  # before each further attempt


class Unreachable(InfraFault):
    """The store failed; it may be back in a while."""


@dataclass(frozen=True, slots=True)
class StoreFolder:
    url: str
    system: Any  # of fsspec
    root: str

    def exists(self, name: str) -> bool:
        with self._faults(name):
            return bool(self.system.exists(f"{self.root}/{name}"))

    def read(self, name: str, most: int, start: int = 0) -> bytes | None:
        """At most `most` bytes; None where there is no such file."""
        path = f"{self.root}/{name}"
        with self._faults(name):
            try:
                if _is_local(self.system):
                    return _read_local(path, start, most)
                return bytes(self.system.cat_file(path, start=start, end=start + most))
            except FileNotFoundError:
                return None
            except OSError as error:
                if error.errno == errno.EINVAL:  # S3 has no range in an empty file, nor behind the end of one
                    return b""
                raise

    def write(self, name: str, data: bytes) -> None:
        """The file appears whole, or not at all, where the file system has that property: object stores do."""
        path = f"{self.root}/{name}"
        with self._faults(name):
            try:
                self.system.pipe_file(path, data)
            # Object stores have no folders, and asking for one is a request of its own
            except FileNotFoundError:
                self.system.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
                self.system.pipe_file(path, data)

    def list(self, name: str) -> list[str]:
        """What is in a folder, by its last name; empty where there is none."""
        with self._faults(name):
            try:
                found = self.system.ls(f"{self.root}/{name}".rstrip("/"), detail=False)
            except FileNotFoundError:
                return []
        return sorted(PurePosixPath(one).name for one in found)

    def remove(self, name: str) -> None:
        """A file, or a folder with all that is in it."""
        with self._faults(name):
            try:
                self.system.rm(f"{self.root}/{name}", recursive=True)
            except FileNotFoundError:
                return

    @contextmanager
    def _faults(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise Unreachable(f"{shown_url(self.url)}: {name}: {error!r}") from error


def shown_url(url: str) -> str:
    """Without the name and the password that it may have."""
    return _USER.sub("//", url, count=1)


def open_place(url: str) -> StoreFolder:
    import fsspec  # noqa: PLC0415  # only where runs are copied elsewhere

    options = {}
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    if url.startswith("s3://") and endpoint:
        options = {"client_kwargs": {"endpoint_url": endpoint}}
    try:
        system, root = fsspec.core.url_to_fs(url, use_listings_cache=False, **options)
    except (ImportError, ValueError) as error:
        raise OperatorFault(f"--blobs {shown_url(url)}: {error}") from error
    return StoreFolder(url, system, str(root).rstrip("/"))


def _is_local(system: Any) -> bool:
    names = system.protocol
    return "file" in ((names,) if isinstance(names, str) else names)


def _read_local(path: str, start: int, most: int) -> bytes | None:
    """A worker may have put a link or a FIFO there: that is no file of a run."""
    try:
        with open_plain(path) as stream:
            stream.seek(start)
            return stream.read(most)
    except OSError as error:
        if error.errno in _NO_PLAIN_FILE:
            return None
        raise


def check_run(name: str) -> None:
    """No worker names a folder that is no run."""
    if not is_run_id(name):
        raise InfraFault(f"not the name of a run: {name!r}")


def check_name(*parts: str) -> None:
    """A copy was written by a worker, perhaps a hostile one: no name leaves the folder."""
    if not parts or any(part in ("", ".", "..") or "/" in part or "\x00" in part for part in parts):
        raise InfraFault(f"not a name for a file of a run: {'/'.join(parts)!r}")


def try_patiently(action: Callable[[], T], waits_s: Sequence[float] = ATTEMPT_WAITS_S) -> T:
    """Again while the store is unreachable; the last attempt raises what it meets."""
    for wait_s in waits_s:
        try:
            return action()
        except Unreachable:
            time.sleep(wait_s)
    return action()
