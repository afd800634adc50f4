"""A `SandboxSpec` -> a sandbox made of namespaces: bubblewrap around an overlay, with init as process 1.

    admission -> an order -> the launcher -> init says hello -> a `BubblewrapSandbox`

What enforces each limit is found out here, once, and recorded in `Facts`.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Literal

from steelyard.errors import InfraFault
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.owner import is_stale, owner_tag, run_uid
from steelyard.sandboxes.admission import admission
from steelyard.sandboxes.base import Enforced, Facts, SandboxSpec, addresses, network_of
from steelyard.sandboxes.bubblewrap import orphans
from steelyard.sandboxes.bubblewrap.launcher_client import (
    START_TIMEOUT_S,
    StartingSandbox,
    launch,
    launcher,
    receive,
)
from steelyard.sandboxes.bubblewrap.order import Order, overlays_as_data, places_as_data
from steelyard.sandboxes.bubblewrap.overlay_probe import NO_NAMESPACES
from steelyard.sandboxes.bubblewrap.sandbox import BubblewrapSandbox, HostResources, Init, are_gone
from steelyard.sandboxes.copy_layers import visible
from steelyard.sandboxes.init.frames import PROTOCOL
from steelyard.sandboxes.init.watch_calls import start_watching, with_evidence
from steelyard.sandboxes.init.wire import Wire
from steelyard.sandboxes.lifecycle import DEATH_S
from steelyard.sandboxes.limits import cgroups

ON_DISK_ABOVE_MB = 2048
_MB = 1 << 20
_OPEN_FILES = 4096
CERTIFICATES = (
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates.conf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
)
_USERNS_FIX = (
    "run `sysctl -w kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0`"
)

_swept = threading.Event()


class BubblewrapBackend:
    """The default on Linux; needs bubblewrap and user namespaces, root is not needed."""

    def facts(self, spec: SandboxSpec) -> Facts:
        overlay = launcher().overlay
        if overlay.startswith(NO_NAMESPACES):
            raise InfraFault(
                f"this user may not create namespaces ({overlay.removeprefix(NO_NAMESPACES)}); {_USERNS_FIX}"
            )
        root = os.geteuid() == 0
        copied = bool(overlay) or (spec.rename == "full" and not root)
        mode: Literal["root", "userxattr", ""] = "" if copied else "root" if root else "userxattr"
        groups = cgroups.host().parents
        limits: dict[str, Enforced] = {
            "cpu": "cgroup" if "cpu" in groups else "none",
            "memory": "cgroup" if "memory" in groups else "polled",
            "disk": "tmpfs" if not _is_on_disk(spec) else "polled" if spec.keep is None else "none",
            "processes": "cgroup" if "processes" in groups else "rlimit",
        }
        facts = Facts(
            "bubblewrap",
            "bubblewrap",
            "copy" if copied else "overlay",
            mode,
            network_of(spec),
            run_uid(),
            limits,
            write_switch=True,
        )
        return with_evidence(facts, is_asked=spec.on_attempt is not None)

    def start(self, spec: SandboxSpec) -> BubblewrapSandbox:
        facts = self.facts(spec)
        _sweep_once()
        holding = _hold(spec)
        try:
            own, started = launch(_order(spec, facts, holding))
            name = f"{own.tag}-{started.number}"
            groups = cgroups.folders(name, cgroups.host())
            try:
                init = _greet(started, groups)
                if facts.kernel_evidence and spec.on_attempt is not None:
                    why = start_watching(init.wire, spec.on_attempt)
                    facts = with_evidence(facts, is_asked=True, why_not=why)
            except BaseException:
                _abandon(started, name, groups)
                raise
        except BaseException:
            holding.release()
            raise
        if started.touched is None and facts.materialise == "overlay":
            # No overlay on the cache's own file system
            facts = replace(facts, materialise="copy", overlay="")
        return BubblewrapSandbox(spec, facts, holding, started, init)


def _is_on_disk(spec: SandboxSpec) -> bool:
    return spec.keep is not None or spec.limits.disk_mb > ON_DISK_ABOVE_MB


def _in_memory_mb(spec: SandboxSpec) -> int:
    """What the sandbox's file systems can take of the machine's memory."""
    return 2 * spec.limits.tmp_mb + (0 if _is_on_disk(spec) else spec.limits.disk_mb)


def _hold(spec: SandboxSpec) -> HostResources:
    guaranteed_mb = min(spec.limits.guaranteed_mb, spec.limits.memory_mb)
    ticket = admission().enter((guaranteed_mb + _in_memory_mb(spec)) * _MB, spec.limits.cpu)
    folder = None
    if _is_on_disk(spec) and spec.keep is None:
        folder = Cache.default().root / "tmp" / f"{owner_tag()}-{os.urandom(8).hex()}"
    return HostResources(ticket, folder, spec.keep)


def _order(spec: SandboxSpec, facts: Facts, holding: HostResources) -> Order:
    limits = spec.limits
    uppers = holding.keep or holding.folder
    return Order(
        layers=[str(layer) for layer in visible(list(spec.layers))],
        home_layers=[str(layer) for layer in visible(list(spec.home_layers))],
        overlays=overlays_as_data(spec.overlays),
        extra_mounts=places_as_data(spec),
        toolchains=[str(prefix) for prefix in spec.toolchains],
        links={name: str(target) for name, target in spec.links.items()},
        workdir=spec.workdir,
        host_files={
            **_trusted(spec),
            **{inside: str(source) for inside, source in spec.host_files.items()},
            **{folder.path: str(folder.source) for folder in spec.folders},
        },
        share_network=spec.network == "host",
        hosts=addresses(spec.allowed_hosts),
        materialise=facts.materialise,
        uppers=None if uppers is None else str(uppers),
        keep=spec.keep is not None,
        disk_bytes=limits.disk_mb * _MB,
        tmp_bytes=limits.tmp_mb * _MB,
        rlimits=_rlimits(spec, facts),
        # A full tmpfs must not eat the processes' share: its pages are charged to the same group.
        memory_bytes=(limits.memory_mb + _in_memory_mb(spec)) * _MB,
        processes=limits.processes + len(facts.kernel_evidence[:1]),  # init's own thread
        cpu=limits.cpu,
        run_uid=run_uid(),
        run_gid=run_uid() if os.geteuid() == 0 else os.getegid(),
        is_watched=bool(facts.kernel_evidence),
    )


def _trusted(spec: SandboxSpec) -> dict[str, str]:
    """The certificate authorities of this machine: without them no program would trust an allowed host."""
    return {path: path for path in CERTIFICATES if Path(path).exists()} if spec.allowed_hosts else {}


def _rlimits(spec: SandboxSpec, facts: Facts) -> list[str]:
    """What init sets on itself; a group's limit is exact and needs no second one."""
    rlimits = ["core=0", f"nofile={_OPEN_FILES}"]
    if facts.limits["processes"] == "rlimit":
        own = 1 + len(facts.kernel_evidence[:1])  # init's own threads
        rlimits.append(f"nproc={spec.limits.processes + own}")
    if facts.limits["memory"] == "polled":
        rlimits.append(f"data={spec.limits.memory_mb * _MB}")
    if facts.limits["disk"] != "tmpfs":
        rlimits.append(f"fsize={spec.limits.disk_mb * _MB}")
    return rlimits


def _greet(started: StartingSandbox, groups: list[Path]) -> Init:
    """Init's first words, and a pidfd of it: the kernel tells who sent them."""
    _await_word(started)
    try:
        first = receive(started.sock, 4096)
    except OSError as error:
        raise InfraFault(f"a sandbox did not start: {error}; run `steelyard doctor`") from error
    if not first.data:
        error_text = os.pread(started.stderr, 4000, 0).decode(errors="replace").strip()
        raise InfraFault(f"bubblewrap did not start: {error_text or 'no message'}; run `steelyard doctor`")
    started.sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
    wire = Wire(started.sock)
    hello = wire.hello(first.data, START_TIMEOUT_S)
    if hello is None or hello.protocol != PROTOCOL:
        raise InfraFault(
            "steelyard's init program has another protocol version; run `pip install --force-reinstall steelyard`"
        )
    os.close(started.stderr)
    return Init(wire, first.sender, os.pidfd_open(first.sender), groups)


def _await_word(started: StartingSandbox) -> None:
    """Until init sends its first frame or bubblewrap ends: its child can keep the socket open forever."""
    waiting = select.poll()
    for descriptor in (started.sock.fileno(), started.bwrap):
        waiting.register(descriptor, select.POLLIN)
    events = waiting.poll(int(START_TIMEOUT_S * 1000))
    if [descriptor for descriptor, _ in events] == [started.bwrap]:
        raise InfraFault("bubblewrap was killed before its sandbox started")


def _abandon(started: StartingSandbox, name: str, groups: list[Path]) -> None:
    with contextlib.suppress(OSError):
        signal.pidfd_send_signal(started.bwrap, signal.SIGKILL)
    started.sock.close()
    are_gone(started.bwrap, started.bwrap, DEATH_S)
    orphans.end_marked(lambda marked: marked == name)
    for descriptor in (started.workspace, started.baseline, started.touched, started.bwrap, started.stderr):
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(descriptor)
    with contextlib.suppress(OSError):
        cgroups.remove(groups)


def _sweep_once() -> None:
    if not _swept.is_set():
        _swept.set()
        orphans.end_marked(is_stale)
        cgroups.sweep(is_stale)
        with contextlib.suppress(OSError, RecursionError):  # a dead run's folder must not stop a new one
            Cache.default().sweep()
