"""An order -> mounts in a private namespace, and the descriptors by which the host will read them.

    /sys                    tmpfs of disk_mb; covers sysfs in this namespace only, where no data is kept
    /sys/workspace          overlay: layers + upper     -> bound at /workspace
    /sys/home               overlay, or a plain folder  -> bound at /home/agent
    /sys/baseline           the layers alone, read-only (only when there are several)
    /sys/upper-*, work-*    of the overlays, unless the order puts them on disk
    /sys/place-N            folders beside the workspace, with what is written in them
    /sys/bind-N             toolchains and host files, bound while we may still reach them

The descriptors keep these file systems alive after every process and namespace of the sandbox is gone.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.sandboxes.bubblewrap import loopback, mounts
from steelyard.sandboxes.bubblewrap.mounts import MS_NODEV, MS_NOSUID, MS_RDONLY
from steelyard.sandboxes.bubblewrap.order import Order, pieces
from steelyard.sandboxes.copy_layers import copy_layers
from steelyard.sandboxes.write_files import Owner, write_files

BASE = "/sys"

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class BindMount(NamedTuple):
    source: str  # under BASE
    target: str  # inside the sandbox
    writable: bool = False


class SandboxMounts(NamedTuple):
    workspace: int
    baseline: int
    touched: int | None
    bound: list[BindMount]


class _OpenMounts(NamedTuple):
    layers: list[int]
    home_layers: list[int]
    binds: list[tuple[int, str]]


def prepare_network() -> int | None:
    """Make the network of a sandbox ahead of its order: the kernel may take milliseconds for it. Needs root.

    A descriptor of the network that we came from; without root None, and the order's own user namespace makes it.
    """
    if os.geteuid() != 0:
        return None
    host = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    mounts.enter_private_network()
    loopback.bring_up()
    return host


def prepare(order: Order, host_network: int | None = None) -> SandboxMounts:
    """Mount everything that bubblewrap will bind, on a network of its own. Runs in the launcher's child, as root."""
    root = os.geteuid() == 0  # of the host: in our user namespace we appear as it, and may chown nothing
    owner = Owner(order.run_uid, order.run_gid) if root else None
    mounts.enter_private_mounts(os.geteuid(), os.getegid())
    _enter_network(order, host_network)
    opened = _open_sources(order)  # after that: a mount of another namespace cannot be a layer
    mounts.detach(BASE)
    size = f"size={order.disk_bytes},nr_inodes={max(order.disk_bytes >> 12, 4096)},mode=755"
    mounts.mount("tmpfs", BASE, "tmpfs", MS_NOSUID | MS_NODEV, size)
    workspace = _Mount("workspace", order.layers, opened.layers)
    home = _Mount("home", order.home_layers, opened.home_layers)
    touched = _materialise(order, workspace, owner)
    _materialise(order, home, owner)
    merged = os.open(f"{BASE}/workspace", _DIRECTORY)
    baseline = _baseline(order, opened.layers, owner)
    write_files(merged, order.pieces(), owner)
    mounts.protect_files(
        f"{BASE}/workspace", [piece.path for piece in order.pieces() if piece.kind == "read_only"]
    )
    return SandboxMounts(merged, baseline, touched, [*_bind_sources(opened), *_places(order, owner)])


def _enter_network(order: Order, host_network: int | None) -> None:
    """`host_network` is given where we are in a network of our own already."""
    if order.share_network:
        if host_network is not None:
            mounts.enter_network(host_network)
        return
    if host_network is None:
        mounts.enter_private_network()
        loopback.bring_up()
    if order.hosts:
        loopback.free_low_ports()


class _Mount(NamedTuple):
    name: str
    layers: list[str]
    opened: list[int]


def _open_sources(order: Order) -> _OpenMounts:
    def path(name: str) -> int:
        return os.open(name, os.O_PATH | os.O_CLOEXEC)

    binds = [(path(prefix), prefix) for prefix in order.toolchains]
    binds += [(path(source), target) for target, source in order.host_files.items()]
    return _OpenMounts(
        [path(name) for name in order.layers], [path(name) for name in order.home_layers], binds
    )


def _folder(path: str, owner: Owner | None) -> str:
    os.makedirs(path, 0o755, exist_ok=True)  # noqa: PTH103  # the hot path of each start
    if owner is not None:
        os.chown(path, owner.uid, owner.gid)
    return path


def _materialise(order: Order, mount: _Mount, owner: Owner | None) -> int | None:
    """Make BASE/<name> hold the place's tree, writable. The upper's descriptor, if there is one."""
    point = _folder(f"{BASE}/{mount.name}", owner)
    if order.materialise == "overlay" and mount.layers:
        touched = _mount_overlay(order, mount, owner, point)
        if touched is not None:
            return touched
    if order.uppers is not None:
        real = os.open(_folder(f"{order.uppers}/{mount.name}", owner), _DIRECTORY)
        mounts.bind(real, point)
        os.close(real)
    copy_layers([Path(layer) for layer in mount.layers], Path(point), owner)
    return None


def _mount_overlay(order: Order, mount: _Mount, owner: Owner | None, point: str) -> int | None:
    """None when the folder on disk is itself on a file system that cannot be an upper (in a container, say)."""
    upper, work = f"{BASE}/upper-{mount.name}", f"{BASE}/work-{mount.name}"
    if order.uppers is not None:
        upper, work = f"{order.uppers}/{mount.name}", f"{order.uppers}/work-{mount.name}"
    touched = os.open(_folder(upper, owner), _DIRECTORY)
    working = os.open(_folder(work, owner), _DIRECTORY)
    # By descriptor: no comma or colon in a path can end an option, and mountinfo shows no host path.
    uppers = f"upperdir=/proc/self/fd/{touched},workdir=/proc/self/fd/{working}"
    options = f"lowerdir={_lowers(mount.opened)},{uppers},{_mode(order, owner)}"
    try:
        mounts.mount("overlay", point, "overlay", MS_NOSUID | MS_NODEV, options)
    except OSError:
        os.close(touched)
        if order.uppers is None:
            raise
        return None
    finally:
        os.close(working)
    return touched


def _lowers(opened: list[int]) -> str:
    return ":".join(f"/proc/self/fd/{descriptor}" for descriptor in opened)


def _mode(order: Order, owner: Owner | None) -> str:
    if owner is None:
        return "userxattr"
    return f"redirect_dir={'off' if order.keep else 'on'},index=off,metacopy=off"


def _baseline(order: Order, opened: list[int], owner: Owner | None) -> int:
    if len(opened) == 1:
        return os.open(order.layers[0], _DIRECTORY)
    point = f"{BASE}/baseline"
    Path(point).mkdir()
    if order.materialise == "copy":
        copy_layers([Path(layer) for layer in order.layers], Path(point), owner)
    elif opened:
        options = f"lowerdir={_lowers(opened)}" + (",userxattr" if owner is None else "")
        mounts.mount("overlay", point, "overlay", MS_NOSUID | MS_NODEV | MS_RDONLY, options)
    return os.open(point, _DIRECTORY)


def _places(order: Order, owner: Owner | None) -> list[BindMount]:
    bound = []
    for number, mount in enumerate(order.extra_mounts):
        folder = _folder(f"{BASE}/place-{number}", owner)
        inside = os.open(folder, _DIRECTORY)
        write_files(inside, pieces(mount["files"]), owner)
        os.close(inside)
        bound.append(BindMount(folder, mount["path"], writable=not mount["read_only"]))
    return bound


def _bind_sources(opened: _OpenMounts) -> list[BindMount]:
    bound = []
    for number, (descriptor, target) in enumerate(opened.binds):
        point = f"{BASE}/bind-{number}"
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            Path(point).mkdir()
        else:
            os.close(os.open(point, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o444))
        mounts.bind(descriptor, point)
        bound.append(BindMount(point, target))
    return bound
