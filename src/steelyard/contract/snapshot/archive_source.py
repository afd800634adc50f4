"""A tar or zip archive -> items, read once from front to back.

Names are taken as they are (a single top folder stays), and what a repository cannot hold is refused:
devices, FIFOs, hard links to anything but an earlier file, encrypted members. Names that lead out are
refused where the tree is written.
"""

from __future__ import annotations

import hashlib
import lzma
import os
import shutil
import stat
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from steelyard.contract.snapshot.materialise import CHUNK_BYTES, Item, refusal
from steelyard.filesystem.tree import printable

_TAR_MODES = {".tar": "r|", ".tar.gz": "r|gz", ".tgz": "r|gz", ".tar.xz": "r|xz"}
_ZSTD = (".tar.zst", ".tar.zstd")
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, lzma.LZMAError, NotImplementedError)


def check_archive(path: Path, expected: str | None) -> str:
    """The sha256 of the archive, which must be the one that the contract says."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if expected != found:
        message = (
            "the contract does not give its sha256"
            if expected is None
            else f"its sha256 is {found}, not {expected}"
        )
        raise refusal(f"{path.name}: {message}", field="repository.commit", fix=f"commit: {found}")
    return found


def archive_items(path: Path) -> Iterator[Item]:
    """Every member, in the order of the archive."""
    try:
        yield from _zip_items(path) if path.name.endswith(".zip") else _tar_items(path)
    except _DAMAGE as error:
        raise refusal(f"{path.name} is damaged: {error}", field="repository.archive") from error


def _tar_items(path: Path) -> Iterator[Item]:
    with _opened_tar(path) as archive:
        for member in archive:
            name = _plain(member.name)
            if member.isdir():
                if name:
                    yield Item(name, "dir")
            elif member.issym():
                yield Item(name, "symlink", target=member.linkname)
            elif member.islnk():
                executable = bool(member.mode & stat.S_IXUSR)
                yield Item(name, "file", executable=executable, same_as=_plain(member.linkname))
            elif member.isreg():
                content = archive.extractfile(member)
                assert content is not None
                yield Item(name, "file", executable=bool(member.mode & stat.S_IXUSR), chunks=_chunks(content))
            else:
                raise refusal(f"{printable(name)} is a device or a FIFO", field="repository.archive")


@contextmanager
def _opened_tar(path: Path) -> Iterator[tarfile.TarFile]:
    if path.name.endswith(_ZSTD):
        with _unzstd(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            yield archive
        return
    mode = next((mode for suffix, mode in _TAR_MODES.items() if path.name.endswith(suffix)), None)
    if mode is None:
        kinds = ", ".join((*_TAR_MODES, ".tar.zst", ".zip"))
        raise refusal(
            f"{path.name} is not an archive of a known kind",
            field="repository.archive",
            fix=f"one of {kinds}",
        )
    with path.open("rb") as file, tarfile.open(fileobj=file, mode=mode) as archive:  # type: ignore[call-overload]  # mode comes from the table
        yield archive


@contextmanager
def _unzstd(path: Path) -> Iterator[IO[bytes]]:
    program = shutil.which("zstd")
    if program is None:
        raise refusal(
            f"{path.name} needs the zstd program, which is not installed",
            field="repository.archive",
            fix="apt-get install zstd, or use .tar.xz",
        )
    with subprocess.Popen(
        [program, "-dcq", "--", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.kill()


def _zip_items(path: Path) -> Iterator[Item]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = _plain(member.filename)
            mode = member.external_attr >> 16
            if member.flag_bits & 1:
                raise refusal(f"{printable(name)} is encrypted", field="repository.archive")
            if member.is_dir():
                if name:
                    yield Item(name, "dir")
                continue
            with archive.open(member) as content:
                if stat.S_ISLNK(mode):
                    yield Item(name, "symlink", target=os.fsdecode(content.read(4096)))
                elif stat.S_IFMT(mode) in (0, stat.S_IFREG):
                    yield Item(name, "file", executable=bool(mode & stat.S_IXUSR), chunks=_chunks(content))
                else:
                    raise refusal(f"{printable(name)} is a device or a FIFO", field="repository.archive")


def _plain(name: str) -> str:
    """`./a/b/` is `a/b`; the top folder itself is the empty name."""
    while name.startswith("./"):
        name = name[2:].lstrip("/")
    name = name.rstrip("/") if name.strip("/") else name
    return "" if name == "." else name


def _chunks(content: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: content.read(CHUNK_BYTES), b"")
