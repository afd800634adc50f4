"""A container that cannot be reached -> its folders, by the engine's tars, taken for hostile.

The engine makes the tar, an agent made what is in it. Every entry is put down by descriptors that follow nothing, in
a private folder; no owner, no special bit, no device is taken over. A file over the cap becomes a hole of its size:
the importer sees how large it is and does not carry it.
"""

from __future__ import annotations

import errno
import os
import shutil
import tarfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from steelyard.errors import InfraFault
from steelyard.sandboxes.base import WORKSPACE, FileOverlay, SandboxSpec
from steelyard.sandboxes.copy_layers import copy_layers, visible
from steelyard.sandboxes.docker.api import Engine, EngineRefusal
from steelyard.sandboxes.docker.derived import AGENT_ID, add_file, add_tree, archive, new_folder, new_tar
from steelyard.sandboxes.write_files import Parents, open_folder, parts, remove, write_files

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OURS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EROFS}
OVER = "steelyard-left-entries-out"
_HOLE_BYTES = 1 << 40


class Caps(NamedTuple):
    entries: int = 1_000_000
    file_bytes: int = 512 << 20
    total_bytes: int = 16 << 30


class UnpackRules(NamedTuple):
    caps: Caps
    leave: Callable[[str], bool]


def fetch(engine: Engine, container: str, place: str, into: Path, caps: Caps) -> None:
    """What a dead container has at `place` -> the new folder `into`."""
    into.mkdir(mode=0o700, parents=True)
    with archive(engine, container, place) as tar:
        unpack(tar, into, caps)


def unpack(tar: tarfile.TarFile, into: Path, caps: Caps) -> None:
    """The entries below the tar's one top folder."""
    root = os.open(into, _DIRECTORY)
    try:
        with Parents(root, None) as parents:
            _Unpacking(tar, parents, root, caps).run()
    finally:
        os.close(root)


def take(engine: Engine, container: str, place: str, into: Path, taking: UnpackRules) -> None:
    """What a container has at `place`, by its own name below `into`; nothing when it has nothing there."""
    into.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with archive(engine, container, place) as tar:
            unpack_whole(tar, into, taking)
    except EngineRefusal as refused:
        if refused.status != 404:
            raise


def unpack_whole(tar: tarfile.TarFile, into: Path, taking: UnpackRules) -> None:
    """The tar's top entry, a folder or a file, below `into`."""
    root = os.open(into, _DIRECTORY)
    try:
        with Parents(root, None) as parents:
            _Unpacking(tar, parents, root, taking.caps, leave=taking.leave, keep_top=True).run()
    finally:
        os.close(root)


class _Unpacking:
    def __init__(  # noqa: PLR0913  # where from, where to, and how much of it
        self,
        tar: tarfile.TarFile,
        parents: Parents,
        root: int,
        caps: Caps,
        *,
        leave: Callable[[str], bool] = lambda _: False,
        keep_top: bool = False,
    ) -> None:
        self._leave = leave
        self._keep_top = keep_top
        self._tar = tar
        self._parents = parents
        self._root = root
        self._caps = caps
        self._written = 0

    def run(self) -> None:
        for number, entry in enumerate(self._tar):
            self._tar.members = []  # type: ignore[attr-defined]  # a stream remembers every entry otherwise
            top, _, path = entry.name.removeprefix("./").partition("/")
            if self._keep_top:
                path = f"{top}/{path}"
            if not path.strip("/") or self._leave(path.strip("/")):
                continue
            if number > self._caps.entries:
                self._over()
                return
            try:
                self._take(entry, parts(path.rstrip("/")))
            except ValueError:  # a name that no file system has
                self._over()
            except OSError as error:
                if error.errno in _OURS:
                    raise InfraFault(f"a workspace could not be fetched: {error.strerror}") from error
                self._over()

    def _over(self) -> None:
        """An entry that the importer must find too large: what was left out must not look like deleted."""
        hole = os.open(OVER, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600, dir_fd=self._root)
        with suppress(OSError):
            os.ftruncate(hole, _HOLE_BYTES)
        os.close(hole)

    def _take(self, entry: tarfile.TarInfo, names: list[str]) -> None:
        *above, name = names
        folder = self._parents.reach(above)
        if entry.isdir():
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=folder)
            return  # readable by us, whatever its mode was
        remove(folder, name)
        if entry.issym():
            os.symlink(entry.linkname, name, dir_fd=folder)
        elif entry.islnk():
            self._link(entry.linkname, folder, name)
        elif entry.isfifo():
            os.mkfifo(name, 0o600, dir_fd=folder)
        elif entry.isreg():
            self._write(entry, folder, name)

    def _link(self, other: str, folder: int, name: str) -> None:
        top, _, path = other.removeprefix("./").partition("/")
        path = f"{top}/{path}".rstrip("/") if self._keep_top else path
        with suppress(OSError, ValueError):  # to something that was no file
            *above, last = parts(path)
            source = open_folder(self._root, above)
            try:
                os.link(last, name, src_dir_fd=source, dst_dir_fd=folder, follow_symlinks=False)
            finally:
                os.close(source)

    def _write(self, entry: tarfile.TarInfo, folder: int, name: str) -> None:
        fits = entry.size <= self._caps.file_bytes and self._written + entry.size <= self._caps.total_bytes
        with os.fdopen(os.open(name, _NEW_FILE, 0o600, dir_fd=folder), "wb") as file:
            content = self._tar.extractfile(entry)
            if fits and content is not None:
                shutil.copyfileobj(content, file, 1 << 20)
                self._written += entry.size
            else:
                is_large = entry.size > self._caps.file_bytes
                os.ftruncate(file.fileno(), entry.size if is_large else _HOLE_BYTES)
            os.fchmod(file.fileno(), entry.mode & 0o777)


def baseline(spec: SandboxSpec, folder: Path) -> Path:
    """The layers as one tree: themselves if there is one, else a copy in `folder`."""
    shown = visible(list(spec.layers))
    if len(shown) == 1:
        return shown[0]
    folder.mkdir(parents=True)
    copy_layers(shown, folder, None)
    return folder


def put_overlays(engine: Engine, container: str, spec: SandboxSpec, scratch: Path, into: BinaryIO) -> None:
    """The whole workspace with what is written on it, and the places, into a container that has not started."""
    whole = scratch / "whole"
    whole.mkdir(parents=True)
    copy_layers(list(spec.layers), whole, None)
    with new_tar(into) as tar:
        _add(tar, whole, WORKSPACE, spec.overlays, AGENT_ID)
        for piece in host_pieces(spec):
            add_file(tar, piece)
        for number, place in enumerate(spec.extra_mounts):
            folder = scratch / f"place-{number}"
            folder.mkdir()
            _add(tar, folder, place.path, place.overlays, 0 if place.read_only else AGENT_ID)
    engine.call("PUT", f"/containers/{container}/archive", into, {"path": "/"}, timeout_s=1800)


def host_pieces(spec: SandboxSpec) -> list[FileOverlay]:
    """The host's files that a setup with network sees, as files of its own; names and resolver are the engine's."""
    found = []
    for inside, source in spec.host_files.items():
        if inside in {"/etc/resolv.conf", "/etc/hosts"}:
            continue
        files = [path for path in source.rglob("*") if path.is_file()] if source.is_dir() else [source]
        below = [path.relative_to(source).as_posix() if source.is_dir() else "" for path in files]
        found += [
            FileOverlay(f"{inside}/{name}".strip("/"), "file", source=path)
            for name, path in zip(below, files, strict=True)
        ]
    return found


def _add(
    tar: tarfile.TarFile, folder: Path, place: str, overlays: tuple[FileOverlay, ...], owner: int
) -> None:
    opened = os.open(folder, _DIRECTORY)
    try:
        write_files(opened, overlays, None)
    finally:
        os.close(opened)
    new_folder(tar, place.lstrip("/"), owner)
    roots = {f"{place.lstrip('/')}/{one.path}" for one in overlays if one.kind == "read_only"}
    add_tree(tar, folder, place.lstrip("/"), owner, roots)
