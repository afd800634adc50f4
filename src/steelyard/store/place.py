"""A URL that fsspec knows (s3://, gs://, file://) -> files there, read and written whole.

File systems raise exceptions of many libraries; here each is an `Unreachable`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from steelyard.errors import InfraFault, OperatorFault

ATTEMPT_WAITS_S = (1.0, 5.0, 15.0, 60.0)  # before each further attempt


class Unreachable(InfraFault):
    """The store failed; it may be back in a while."""


@dataclass(frozen=True, slots=True)
class Place:
    url: str
    system: Any  # of fsspec
    root: str

    def exists(self, name: str) -> bool:
        with self._faults(name):
            return bool(self.system.exists(f"{self.root}/{name}"))

    def read(self, name: str, most: int | None = None) -> bytes | None:
        """At most `most` bytes from the beginning; None where there is no such file."""
        with self._faults(name):
            # S3 has no range in an empty file.
            limits = {} if most is None else {"start": 0, "end": most}
            try:
                return bytes(self.system.cat_file(f"{self.root}/{name}", **limits))
            except FileNotFoundError:
                return None

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
            raise Unreachable(f"{self.url}: {name}: {error!r}") from error


def open_place(url: str) -> Place:
    import fsspec  # noqa: PLC0415  # only where runs are copied elsewhere

    options = {}
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    if url.startswith("s3://") and endpoint:
        options = {"client_kwargs": {"endpoint_url": endpoint}}
    try:
        system, root = fsspec.core.url_to_fs(url, use_listings_cache=False, **options)
    except (ImportError, ValueError) as error:
        raise OperatorFault(f"--blobs {url}: {error}") from error
    return Place(url, system, str(root).rstrip("/"))


def check_name(*parts: str) -> None:
    """A copy was written by a worker, perhaps a hostile one: no name leaves the folder."""
    if not parts or any(part in ("", ".", "..") or "/" in part or "\x00" in part for part in parts):
        raise InfraFault(f"not a name for a file of a run: {'/'.join(parts)!r}")


def try_patiently(action: Callable[[], object], waits_s: Sequence[float] = ATTEMPT_WAITS_S) -> None:
    """Again while the store is unreachable; the last attempt raises what it meets."""
    for wait_s in waits_s:
        try:
            action()
        except Unreachable:
            time.sleep(wait_s)
        else:
            return
    action()
