"""Items of a repository -> files on disk and the entries that describe them.

An item is one path as its source (git, archive, folder) has it, its content still to be read. Whatever the
source says, nothing is written outside the tree: names are checked, symlinks are made last, and every file
is new. Files are 644 or 755, directories 755, all of one owner and one time.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from pathlib import Path
from typing import BinaryIO

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.links import bad_links
from steelyard.filesystem.owner import run_uid
from steelyard.filesystem.tree import Entry, Kind, printable

EPOCH_S = 1_577_836_800  # 2020-01-01: old enough that no clock calls it the future
CHUNK_BYTES = 1 << 20


class Caps(NamedTuple):
    """Beyond these a repository is refused rather than half taken."""

    entries: int = 500_000
    bytes: int = 16 << 30


CAPS = Caps()


class Item(NamedTuple):
    """One path of a source; `chunks` must be read before the next item is asked for."""

    path: str
    kind: Kind
    executable: bool = False
    target: str = ""
    chunks: Iterable[bytes] = ()
    same_as: str = ""  # a hard link: the content of an earlier path


def refusal(message: str, *, field: str = "repository", fix: str = "") -> ContractFault:
    """A fault of the `repository` key; the loader adds the line."""
    return ContractFault(Problem(where="contract.yaml", field=field, message=message, fix=fix))


def materialise(items: Iterable[Item], tree: Path | None, caps: Caps = CAPS) -> dict[str, Entry]:
    """Write `items` under the new folder `tree`, or only hash them when there is none."""
    writing = _Writing(tree, caps)
    for item in items:
        if ".git" not in item.path.split("/"):
            writing.take(item)
    entries = writing.finished()
    for link in bad_links(entries)[:1]:
        raise refusal(
            f"the symlink {printable(link.path)} {link.why}: {printable(entries[link.path].target)}"
        )
    if tree is not None:
        _make_links(tree, entries)
        kill_processes(tree)
    return entries


@dataclass
class _Writing:
    tree: Path | None
    caps: Caps
    entries: dict[str, Entry] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)  # every folder that something is in
    empty: set[str] = field(default_factory=set)
    size: int = 0

    def take(self, item: Item) -> None:
        _check_name(item.path)
        if item.kind == "dir":
            self._folder(item.path)
            return
        self._claim(item.path)
        if item.kind == "symlink":
            self.entries[item.path] = Entry("symlink", target=item.target)
        else:
            self.entries[item.path] = self._file(item)

    def finished(self) -> dict[str, Entry]:
        for path in self.empty - self.folders:
            self.entries[path] = Entry("dir")
        return dict(sorted(self.entries.items(), key=lambda pair: os.fsencode(pair[0])))

    def _folder(self, path: str) -> None:
        if path in self.entries:
            raise refusal(f"{printable(path)} is both a file and a directory")
        self._parents(path)
        self.empty.add(path)
        if self.tree is not None:
            Path(self.tree, path).mkdir(parents=True, exist_ok=True)

    def _claim(self, path: str) -> None:
        """A name is taken once: two files of one name, or a file under a file, would hide each other."""
        if path in self.entries:
            raise refusal(f"{printable(path)} occurs twice")
        if path in self.folders or path in self.empty:
            raise refusal(f"{printable(path)} is both a file and a directory")
        self._parents(path)
        if len(self.entries) >= self.caps.entries:
            raise refusal(f"more than {self.caps.entries} files")

    def _parents(self, path: str) -> None:
        folder = path.rpartition("/")[0]
        while folder and folder not in self.folders:
            if folder in self.entries:  # writing through a symlink is how archives escape
                raise refusal(f"{printable(folder)} is both a file and a directory")
            self.folders.add(folder)
            folder = folder.rpartition("/")[0]

    def _file(self, item: Item) -> Entry:
        chunks = self._copied(item.same_as) if item.same_as else item.chunks
        mode = "755" if item.executable else "644"
        digest, size = hashlib.sha256(), 0
        with self._destination(item.path) as out:
            for chunk in chunks:
                size += len(chunk)
                self.size += len(chunk)
                if self.size > self.caps.bytes:
                    raise refusal(f"more than {self.caps.bytes} bytes")
                digest.update(chunk)
                if out is not None:
                    out.write(chunk)
            if out is not None:
                os.fchmod(out.fileno(), int(mode, 8))
        return Entry("file", mode, size, digest.hexdigest())

    def _destination(self, path: str) -> AbstractContextManager[BinaryIO | None]:
        if self.tree is None:
            return nullcontext()
        place = Path(self.tree, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        return place.open("xb")

    def _copied(self, path: str) -> Iterator[bytes]:
        entry = self.entries.get(path)
        if entry is None or entry.kind != "file" or self.tree is None:
            raise refusal(f"a hard link to {printable(path)}, which is not a file before it")
        with Path(self.tree, path).open("rb") as file:
            yield from iter(lambda: file.read(CHUNK_BYTES), b"")


def _check_name(path: str) -> None:
    parts = path.split("/")
    raw = os.fsencode(path)
    if path.startswith("/") or ".." in parts or "\0" in path:
        raise refusal(f"the path {printable(path)} leads out of the repository")
    if "" in parts or "." in parts or len(raw) > 4000 or any(len(os.fsencode(part)) > 255 for part in parts):
        raise refusal(f"the path {printable(path)!r} cannot be a file name")


def _make_links(tree: Path, entries: dict[str, Entry]) -> None:
    """Last, so that no file could be written through one."""
    for path, entry in entries.items():
        if entry.kind == "symlink":
            place = Path(tree, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(entry.target)


def kill_processes(tree: Path, *, time_s: int = EPOCH_S) -> None:
    """One owner and one time for everything; directories last, since writing into them moves their time."""
    uid = run_uid()
    chown = os.geteuid() == 0
    for parent, folders, files in os.walk(tree, topdown=False):
        for name in (*files, *(name for name in folders if Path(parent, name).is_symlink())):
            _settle_one(Path(parent, name), uid if chown else None, time_s)
        Path(parent).chmod(0o755)
        _settle_one(Path(parent), uid if chown else None, time_s)


def _settle_one(path: Path, uid: int | None, time_s: int) -> None:
    if uid is not None:
        os.chown(path, uid, uid, follow_symlinks=False)
    os.utime(path, (time_s, time_s), follow_symlinks=False)
