"""What every Steelyard process of one user on this machine holds or waits for, as files that the kernel keeps honest.

    <folder>/lock                                      held while a process reads or changes the rest
    <folder>/waiting/000000000017-536870912-2000-4711  number in line, bytes, thousandths of a CPU, process
    <folder>/holding/000000000012-268435456-2000-4711

Each entry is an empty file that its owner keeps open and locked (flock). When the owner dies, however it dies, the kernel
releases the lock; the next process that looks removes the entry. Nothing is ever written into a file, so a full disk with a
free inode is enough.

The folder is below $STEELYARD_RUNTIME, else in /run/user/UID if that is there, else /tmp/steelyard-admission-UID.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import InfraFault

Mount = Literal["waiting", "holding"]
PLACES: tuple[Mount, ...] = ("waiting", "holding")
STOPPED = {"T", "t"}  # by Ctrl-Z or a debugger


class SandboxNeed(NamedTuple):
    """What one sandbox may take."""

    size_bytes: int
    cpus: float = 0.0


@dataclass
class Entry:
    """A file of this process, locked until it is removed."""

    number: int
    need: SandboxNeed
    descriptor: int
    path: Path


class Register:
    """Every method but `locked` is called inside `locked`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One process at a time, and one thread: each call opens the file anew."""
        try:
            for place in PLACES:  # each time: a cleaner of /tmp may have removed them
                _make_folder(f"{self._folder}/{place}")
            _refuse_others(self._folder)
            descriptor = os.open(f"{self._folder}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._fault(error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def add(self, place: Mount, need: SandboxNeed) -> Entry:
        """A new entry of this process, the last in line."""
        number = 1 + max((int(name[:12]) for one in PLACES for name in self._names(one)), default=0)
        cpu = round(need.cpus * 1000)
        path = self._folder / place / f"{number:012d}-{need.size_bytes}-{cpu}-{os.getpid()}"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._fault(error) from error
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return Entry(number, need, descriptor, path)

    def hold(self, entry: Entry) -> None:
        """The entry no longer waits."""
        path = self._folder / "holding" / entry.path.name
        entry.path.rename(path)
        entry.path = path

    def remove(self, entry: Entry) -> None:
        """Remove the entry; the lock goes with its descriptor."""
        entry.path.unlink(missing_ok=True)
        os.close(entry.descriptor)

    def held(self) -> list[SandboxNeed]:
        """What live processes hold, this one included."""
        return [_need(name) for name in self._live("holding")]

    def ahead_of(self, entry: Entry) -> int:
        """How many wait before this entry; a process that was stopped does not keep others waiting."""
        earlier = [name for name in self._live("waiting") if int(name[:12]) < entry.number]
        return sum(not _is_stopped(name) for name in earlier)

    def _live(self, place: Mount) -> Iterator[str]:
        for name in self._names(place):
            path = f"{self._folder}/{place}/{name}"
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield name  # its owner lives, in this process or in another
            else:
                with suppress(FileNotFoundError):
                    os.unlink(path)  # noqa: PTH108  # as above
            finally:
                os.close(descriptor)

    def _names(self, place: Mount) -> list[str]:
        names = os.listdir(f"{self._folder}/{place}")  # noqa: PTH208  # for each sandbox, names suffice
        return sorted(name for name in names if name[:12].isdecimal())

    def _fault(self, error: OSError) -> InfraFault:
        return InfraFault(
            f"cannot use {self._folder}: {error.strerror}; set STEELYARD_RUNTIME to a folder of yours"
        )


def shared_folder() -> Path:
    """One folder for all processes of this user on this machine."""
    if named := os.environ.get("STEELYARD_RUNTIME"):
        return Path(named).absolute() / "admission"
    own = Path(f"/run/user/{os.geteuid()}")
    if own.is_dir():
        return own / "steelyard-admission"
    return Path(f"/tmp/steelyard-admission-{os.geteuid()}")  # noqa: S108  # see _refuse_others


def _make_folder(path: str) -> None:
    try:
        os.mkdir(path, 0o700)  # noqa: PTH102  # as above
    except FileExistsError:
        return
    except FileNotFoundError:
        Path(path).mkdir(mode=0o700, parents=True, exist_ok=True)


def _refuse_others(folder: Path) -> None:
    """Another user could make the folder first and then hold every lock in it."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise PermissionError(1, "it belongs to another user")
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)


def _need(name: str) -> SandboxNeed:
    _, size, cpu, _ = name.split("-")
    return SandboxNeed(int(size), int(cpu) / 1000)


def _is_stopped(name: str) -> bool:
    with suppress(OSError, IndexError):
        return (
            Path(f"/proc/{name.rsplit('-', 1)[1]}/stat").read_text().rsplit(")", 1)[1].split()[0] in STOPPED
        )
    return False
