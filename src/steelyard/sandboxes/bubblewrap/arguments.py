"""An order and its mounts -> the arguments of bubblewrap.

Inside: /usr read-only, a generated /etc of five files, /proc, /dev, sized /tmp and /dev/shm, the workspace,
HOME, and what the spec names. `/` and /dev are read-only at the end: bubblewrap makes both as tmpfs without a
size, which would be a way around the disk limit. No --setenv anywhere: arguments show in the host's `ps`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.sandbox_paths import HOME, HOSTNAME, WORKSPACE
from steelyard.sandboxes.bubblewrap.mount_plan import BASE, BindMount
from steelyard.sandboxes.bubblewrap.order import Order

BIN = "/run/steelyard/bin"

FILES = {
    "/etc/passwd": (
        "root:x:0:0:root:/root:/usr/sbin/nologin\n"
        f"agent:x:1000:1000:agent:{HOME}:/bin/sh\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    ),
    "/etc/group": "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n",
    "/etc/hosts": f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}

# --share-net: the network is the launcher's child's, which has one of its own by now.
_ISOLATION = (
    "--unshare-all --share-net --unshare-user --disable-userns --die-with-parent --new-session --as-pid-1 "
    f"--uid 1000 --gid 1000 --hostname {HOSTNAME} --cap-drop ALL --clearenv"
).split()

_FROM_ETC = (
    "/etc/alternatives",
    "/etc/ld.so.cache",
)  # without them awk, vi and /usr/local/lib do not resolve


class HostLayout(NamedTuple):
    """What the system folders of this host are; looked up once."""

    arguments: list[str]

    @classmethod
    def look(cls) -> HostLayout:
        arguments = ["--ro-bind", "/usr", "/usr"]
        for folder in ("/etc", "/home", "/run"):  # made on the way to a file they would be for the owner only
            arguments += ["--perms", "0755", "--dir", folder]
        for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            if Path("/", name).is_symlink():
                arguments += ["--symlink", str(Path("/", name).readlink()), f"/{name}"]
            elif Path("/", name).is_dir():
                arguments += ["--ro-bind", f"/{name}", f"/{name}"]
        for path in _FROM_ETC:
            if Path(path).exists():
                arguments += ["--ro-bind", path, path]
        return cls(arguments)


class Descriptors(NamedTuple):
    """What bubblewrap reads by number; all inheritable."""

    seccomp: int
    init: int


def bwrap_arguments(
    order: Order, layout: HostLayout, given: Descriptors, bound: list[BindMount], file: Callable[[str], int]
) -> list[str]:
    """`file` turns a text into a descriptor that bubblewrap can read it from."""
    size = str(order.tmp_bytes)
    arguments = [*_ISOLATION, *layout.arguments]
    arguments += ["--proc", "/proc", "--dev", "/dev"]
    for mount in ("/dev/shm", "/tmp"):  # noqa: S108  # paths inside the sandbox
        arguments += ["--size", size, "--perms", "1777", "--tmpfs", mount]
    hosts = "".join(f"{address} {name}\n" for name, address in order.hosts.items())
    for path, text in {**FILES, "/etc/hosts": FILES["/etc/hosts"] + hosts}.items():
        if path not in order.host_files:
            arguments += ["--perms", "0644", "--file", str(file(text)), path]
    for name, target in order.links.items():
        arguments += ["--symlink", target, f"{BIN}/{name}"]
    if order.workdir:
        arguments += ["--symlink", WORKSPACE, order.workdir]
    for source, target, writable in bound:
        arguments += ["--bind" if writable else "--ro-bind", source, target]
    arguments += [
        "--bind",
        f"{BASE}/home",
        HOME,
        "--bind",
        f"{BASE}/workspace",
        WORKSPACE,
        "--chdir",
        WORKSPACE,
    ]
    arguments += ["--seccomp", str(given.seccomp)]
    for mount in (
        "/proc",
        "/dev",
        "/",
    ):  # /proc: or a program could write to the memory of the process that tests it
        arguments += ["--remount-ro", mount]
    return [*arguments, "--", f"/proc/self/fd/{given.init}", *order.rlimits]
