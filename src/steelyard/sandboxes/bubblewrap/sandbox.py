"""One live bubblewrap sandbox: commands go in, and at the end everything is dead and proven so.

stop    egress proxy closed -> K, D (all dead) -> socket closed -> init and bubblewrap gone, by their pidfds -> counters read, cgroups removed
close   descriptors closed, folders removed
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import InfraFault
from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.filesystem.remove import remove_tree
from steelyard.sandboxes.admission import admission
from steelyard.sandboxes.base import HOME, Command, CommandResult, ExitStats, Facts, OnOutput, SandboxSpec
from steelyard.sandboxes.bubblewrap.arguments import BIN
from steelyard.sandboxes.bubblewrap.launcher_client import StartingSandbox, launcher
from steelyard.sandboxes.copy_layers import COMPLETE
from steelyard.sandboxes.init.watch_calls import count_attempts
from steelyard.sandboxes.init.wire import Wire
from steelyard.sandboxes.lifecycle import DEATH_S, Lifecycle
from steelyard.sandboxes.limits import cgroups
from steelyard.sandboxes.limits.watch_usage import WatchedTree, watch_disk, watch_memory
from steelyard.sandboxes.process_tree import ProcessTree
from steelyard.sandboxes.write_files import open_folder

_ANSWER_S = 1.0
_MB = 1 << 20

BASE_ENV = {
    "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin",
    "HOME": HOME,
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "USER": "agent",
}


class Init(NamedTuple):
    """The sandbox's process 1: its connection, and its process as seen from here."""

    wire: Wire
    pid: int
    pidfd: int
    cgroups: list[Path]


class HostResources(NamedTuple):
    """What a sandbox occupies on the host."""

    ticket: int
    folder: Path | None  # upper layers on disk that are deleted at the end
    keep: Path | None

    def release(self) -> None:
        """Give everything back, of a sandbox that never lived."""
        admission().leave(self.ticket)
        self.remove_folders()

    def remove_folders(self) -> None:
        if self.folder is not None:
            remove_tree(self.folder)
        if self.keep is not None:
            for work in self.keep.glob("work-*"):
                remove_tree(work)


class BubblewrapSandbox(Lifecycle):
    """One live sandbox. Any thread may run commands in it or stop it."""

    def __init__(
        self, spec: SandboxSpec, facts: Facts, holding: HostResources, started: StartingSandbox, init: Init
    ) -> None:
        super().__init__(init.wire, spec.allowed_hosts, spec.on_connection)
        init.wire.secrets = spec.secrets
        self._sandbox_spec = spec
        self._facts = facts
        self._holding = holding
        self._started = started
        self._init = init
        self._env = {**BASE_ENV, **({"PWD": spec.workdir} if spec.workdir else {}), **spec.env}
        self._polled_kills = 0
        polled = facts.limits["memory"] == "polled"
        self._is_disk_full = False
        self._unwatch: list[Callable[[], None]] = []
        if polled:
            watched = WatchedTree(
                init.pid, spec.limits.memory_mb * _MB, self._out_of_memory, self._segments_bytes
            )
            self._unwatch.append(watch_memory(watched))
        if holding.folder is not None:
            watched = WatchedTree(init.pid, spec.limits.disk_mb * _MB, self._out_of_disk)
            self._unwatch.append(watch_disk(watched, holding.folder))

    @property
    def facts(self) -> Facts:
        return self._facts

    def run(self, command: Command, on_output: OnOutput | None = None) -> CommandResult:
        self._begin()
        return self._init.wire.run(command, command.folder(), {**self._env, **command.env}, on_output)

    def captured_tree(self) -> CapturedTree:
        self._require_dead()
        return self.running_tree()

    def running_tree(self) -> CapturedTree:
        redirects = (
            "trusted.overlay.redirect"
            if self._facts.overlay == "root" and self._sandbox_spec.keep is None
            else ""
        )
        started = self._started
        return CapturedTree(started.workspace, started.baseline, started.touched, redirects)

    def process_tree(self) -> ProcessTree:
        is_tmpfs = self._holding.folder is None and self._holding.keep is None
        disk = self._started.workspace if is_tmpfs else None  # otherwise the disk is shared with others
        return ProcessTree(self._init.pid, tuple(self._init.cgroups), disk)

    def attempts(self) -> dict[str, int]:
        return count_attempts(self._init.wire) if self._facts.kernel_evidence else {}

    def open_folder(self, path: str) -> int | None:
        try:
            root = os.open(f"/proc/{self._init.pid}/root", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            return open_folder(root, filter(None, path.split("/")))
        except OSError:
            return None
        finally:
            os.close(root)

    def _switch_writes(self, *, writable: bool) -> int:
        return launcher().switch_writes(self._init.pid, writable=writable)

    def _out_of_memory(self) -> None:
        self._polled_kills += 1
        self._init.wire.kill_all(DEATH_S)

    def _out_of_disk(self) -> None:
        self._is_disk_full = True
        self._init.wire.kill_all(DEATH_S)

    def _segments_bytes(self) -> int:
        """Of System V; they are seen from inside the sandbox alone."""
        return 0 if self._init.wire.gone else self._init.wire.memory_bytes(_ANSWER_S)

    def _die(self) -> ExitStats:
        for unwatch in self._unwatch:
            unwatch()
        self._allowed_hosts.shut()
        try:
            if not self._init.wire.gone:
                self._init.wire.kill_all(DEATH_S)
            self._init.wire.close()
            _await_death(self._started.bwrap, self._init.pidfd)
            counted = cgroups.counters(self._init.cgroups)
            cgroups.remove(self._init.cgroups)
        finally:
            admission().leave(self._holding.ticket)
        return ExitStats(
            oom_kills=counted.oom_kills + self._polled_kills,
            peak_memory_bytes=counted.peak_memory_bytes,
            processes_refused=counted.processes_refused,
            disk_full=self._is_disk_full or os.fstatvfs(self._started.workspace).f_bavail == 0,
        )

    def _give_back(self) -> None:
        started = self._started
        for descriptor in (
            started.workspace,
            started.baseline,
            started.touched,
            started.bwrap,
            self._init.pidfd,
        ):
            if descriptor is not None:
                os.close(descriptor)
        self._holding.remove_folders()
        if self._sandbox_spec.keep is not None and self._facts.materialise == "copy":
            (self._sandbox_spec.keep / COMPLETE).touch()


def _await_death(bwrap: int, init: int) -> None:
    """Until both processes are gone. The kernel lets a pid namespace's init end last, so all are."""
    if are_gone(bwrap, init, 2.0):
        return
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(bwrap, signal.SIGKILL)  # its init goes with it: --die-with-parent
    if not are_gone(bwrap, init, DEATH_S):
        raise InfraFault(f"a sandbox survived SIGKILL for {DEATH_S:.0f} s; its workspace cannot be trusted")


def are_gone(bwrap: int, init: int, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    for pidfd in (bwrap, init):
        left_ms = max(0, int((deadline - time.monotonic()) * 1000))
        waiting = select.poll()
        waiting.register(pidfd, select.POLLIN)
        if not waiting.poll(left_ms):
            return False
    return True
