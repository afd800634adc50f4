"""A `SandboxSpec` -> the body of POST /containers/create: what a container may do, and how much of it.

No privilege, no device, no capability, no network, no log; a uid that no user has, our system call filter, and our
own init as process 1, which gets its orders by the attached stdin and ends when that does. An agent with a
whole system is root in it, with the capabilities that an engine leaves root by default, less two.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from steelyard.filesystem.cache import Cache
from steelyard.filesystem.owner import owner_tag
from steelyard.sandboxes.base import HOME, HOSTNAME, WORKSPACE, Enforced, SandboxSpec, addresses
from steelyard.sandboxes.docker.api import Engine
from steelyard.sandboxes.docker.derived import AGENT_ID, INIT, OWNER_LABEL
from steelyard.sandboxes.docker.profile import here as seccomp_profile

TOKEN = "STEELYARD_SANDBOX"  # noqa: S105  # a name of a variable
PERIOD_US = 100_000
PATIENCE_S = 60  # more than a controller takes to attach and speak
# The engine's own threads are in the group too while it starts a container.
FEWEST_PROCESSES = 32
_MB = 1 << 20
_OPEN_FILES = 4096
_TMP = "rw,nosuid,nodev,exec,mode=1777"  # of a whole system /tmp is part, and captured with it
# Of what the engine leaves root by default: raw packets, and devices.
DROPPED_OF_ROOT = ("NET_RAW", "MKNOD")
_PROCESSES_OF_A_USER = 32768
# A list replaces the engine's own, so that is in it too. All of /proc: a program that may write to /proc/PID/mem
# chooses the exit code of the process that tests it.
READ_ONLY_PATHS = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger", "/proc")


def creation(
    engine: Engine, spec: SandboxSpec, image: str, token: str, *, is_watched: bool = False
) -> dict[str, Any]:
    """`is_watched`: init refuses system calls and reports them."""
    limits = enforced_limits(engine, spec)
    return {
        "Image": image,
        "Hostname": HOSTNAME,
        "User": (spec.user or "0:0") if spec.scope == "system" else f"{AGENT_ID}:{AGENT_ID}",
        "WorkingDir": "/",
        "Entrypoint": [INIT],
        "Cmd": _rlimits(spec, limits),
        "Env": [f"{TOKEN}={token}"],
        "Labels": {OWNER_LABEL: owner_tag()},
        "OpenStdin": True,
        "StdinOnce": True,
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": False,
        "Volumes": {place: {} for place in _volumes(spec)},
        "HostConfig": _host(spec, limits, _seccomp(engine, is_watched=is_watched), own=1 + is_watched)
        | _proc(engine),
    }


def is_proc_read_only(engine: Engine) -> bool:
    """Podman has no such setting; where SELinux labels containers, the runtime itself writes to /proc last."""
    labelled = any("name=selinux" in str(option) for option in engine.info.get("SecurityOptions") or ())
    return engine.version.name != "podman" and not labelled


def _proc(engine: Engine) -> dict[str, Any]:
    return {"ReadonlyPaths": list(READ_ONLY_PATHS)} if is_proc_read_only(engine) else {}


def _host(spec: SandboxSpec, limits: dict[str, Enforced], seccomp: str, own: int) -> dict[str, Any]:
    """`own`: threads of init."""
    wanted = spec.limits
    memory = (wanted.memory_mb + 2 * wanted.tmp_mb) * _MB  # a tmpfs is charged to the same group
    host: dict[str, Any] = {
        "NetworkMode": spec.network,
        "Privileged": False,
        "CapDrop": [*DROPPED_OF_ROOT] if spec.scope == "system" else ["ALL"],
        "SecurityOpt": ["no-new-privileges", f"seccomp={seccomp}"],
        "ReadonlyRootfs": spec.read_only,
        "IpcMode": "private",
        "Init": False,
        "LogConfig": {"Type": "none"},  # or every frame would be in a file of the host
        "ShmSize": wanted.tmp_mb * _MB,
        "Tmpfs": {} if spec.scope == "system" else {"/tmp": f"{_TMP},size={wanted.tmp_mb * _MB}"},  # noqa: S108
        "Ulimits": [{"Name": name, "Soft": value, "Hard": value} for name, value in _ulimits().items()],
    }
    if spec.folders:
        host["Mounts"] = [
            {"Type": "bind", "Source": str(folder.source), "Target": folder.path, "ReadOnly": True}
            for folder in spec.folders
        ]
    if spec.allowed_hosts:
        host["ExtraHosts"] = [f"{name}:{address}" for name, address in addresses(spec.allowed_hosts).items()]
        host["Sysctls"] = {
            "net.ipv4.ip_unprivileged_port_start": "0"
        }  # init is not root and listens on ports such as 443
    if limits["memory"] == "cgroup":
        host |= {"Memory": memory, "MemorySwap": memory}
    if limits["processes"] == "cgroup":
        host["PidsLimit"] = max(wanted.processes + own, FEWEST_PROCESSES)
    if limits["cpu"] == "cgroup":  # not NanoCpus: that may not be more than the machine has
        host |= {"CpuPeriod": PERIOD_US, "CpuQuota": max(int(wanted.cpu * PERIOD_US), 1000)}
    if limits["disk"] == "quota":
        host["StorageOpt"] = {"size": str(wanted.disk_mb * _MB)}
    return host


def _ulimits() -> dict[str, int]:
    # nproc: Podman would ask for more than it may itself. It counts a user's processes on the whole machine, so it is
    # as large as systems have it, so that it limits nothing.
    return {"nofile": _OPEN_FILES, "core": 0, "nproc": _PROCESSES_OF_A_USER}


def _seccomp(engine: Engine, *, is_watched: bool) -> str:
    """The profile itself for Docker; for Podman a file with it."""
    profile = seccomp_profile(left_to_init=is_watched)
    if engine.version.name != "podman":
        return profile

    def write(folder: Path) -> None:
        (folder / "profile.json").write_text(profile)

    return str(
        Cache.default().build("seccomp", hashlib.sha256(profile.encode()).hexdigest(), write) / "profile.json"
    )


def _volumes(spec: SandboxSpec) -> list[str]:
    """What stays writable under a read-only root; the engine fills each with what the image has there."""
    return [WORKSPACE, HOME, *(place.path for place in spec.extra_mounts)] if spec.read_only else []


def _rlimits(spec: SandboxSpec, limits: dict[str, Enforced]) -> list[str]:
    # A controller that dies between start and attach never speaks: the container ends by itself then.
    rlimits = [f"patience={PATIENCE_S * 1000}", "core=0", f"nofile={_OPEN_FILES}"]
    if limits["memory"] == "rlimit":
        rlimits.append(f"data={spec.limits.memory_mb * _MB}")
    if limits["processes"] == "rlimit":
        rlimits.append(f"nproc={spec.limits.processes}")
    if limits["disk"] in {"none", "polled"}:
        rlimits.append(f"fsize={spec.limits.disk_mb * _MB}")
    return rlimits


def enforced_limits(engine: Engine, spec: SandboxSpec) -> dict[str, Enforced]:
    """How each limit is kept, by what the engine says of this machine."""
    info = engine.info
    return {
        "cpu": "cgroup" if info.get("CpuCfsQuota") else "none",
        "memory": "cgroup" if info.get("MemoryLimit") else "rlimit",
        # A volume of a read-only root is in no size that the engine tells.
        "disk": "none" if spec.read_only else "quota" if _has_quota(info) else "polled",
        "processes": "cgroup" if info.get("PidsLimit") else "rlimit",
    }


def _has_quota(info: dict[str, Any]) -> bool:
    """overlay2 keeps a size only on xfs with project quotas, and says so in its status since it looked."""
    status = {str(row[0]): str(row[1]) for row in info.get("DriverStatus") or () if len(row) == 2}
    if info.get("Driver") in {"btrfs", "zfs"}:
        return True
    return status.get("Backing Filesystem") == "xfs" and status.get("Project Quota", "false") == "true"
