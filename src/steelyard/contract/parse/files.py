"""Names in a contract -> the files that they mean, with their bytes and modes, inside the contract's folder.

hidden/test_a.py  ->  ContractFile(mode="644", sha256="...")
hidden            ->  every file below it, by its own name; a symlink below it is mode "link"
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from steelyard.contract.catalogue import ContractFile
from steelyard.filesystem.tree import printable

MOST_FILES = 100_000
MOST_BYTES = 2 << 30  # of one file; no contract needs more
_CHUNK_BYTES = 1 << 16  # most files are one, and hashlib.file_digest takes longer to make its buffer


def bad_name(name: str) -> str:
    """Why a name may not stand in a contract, or nothing: only plain paths below the contract's folder may."""
    if not name or "\0" in name:
        return "not a file name"
    if name.startswith(("/", "~")):
        return "must be relative to the contract's folder"
    if "\\" in name:
        return "must use / and no backslash"
    return "must not lead out of the contract's folder (..)" if ".." in name.split("/") else ""


def contract_files(folder: Path, name: str) -> dict[str, ContractFile]:
    """The file that `name` means, or every file below it; raises ValueError with the reason."""
    place = inside(folder, name)
    if place.is_file():
        return {name: _describe(place)}
    if not place.is_dir():
        raise ValueError("is neither a file nor a folder")
    found = {f"{name.rstrip('/')}/{below}": file for below, file in sorted(_walk(place))}
    if not found:
        raise ValueError("is an empty folder")
    return found


def inside(folder: Path, name: str) -> Path:
    """The real place of `name`, which must exist inside `folder`, whatever symlinks are on the way."""
    if reason := bad_name(name):
        raise ValueError(reason)
    top = os.path.realpath(folder)
    try:
        real = _resolve(top, name)
    except FileNotFoundError as error:
        raise ValueError("does not exist") from error
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from error  # a symlink loop, a file as a folder
    if real != top and not real.startswith(f"{top.rstrip('/')}/"):
        raise ValueError("leads out of the contract's folder through a symlink")
    return Path(real)


def _resolve(top: str, name: str) -> str:
    """The real place of `name` below the real folder `top`; without a link on the way each part is looked at once."""
    place = top
    for part in name.split("/"):
        if part in {"", "."}:
            continue
        place = f"{place.rstrip('/')}/{part}"
        if stat.S_ISLNK(os.lstat(place).st_mode):
            return os.path.realpath(f"{top}/{name}", strict=True)
    return place


def _walk(top: Path) -> Iterator[tuple[str, ContractFile]]:
    count = 0
    for parent, folders, files in os.walk(top, onerror=_unreadable):
        for name in sorted([*files, *(name for name in folders if Path(parent, name).is_symlink())]):
            count += 1
            if count > MOST_FILES:
                raise ValueError(f"has more than {MOST_FILES} files below it")
            path = Path(f"{parent}/{name}")
            below = str(path).removeprefix(str(top)).lstrip("/")
            yield below, _link(path, top) if path.is_symlink() else _describe(path)


def _link(path: Path, top: Path) -> ContractFile:
    """A link stays a link; what it leads to must be below the same folder, where it is digested itself."""
    if not path.exists() or not Path(os.path.realpath(path)).is_relative_to(top):
        raise ValueError(f"has a symlink that leads out of it or nowhere: {printable(path.name)}")
    target = os.readlink(path)  # noqa: PTH115  # Path would tidy the bytes
    return ContractFile(path, "link", hashlib.sha256(os.fsencode(target)).hexdigest())


def _describe(path: Path) -> ContractFile:
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise ValueError(f"has something that is not a file: {printable(path.name)}")
        if path.stat().st_size > MOST_BYTES:
            raise ValueError(f"has a file larger than {MOST_BYTES >> 30} GiB: {printable(path.name)}")
        with path.open("rb") as file:
            digest = hashlib.sha256()
            for chunk in iter(lambda: file.read(_CHUNK_BYTES), b""):
                digest.update(chunk)
    except OSError as error:
        raise _cannot_read(error) from error
    return ContractFile(path, "755" if mode & stat.S_IXUSR else "644", digest.hexdigest())


def _unreadable(error: OSError) -> None:
    raise _cannot_read(error)


def _cannot_read(error: OSError) -> ValueError:
    return ValueError(f"cannot be read: {error.strerror}")
