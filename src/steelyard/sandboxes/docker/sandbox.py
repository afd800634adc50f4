"""One live container: commands go to its init by the attached stream, and at the end everything is dead.

stop    egress proxy closed -> K, D (all dead) -> counters read -> stdin closed, init ends -> gone by its pidfd, or by the engine's word
close   descriptors closed, the container removed
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.errors import InfraFault
from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.filesystem.owner import run_uid
from steelyard.filesystem.remove import remove_tree
from steelyard.sandboxes.admission import admission
from steelyard.sandboxes.base import (
    HOME,
    WORKSPACE,
    Command,
    CommandResult,
    ExitStats,
    Facts,
    OnOutput,
    SandboxSpec,
)
from steelyard.sandboxes.copy_layers import COMPLETE, copy_layers
from steelyard.sandboxes.docker.api import NO_ROOM, Engine, EngineRefusal
from steelyard.sandboxes.docker.archive import Caps, UnpackRules, baseline, fetch, take
from steelyard.sandboxes.docker.disk_usage import has_too_many, holds_more, is_full
from steelyard.sandboxes.docker.passwd import ROOT
from steelyard.sandboxes.docker.proc_root import Reach, Uppers, captured_tree_of, system_uppers, uppers
from steelyard.sandboxes.init.watch_calls import count_attempts
from steelyard.sandboxes.init.wire import Wire
from steelyard.sandboxes.lifecycle import DEATH_S, Lifecycle
from steelyard.sandboxes.limits import cgroups
from steelyard.sandboxes.process_tree import ProcessTree
from steelyard.sandboxes.write_files import Owner, open_folder

_LOOK_EVERY_S = 1.0
_LOOK_SHARE = 4  # a tree that takes long to look through is looked through less often
_REMOVAL_PAUSES_S = (0.05, 0.2, 1.0)
_MB = 1 << 20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

BASE_ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "USER": "agent",
}


@dataclass
class Container:
    """One container, and what this machine holds because of it."""

    engine: Engine
    id: str
    wire: Wire
    reach: Reach | None
    ticket: int
    scratch: Path  # of the cache; made when something is put there

    def details(self) -> dict[str, Any]:
        return dict(self.engine.call("GET", f"/containers/{self.id}/json"))


class DockerSandbox(Lifecycle):
    """Any thread may run commands in it or stop it."""

    def __init__(self, spec: SandboxSpec, facts: Facts, container: Container) -> None:
        super().__init__(container.wire, spec.allowed_hosts, spec.on_connection)
        container.wire.secrets = spec.secrets
        self._sandbox_spec = spec
        self._facts = facts
        self._container = container
        is_system = spec.scope == "system"
        self._folder = spec.workdir or ("/" if is_system else WORKSPACE)
        home = _home(spec, container) if is_system else {"HOME": HOME}
        self._env = {**BASE_ENV, **spec.image_env, **home, **spec.env}
        if spec.workdir:
            self._env.setdefault("PWD", spec.workdir)  # a shell believes it, and says that name
        self._full = False
        self._opened: list[int] = []
        self._uppers: Uppers | None = None
        self._watched: Uppers | None = None
        self._unwatch = self._watch_disk() if facts.limits["disk"] == "polled" else None

    @property
    def facts(self) -> Facts:
        return self._facts

    def run(self, command: Command, on_output: OnOutput | None = None) -> CommandResult:
        self._begin()
        folder = command.folder(self._folder)
        return self._container.wire.run(command, folder, {**self._env, **command.env}, on_output)

    def attempts(self) -> dict[str, int]:
        return count_attempts(self._container.wire) if self._facts.kernel_evidence else {}

    def open_folder(self, path: str) -> int | None:
        reach = self._container.reach
        try:
            return None if reach is None else open_folder(reach.root, filter(None, path.split("/")))
        except OSError:
            return None

    def _switch_writes(self, *, writable: bool) -> int:
        reach = self._container.reach
        if reach is None or not self._sandbox_spec.write_switch:
            return errno.EOPNOTSUPP
        return reach.switch_writes(writable=writable)

    def process_tree(self) -> ProcessTree | None:
        reach = self._container.reach
        return None if reach is None else ProcessTree(reach.pid, tuple(reach.groups))

    def captured_tree(self) -> CapturedTree:
        self._require_dead()
        container = self._container
        if container.reach is None:
            return self._fetch()
        if self._uppers is None:
            details = container.details()
            self._uppers = system_uppers(details) if self._sandbox_spec.scope == "system" else uppers(details)
        if self._uppers is not None:
            captured_tree = captured_tree_of(
                container.reach.workspace, self._uppers, self._sandbox_spec.scope
            )
            return replace(captured_tree, mounted=_mounted(self._sandbox_spec))
        if self._sandbox_spec.scope == "system":
            raise InfraFault(
                "the storage driver does not show what a container changed; give the engine overlay2"
            )
        return CapturedTree(container.reach.workspace, self._baseline())

    def running_tree(self) -> CapturedTree | None:
        container = self._container
        if container.reach is None:
            return None
        workspace = container.reach.workspace
        os.fchmod(workspace, os.fstat(workspace).st_mode & 0o7777)  # now the upper has it, and can be watched
        details = container.details()
        is_system = self._sandbox_spec.scope == "system"
        self._watched = system_uppers(details) if is_system else uppers(details)
        if self._watched is None:
            return None
        captured_tree = captured_tree_of(workspace, self._watched, self._sandbox_spec.scope)
        return replace(captured_tree, mounted=_mounted(self._sandbox_spec))

    def copy_out(self, place: str, into: Path, taking: UnpackRules) -> None:
        """What is at `place` now, as data below `into` under its own name."""
        container = self._container
        take(container.engine, container.id, place, into, taking)

    def _die(self) -> ExitStats:
        container = self._container
        if self._unwatch is not None:
            self._unwatch()
        self._allowed_hosts.shut()
        was_lost = container.wire.gone
        try:
            if not was_lost:
                container.wire.kill_all(DEATH_S)
            counted = cgroups.counters(container.reach.groups if container.reach else [])
            container.wire.close()
            self._await_death()
            is_out_of_memory = (
                not counted.oom_kills and (was_lost or container.reach is None) and self._was_oom()
            )
            self._judge_room()
        finally:
            admission().leave(container.ticket)
        return ExitStats(
            oom_kills=counted.oom_kills + is_out_of_memory,
            peak_memory_bytes=counted.peak_memory_bytes,
            processes_refused=counted.processes_refused,
            disk_full=self._full,
        )

    def _await_death(self) -> None:
        """Until process 1 is gone, and with it all others. If it does not end when asked, it is killed."""
        container = self._container
        if container.reach is None:
            container.engine.call("POST", f"/containers/{container.id}/wait", timeout_s=3 * DEATH_S)
            return
        if not container.reach.is_gone(2.0):
            container.reach.kill()
        if not container.reach.is_gone(DEATH_S):
            raise InfraFault(
                f"a container survived SIGKILL for {DEATH_S:.0f} s; its workspace cannot be trusted"
            )

    def _has_no_room(self) -> bool:
        """Only where nothing but the file system itself keeps the limit: a quota is full when its container is."""
        reach = self._container.reach
        return self._facts.limits["disk"] == "polled" and reach is not None and is_full(reach.workspace)

    def _judge_room(self) -> None:
        """A disk that is full of what others wrote fails whatever runs, and is no failure of it."""
        if self._full or not self._has_no_room():
            return
        self._full = holds_more(self._container.details(), self._sandbox_spec.limits.disk_mb * _MB)
        if not self._full:
            raise InfraFault(f"the disk of the container engine is full; {NO_ROOM}")

    def _was_oom(self) -> bool:
        return bool(self._container.details()["State"].get("OOMKilled"))

    def _fetch(self) -> CapturedTree:
        container, scratch = self._container, self._container.scratch
        if not self._opened:
            fetch(container.engine, container.id, WORKSPACE, scratch / "workspace", Caps())
            self._opened = [os.open(scratch / "workspace", _DIRECTORY)]
        return CapturedTree(self._opened[0], self._baseline())

    def _baseline(self) -> int:
        folder = baseline(self._sandbox_spec, self._container.scratch / "baseline")
        self._opened.append(os.open(folder, _DIRECTORY))
        return self._opened[-1]

    def _keep(self) -> None:
        """What setup made, whole: a layer that hides all that is below it."""
        keep, container = self._sandbox_spec.keep, self._container
        if keep is None or self._exit_stats is None:
            return
        for place, name in ((WORKSPACE, "workspace"), (HOME, "home")):
            if container.reach is None:
                fetch(
                    container.engine,
                    container.id,
                    place,
                    keep / name,
                    Caps(file_bytes=8 << 30, total_bytes=64 << 30),
                )
            else:
                opened = container.reach.workspace if name == "workspace" else container.reach.home
                (keep / name).mkdir(parents=True)
                copy_layers([Path(f"/proc/self/fd/{opened}")], keep / name, Owner(run_uid(), run_uid()))
        (keep / COMPLETE).touch()

    def _forget(self) -> None:
        for descriptor in self._opened:
            os.close(descriptor)
        if self._uppers is not None:
            self._uppers.close()
        self._opened, self._uppers = [], None
        remove_tree(self._container.scratch)

    def _give_back(self) -> None:
        try:
            self._keep()
        finally:
            self._remove()

    def _remove(self) -> None:
        container = self._container
        self._forget()
        if self._watched is not None:
            self._watched.close()
            self._watched = None
        if container.reach is not None:
            container.reach.close()
        with suppress(InfraFault):  # the engine is gone: the next start removes what is left, by its label
            remove_container(container.engine, container.id)

    def _watch_disk(self) -> Callable[[], None]:
        """Where nothing keeps a container from filling the disk, look how much it has written."""
        ended = threading.Event()
        threading.Thread(target=self._look, args=(ended,), name="steelyard-disk", daemon=True).start()
        return ended.set

    def _look(self, ended: threading.Event) -> None:
        container, limit, took_s = self._container, self._sandbox_spec.limits.disk_mb * _MB, 0.0
        while not ended.wait(max(_LOOK_EVERY_S, took_s * _LOOK_SHARE)):
            started = time.monotonic()
            # The engine is gone, which the next command reports; or the container is gone, with its descriptors.
            with suppress(InfraFault, OSError):
                details = container.engine.call("GET", f"/containers/{container.id}/json", None, {"size": 1})
                self._full = self._full or (details.get("SizeRw") or 0) > limit or self._has_too_many(details)
                if self._full or self._has_no_room():
                    container.wire.kill_all(DEATH_S)  # now, so that the record shows which process filled it
            took_s = time.monotonic() - started

    def _has_too_many(self, details: dict[str, Any]) -> bool:
        reach = self._container.reach
        return reach is not None and has_too_many(details, self._sandbox_spec.limits.disk_mb * _MB)


def _mounted(spec: SandboxSpec) -> frozenset[str]:
    """Folders of this machine that are mounted in a whole system: no part of what the agent changed."""
    return frozenset(folder.path.strip("/") for folder in spec.folders if spec.scope == "system")


def _home(spec: SandboxSpec, container: Container) -> dict[str, str]:
    """The user of a whole system; root if the system cannot be inspected."""
    one = container.reach.person(spec.user) if container.reach is not None else ROOT
    return {"HOME": one.home, "USER": one.name}


def remove_container(engine: Engine, container: str) -> None:
    """Whatever state it is in; one that is gone already is fine."""
    for patience_s in (*_REMOVAL_PAUSES_S, None):
        try:
            engine.call("DELETE", f"/containers/{container}", None, {"force": 1, "v": 1})
        except EngineRefusal as refused:
            if refused.status == 404:
                return
            if patience_s is None:
                raise
            time.sleep(patience_s)  # it is ending, or being removed: engines refuse in between
        else:
            return
