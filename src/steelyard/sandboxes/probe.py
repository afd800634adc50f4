"""This machine, tried -> what it can enforce, line by line, each with the one command that mends it.

By doing, never by version numbers: a sandbox is started and asked what it sees.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from steelyard.errors import InfraFault
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.owner import is_stale, run_uid
from steelyard.sandboxes.admission import machine_memory_bytes
from steelyard.sandboxes.base import Command, Facts, Limits, SandboxSpec
from steelyard.sandboxes.bubblewrap import orphans
from steelyard.sandboxes.bubblewrap.backend import BubblewrapBackend
from steelyard.sandboxes.bubblewrap.launcher_client import bwrap_path, launcher
from steelyard.sandboxes.docker.api import engine
from steelyard.sandboxes.docker.backend import sweep
from steelyard.sandboxes.docker.creation import enforced_limits, is_proc_read_only
from steelyard.sandboxes.init.binary import init_binary
from steelyard.sandboxes.limits import cgroups
from steelyard.sandboxes.toolchains import installed_toolchains

State = Literal["ok", "limited", "missing"]

_SMALL = Limits(memory_mb=64, guaranteed_mb=64, disk_mb=4, tmp_mb=1, processes=16)
_CGROUP_FIX = "run as root, or `systemd-run --user --scope -p Delegate=yes steelyard ...` on cgroup v2"
_LOOK_INSIDE = (
    "grep -c : /proc/net/dev; grep Seccomp: /proc/self/status; unshare -U true 2>/dev/null && echo open; "
    "(: >> /proc/$$/mem) 2>/dev/null && echo writable"
)


class Reading(NamedTuple):
    """One line of the doctor. A contract can run here if nothing that is `needed` is missing."""

    name: str
    state: State
    says: str
    fix: str = ""
    needed: bool = False


class CleanupCounts(NamedTuple):
    cgroups: list[str]
    folders: list[str]
    processes: list[int]
    containers: list[str]


def examine() -> list[Reading]:
    """Everything, in the order in which to mend it."""
    needed = [_probe("init", _init), _probe("bubblewrap", _bubblewrap), _probe("git", _git)]
    if all(reading.state == "ok" for reading in needed):
        needed.append(_probe("sandbox", _sandbox))
        needed += _facts()
    return [*needed, _memory(), _docker(), *map(_toolchain, ("python", "node", "go", "rust")), _compiler()]


def can_run(readings: list[Reading]) -> bool:
    return not any(reading.needed and reading.state == "missing" for reading in readings)


def clean() -> CleanupCounts:
    """Remove what dead controllers left."""
    ended = orphans.end_marked(is_stale)  # first: a group that holds a process cannot be removed
    swept = cgroups.sweep(is_stale)
    return CleanupCounts(
        [str(folder) for folder in swept], Cache.default().sweep(), ended, _swept_containers()
    )


def _swept_containers() -> list[str]:
    try:
        return sweep(engine())
    except InfraFault:  # no engine, so none of its containers
        return []


def _probe(name: str, what: Callable[[], str]) -> Reading:
    try:
        return Reading(name, "ok", what(), needed=True)
    except InfraFault as fault:
        says, _, fix = str(fault).partition("; ")
        return Reading(name, "missing", says, fix, needed=True)
    except OSError as error:  # for example root of a user namespace that maps no other user
        return Reading(name, "missing", str(error), "run outside of this container", needed=True)


def _init() -> str:
    return str(init_binary())


def _bubblewrap() -> str:
    path = bwrap_path()
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.split()
    return f"{version[-1] if version else 'unknown'} ({path})"


def _git() -> str:
    path = shutil.which("git")
    if path is None:
        raise InfraFault("git is not installed; run `apt-get install git`")
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.split()
    return f"{version[2] if len(version) > 2 else 'unknown'} ({path})"


def _sandbox() -> str:
    """Start one and look around in it."""
    with tempfile.TemporaryDirectory() as folder:
        if os.geteuid() == 0:
            os.chown(folder, run_uid(), run_uid())
        with BubblewrapBackend().start(SandboxSpec(layers=(Path(folder),), limits=_SMALL)) as sandbox:
            text = sandbox.run(Command(("/bin/sh", "-c", _LOOK_INSIDE), timeout_s=30)).stdout.text
    if not text.startswith("1\n"):  # loopback
        raise InfraFault("a sandbox has a network beyond its loopback; use a kernel with CONFIG_NET_NS")
    if "Seccomp:\t2" not in text:
        raise InfraFault(
            "a sandbox starts, but without its system call filter; use a kernel with CONFIG_SECCOMP_FILTER"
        )
    if "open" in text:
        raise InfraFault(
            "a sandbox can make user namespaces; run `apt-get install bubblewrap` for 0.8 or newer"
        )
    if "writable" in text:
        raise InfraFault(
            "a process in a sandbox can write to the memory of another; run `apt-get install bubblewrap` for 0.8 or newer"
        )
    return "starts; no network, system call filter on, no namespaces inside, /proc read-only"


def _facts() -> list[Reading]:
    """What the limits of a sandbox would be, taken from the backend itself."""
    try:
        facts = BubblewrapBackend().facts(SandboxSpec(layers=(), limits=_SMALL))
    except InfraFault:
        return []
    return [_overlay(facts), *(_limit(facts, name) for name in ("memory", "processes", "disk", "cpu"))]


def _overlay(facts: Facts) -> Reading:
    if facts.materialise == "overlay":
        renames = (
            ""
            if facts.overlay == "root"
            else "; a program that renames a folder of the repository gets EXDEV, and `mv` copies it instead"
        )
        return Reading("overlay", "ok", f"works as this user ({facts.overlay}{renames})")
    why = launcher().overlay
    return Reading(
        "overlay", "limited", f"does not work ({why}): workspaces are copied", "use Linux 6.6 or newer"
    )


def _limit(facts: Facts, name: str) -> Reading:
    how = facts.limits[name]
    words = {
        "cgroup": f"cgroup v{cgroups.host().version}",
        "rlimit": "rlimit",
        "tmpfs": "tmpfs size, up to 2048 MB; above that, the files are polled",
        "polled": "rlimit for each process, and the sum polled five times a second",
        "none": "not enforced",
    }
    strong = how in {"cgroup", "rlimit", "tmpfs"}
    return Reading(f"limit: {name}", "ok" if strong else "limited", words[how], "" if strong else _CGROUP_FIX)


def _memory() -> Reading:
    total_mb = machine_memory_bytes() >> 20
    state: State = "ok" if total_mb >= 4096 else "limited"
    return Reading("memory", state, f"{total_mb} MB for all sandboxes together")


def _docker() -> Reading:
    try:
        found = engine()
        name, version = found.version
        limits = enforced_limits(found, SandboxSpec(layers=()))
        proc = "read-only" if is_proc_read_only(found) else "writable"
    except InfraFault as fault:
        says, _, fix = str(fault).partition("; ")
        return Reading("docker", "limited", f"{says}; only contracts with an image need it", fix)
    weak = [limit for limit, how in limits.items() if how not in {"cgroup", "quota"}]
    says = ", ".join(f"{limit}: {how}" for limit, how in limits.items()) + f", /proc: {proc}"
    fix = (
        "keep the engine's data on xfs with `pquota` for an exact disk limit"
        if weak == ["disk"]
        else _CGROUP_FIX
    )
    state: State = "ok" if weak in ([], ["disk"]) else "limited"
    return Reading("docker", state, f"{name} {version} on {found.path} ({says})", fix)


def _compiler() -> Reading:
    """Of /usr, which is what sandboxes see."""
    place = shutil.which("cc", path="/usr/local/bin:/usr/bin")
    if place is None:
        return Reading(
            "C compiler", "limited", "none in /usr; only contracts that compile C need one", "install gcc"
        )
    return Reading("C compiler", "ok", place)


def _toolchain(name: str) -> Reading:
    found = installed_toolchains(name)
    if not found:
        return Reading(
            name, "limited", "none found; only contracts that ask for it need one", f"install {name}"
        )
    return Reading(name, "ok", ", ".join(f"{each.version} ({each.prefix})" for each in found))
