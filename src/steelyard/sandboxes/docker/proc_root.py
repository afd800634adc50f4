"""The process 1 of a container -> its file system as descriptors, for root on the same machine.

/proc/PID/root is the container's own view: whatever the storage driver, with its volumes, under any engine. What is
opened before the first command stays open, and alive, when every process and mount of the container is gone.
"""

from __future__ import annotations

import errno
import os
import select
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.filesystem.cache import Cache
from steelyard.sandboxes.base import HOME, WORKSPACE, FileOverlay, SandboxSpec, Scope
from steelyard.sandboxes.bubblewrap.mounts import (
    MS_BIND,
    MS_RDONLY,
    enter_mounts,
    enter_private_mounts,
    leave_shared_paths,
    mount,
    protect_files,
    set_writable,
)
from steelyard.sandboxes.docker.creation import TOKEN
from steelyard.sandboxes.docker.passwd import Person, person
from steelyard.sandboxes.write_files import Owner, open_folder, remove, write_files

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REDIRECT = "trusted.overlay.redirect"


@dataclass
class Reach:
    """What of a container is open here."""

    pidfd: int
    root: int
    workspace: int
    home: int
    groups: list[Path]  # its control groups
    mounts: int  # its mount namespace
    people: dict[str, Person] = field(default_factory=dict)
    pid: int = 0  # of process 1, here

    def bind_workspace(self) -> None:
        """Make the workspace a mount of its own, so that it can be made read-only; before the first command."""
        self._in_mounts(lambda: mount(WORKSPACE, WORKSPACE, None, MS_BIND))

    def switch_writes(self, *, writable: bool) -> int:
        """0, or an error number."""
        try:
            self._in_mounts(lambda: set_writable(WORKSPACE, writable=writable))
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def _in_mounts(self, act: Callable[[], None]) -> None:
        """In a thread that ends there: no other thread sees the container's file system."""

        def enter_and_act() -> None:
            leave_shared_paths()
            enter_mounts(self.mounts)
            act()

        with ThreadPoolExecutor(1) as alone:
            alone.submit(enter_and_act).result()

    def write_files(self, spec: SandboxSpec, files: Sequence[FileOverlay]) -> None:
        """The files of a spec, as data, before anything but init runs; `files` are relative to the root."""
        user = self._owner_of(spec.user)  # of the image: what is written may be another list of users
        write_files(self.workspace, spec.overlays, self._owner_of(spec.owner))
        write_files(self.root, files, _owner(self.root))
        for place in spec.extra_mounts:
            owner = _owner(self.root) if place.read_only else user
            folder = _emptied(self.root, place.path, owner)
            try:
                write_files(folder, place.overlays, owner)
            finally:
                os.close(folder)
        self._protect(spec)

    def _protect(self, spec: SandboxSpec) -> None:
        """Read-only files and places become mounts, because root of a whole system can write to files of any owner."""
        top = "/" if spec.scope == "system" else WORKSPACE
        files = [piece.path for piece in spec.overlays if piece.kind == "read_only"]
        places = [place.path for place in spec.extra_mounts if place.read_only and spec.scope == "system"]

        def act() -> None:
            for place in places:
                mount(place, place, None, MS_BIND)
                set_writable(place, writable=False)
            protect_files(top, files, spec.workdir.strip("/") if spec.scope == "system" else "")

        if files or places:
            self._in_mounts(act)

    def _owner_of(self, user: str) -> Owner:
        """The named user of a whole system; without a name the owner of the workspace."""
        top = _owner(self.workspace)
        if not user:
            return top
        one = self.person(user)
        return Owner(top.uid + one.uid, top.gid + one.gid)

    def person(self, user: str) -> Person:
        """The user, looked up at the first call and remembered."""
        if user not in self.people:
            self.people[user] = person(self.root, user)
        return self.people[user]

    def kill(self) -> None:
        """Process 1, and by that every other; needs no engine."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def is_gone(self, patience_s: float) -> bool:
        """Whether process 1 has ended: the kernel ends everything else in its pid namespace first."""
        waiting = select.poll()
        waiting.register(self.pidfd, select.POLLIN)
        return bool(waiting.poll(int(patience_s * 1000)))

    def close(self) -> None:
        for descriptor in (self.pidfd, self.root, self.workspace, self.home, self.mounts):
            os.close(descriptor)


def reach(pid: int, token: str, scope: Scope) -> Reach | None:
    """None when that process is not on this machine, or belongs to another user: an engine may live on another machine."""
    if os.geteuid() != 0 or pid <= 0:
        return None
    opened: list[int] = []
    try:
        opened.append(os.pidfd_open(pid))
        if f"{TOKEN}={token}".encode() not in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            raise ProcessLookupError(pid)
        opened.append(os.open(f"/proc/{pid}/root", _DIRECTORY & ~os.O_NOFOLLOW))
        names = ("/", "/") if scope == "system" else (WORKSPACE, HOME)
        opened += [_below(opened[1], name) for name in names]
        opened.append(os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY | os.O_CLOEXEC))
        pidfd, root, workspace, home, mounts = opened
        return Reach(pidfd, root, workspace, home, _groups(pid), mounts, pid=pid)
    except OSError:
        for descriptor in opened:
            os.close(descriptor)
        return None


def _below(root: int, path: str) -> int:
    return open_folder(root, filter(None, path.split("/")))


def _emptied(root: int, path: str, owner: Owner) -> int:
    """A folder of that path with nothing in it, whatever the image has there."""
    write_files(root, [FileOverlay(path.strip("/"), "dir")], _owner(root))
    folder = _below(root, path)
    for name in os.listdir(folder):  # noqa: PTH208  # of a descriptor
        remove(folder, name)
    os.fchown(folder, owner.uid, owner.gid)
    os.fchmod(folder, 0o755)
    return folder


def _owner(descriptor: int) -> Owner:
    """As this machine numbers it: an engine may shift the ids of its containers."""
    status = os.fstat(descriptor)
    return Owner(status.st_uid, status.st_gid)


def _groups(pid: int) -> list[Path]:
    found = []
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for top in ["", *controllers.split(",")]:
            folder = Path(f"/sys/fs/cgroup/{top}{path}")
            if top or not controllers:
                found.append(folder)
    return [folder for folder in found if folder.is_dir()]


@dataclass
class Uppers:
    """Where the engine keeps what a container changed, and what its image has, for root on the same machine."""

    touched: int
    baseline: int
    empty: Path  # stands for a workspace in which nothing was touched

    def close(self) -> None:
        os.close(self.touched)
        os.close(self.baseline)
        self.empty.rmdir()


def uppers(details: dict[str, Any]) -> Uppers | None:
    """From GET /containers/ID/json; None where the storage driver is another, or /workspace is a volume."""
    data = (details.get("GraphDriver") or {}).get("Data") or {}
    upper, lowers = data.get("UpperDir"), data.get("LowerDir")
    if (
        not upper
        or not lowers
        or any(mount.get("Destination") == WORKSPACE for mount in details.get("Mounts") or ())
    ):
        return None
    below = [Path(lower + WORKSPACE) for lower in lowers.split(":") if Path(lower + WORKSPACE).is_dir()]
    if len(below) != 1:  # our own layer, and no other has anything there
        return None
    touched, empty = Path(upper + WORKSPACE), Cache.default().fresh()
    try:
        lower = os.open(below[0], _DIRECTORY)
        return Uppers(os.open(touched if touched.is_dir() else empty, _DIRECTORY), lower, empty)
    except OSError:
        empty.rmdir()
        return None


def system_uppers(details: dict[str, Any]) -> Uppers | None:
    """The same for the whole root."""
    data = (details.get("GraphDriver") or {}).get("Data") or {}
    upper, lowers = data.get("UpperDir"), data.get("LowerDir")
    if not upper or not lowers:
        return None
    empty = Cache.default().fresh()
    try:
        lower = mount_layers(lowers.split(":"), empty)
        return Uppers(os.open(upper, _DIRECTORY), lower, empty)
    except OSError:
        empty.rmdir()
        return None


def mount_layers(lowers: Sequence[str], place: Path) -> int:
    """A descriptor of the layers as the kernel puts them together; the mount itself is in no namespace.

    Made by a thread in a mount namespace that ends with it: what was opened there stays.
    """
    if len(lowers) == 1:
        return os.open(lowers[0], _DIRECTORY)
    with ThreadPoolExecutor(1) as alone:
        return alone.submit(_merge, lowers, str(place)).result()


def _merge(lowers: Sequence[str], place: str) -> int:
    opened: list[int] = []
    try:
        enter_private_mounts(0, 0)
        # By numbers: the names of many layers are more than a mount takes.
        opened += [os.open(lower, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for lower in lowers]
        names = ":".join(f"/proc/self/fd/{descriptor}" for descriptor in opened)
        mount("overlay", place, "overlay", MS_RDONLY, f"lowerdir={names}")
        return os.open(place, _DIRECTORY)
    finally:
        for descriptor in opened:
            os.close(descriptor)


def captured_tree_of(workspace: int, found: Uppers, scope: Scope) -> CapturedTree:
    return CapturedTree(workspace, found.baseline, found.touched, _REDIRECT, is_system=scope == "system")
