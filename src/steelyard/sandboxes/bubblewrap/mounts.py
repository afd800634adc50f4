"""Namespaces and mounts by their system calls -> OSError that says which call on what."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import functools
import itertools
import os
import stat
from collections.abc import Iterable
from pathlib import Path

CLONE_FS = 0x00000200
CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

_NS_GET_USERNS = 0xB701


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def load() -> None:
    """Look up every function now, so that no child has to."""
    for name in ("mount", "umount2", "prctl", "setns", "unshare"):
        getattr(_libc(), name)


def _call(name: str, *arguments: object, about: str) -> None:
    if getattr(_libc(), name)(*arguments) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name} {about}: {os.strerror(error)}")


def mount(source: str, target: str, kind: str | None, flags: int = 0, options: str = "") -> None:
    _call(
        "mount",
        os.fsencode(source),
        os.fsencode(target),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        os.fsencode(options),
        about=f"{kind or 'bind'} on {target} ({options})",
    )


def bind(descriptor: int, target: str) -> None:
    """Bind what a descriptor refers to, whatever now covers its path; submounts come along."""
    mount(f"/proc/self/fd/{descriptor}", target, None, MS_BIND | MS_REC)


def detach(point: str) -> None:
    """Take a mount and all below it out of this namespace, where the kernel allows it.

    Not a defence: bubblewrap reads the list of all mounts fourteen times, and half of them are control groups below /sys.
    """
    with contextlib.suppress(OSError):  # a user namespace may not: there they stay, covered
        _call("umount2", os.fsencode(point), MNT_DETACH, about=point)


def prctl(option: int, value: int) -> None:
    _call("prctl", option, ctypes.c_ulong(value), 0, 0, 0, about=str(option))


def enter_private_mounts(uid: int, gid: int) -> None:
    """A mount namespace of our own; without root, inside a user namespace in which we are root."""
    root = uid == 0
    _call("unshare", CLONE_NEWNS if root else CLONE_NEWNS | CLONE_NEWUSER, about="the mount namespace")
    if not root:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        Path("/proc/self/gid_map").write_text(f"0 {gid} 1")
    mount("none", "/", None, MS_REC | MS_PRIVATE)  # nothing that follows shows on the host


def enter_private_network() -> None:
    """A network namespace without a device but its own loopback, which is down."""
    _call("unshare", CLONE_NEWNET, about="the network namespace")


def enter_network(namespace: int) -> None:
    """Enter the network namespace of a descriptor; as root."""
    _call("setns", namespace, CLONE_NEWNET, about="a network namespace")


def enter_mounts(namespace: int) -> None:
    """Enter the mount namespace of another process; not as root, first the user namespace that owns it.

    In a process with one thread, or, as root, in a thread that shares no working directory with another.
    """
    if os.geteuid() != 0:
        owner = fcntl.ioctl(namespace, _NS_GET_USERNS)
        _call("setns", owner, CLONE_NEWUSER, about="the user namespace of a sandbox")
    _call("setns", namespace, CLONE_NEWNS, about="the mount namespace of a sandbox")


def leave_shared_paths() -> None:
    """Give this thread a root and a working directory of its own."""
    _call("unshare", CLONE_FS, about="the working directory")


def protect_files(root: str, paths: Iterable[str], movable: str = "") -> None:
    """Make regular files below `root` read-only mounts of this namespace; what is no such file is left alone.

    Folders on the way to them become mounts, too, which nothing can rename or remove; those above `movable`, and it, stay what they are.
    By their names: /proc may be of another namespace. So nothing may run there yet that could change them.
    """
    top = root.rstrip("/")
    files = [path for path in paths if _is_plain_file(root, path)]
    above = {
        folder
        for path in files
        for folder in _folders_above(path)
        if not f"{movable}/".startswith(f"{folder}/")
    }
    # A later mount would hide what is mounted below
    for folder in sorted(above, key=lambda one: one.count("/")):
        mount(f"{top}/{folder}", f"{top}/{folder}", None, MS_BIND)
    for path in files:
        name = f"{top}/{path}"
        mount(name, name, None, MS_BIND)
        mount("none", name, None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _folders_above(path: str) -> list[str]:
    return list(itertools.accumulate(path.split("/")[:-1], "{}/{}".format))


def _is_plain_file(root: str, path: str) -> bool:
    """Whether it is a regular file, and no name on the way is a link."""
    try:
        kinds = [os.lstat(f"{root}/{folder}").st_mode for folder in _folders_above(path)]
        return all(map(stat.S_ISDIR, kinds)) and stat.S_ISREG(os.lstat(f"{root}/{path}").st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False


def set_writable(path: str, *, writable: bool) -> None:
    """Change one mount point of this namespace. EBUSY: a process has a file below it open for writing."""
    flags = MS_BIND | MS_REMOUNT | MS_NOSUID | MS_NODEV | (0 if writable else MS_RDONLY)
    mount("none", path, None, flags)
