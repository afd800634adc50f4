"""A `SandboxSpec` -> the same init in a private folder, with no isolation at all.

    <cache>/tmp/<owner tag>-<random>/workspace   a copy of the layers, what /workspace is elsewhere
                                    /home        HOME
                                    /bin         starters of the spec's programs, first on PATH

Commands are this user's processes on this host: they can read its files, reach its network and kill init. It is
for trusted agents on machines that can do no better, it must be asked for, and every result says `none`.
A path /workspace inside a command does not exist here; `cwd` under it is understood.
"""

from __future__ import annotations

import os
import secrets
import select
import shlex
import signal
import socket
from pathlib import Path

from steelyard.errors import InfraFault
from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.owner import owner_tag
from steelyard.filesystem.remove import remove_tree
from steelyard.sandboxes.admission import admission
from steelyard.sandboxes.base import (
    WORKSPACE,
    Command,
    CommandResult,
    ExitStats,
    Facts,
    OnOutput,
    SandboxSpec,
)
from steelyard.sandboxes.copy_layers import COMPLETE, copy_layers, visible
from steelyard.sandboxes.init.binary import init_binary
from steelyard.sandboxes.init.wire import Wire
from steelyard.sandboxes.lifecycle import DEATH_S, Lifecycle
from steelyard.sandboxes.limits.watch_usage import WatchedTree, watch_memory
from steelyard.sandboxes.process_tree import ProcessTree
from steelyard.sandboxes.write_files import write_files

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MB = 1 << 20


class LocalSandbox(Lifecycle):
    def __init__(self, spec: SandboxSpec, facts: Facts, folder: Path) -> None:
        self._sandbox_spec = spec
        self._facts = facts
        self._folder = folder
        self._ticket = admission().enter(
            min(spec.limits.guaranteed_mb, spec.limits.memory_mb) * _MB, spec.limits.cpu
        )
        self._places = spec.keep or folder
        self._kills = 0
        self._descriptors: list[int] = []
        try:
            self._furnish()
            self._pid, wire = _start_init(spec)
        except BaseException:
            admission().leave(self._ticket)
            remove_tree(folder)
            raise
        super().__init__(wire, (), None)  # it reaches whatever this machine reaches
        wire.secrets = spec.secrets
        self._env = {**_base_env(folder, self._places), **spec.env}
        self._unwatch = watch_memory(WatchedTree(self._pid, spec.limits.memory_mb * _MB, self._out_of_memory))

    @property
    def facts(self) -> Facts:
        return self._facts

    @property
    def workspace(self) -> Path:
        return self._places / "workspace"

    def run(self, command: Command, on_output: OnOutput | None = None) -> CommandResult:
        folder = command.folder(str(self.workspace))
        if folder == WORKSPACE or folder.startswith(f"{WORKSPACE}/"):
            folder = str(self.workspace) + folder.removeprefix(WORKSPACE)
        self._begin()
        return self._wire.run(command, folder, {**self._env, **command.env}, on_output)

    def process_tree(self) -> ProcessTree:
        return ProcessTree(self._pid)

    def captured_tree(self) -> CapturedTree:
        self._require_dead()
        return self.running_tree()

    def running_tree(self) -> CapturedTree:
        if not self._descriptors:
            self._descriptors = [os.open(path, _DIRECTORY) for path in (self.workspace, self._baseline())]
        workspace, baseline = self._descriptors
        return CapturedTree(workspace, baseline)

    def _give_back(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        if self._sandbox_spec.keep is not None:
            (self._sandbox_spec.keep / COMPLETE).touch()
        remove_tree(self._folder)

    def _furnish(self) -> None:
        for name, layers in (
            ("workspace", self._sandbox_spec.layers),
            ("home", self._sandbox_spec.home_layers),
        ):
            mount = self._places / name
            mount.mkdir(parents=True, exist_ok=True)
            copy_layers(list(layers), mount, None)
        root = os.open(self.workspace, _DIRECTORY)
        try:
            write_files(root, self._sandbox_spec.overlays, None)
        finally:
            os.close(root)
        links = self._folder / "bin"
        links.mkdir(parents=True)
        for name, target in self._sandbox_spec.links.items():
            _write_starter(links / name, target)

    def _baseline(self) -> Path:
        shown = visible(list(self._sandbox_spec.layers))
        if len(shown) == 1:
            return shown[0]
        baseline = self._folder / "baseline"
        baseline.mkdir(exist_ok=True)
        copy_layers(shown, baseline, None)
        return baseline

    def _out_of_memory(self) -> None:
        self._kills += 1
        self._wire.kill_all(DEATH_S)

    def _die(self) -> ExitStats:
        self._unwatch()
        try:
            dead = not self._wire.gone and self._wire.kill_all(DEATH_S)
            self._wire.close()
            _wait_for(self._pid)
        finally:
            admission().leave(self._ticket)
        if not dead:
            raise InfraFault("init of a local sandbox was killed; what it had started may still be running")
        return ExitStats(oom_kills=self._kills)


def _write_starter(path: Path, program: Path) -> None:
    """Not a link: Python takes a link for its own place, and a virtual environment would point to where it was."""
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(str(program))} "$@"\n')
    path.chmod(0o755)


def _base_env(folder: Path, extra_mounts: Path) -> dict[str, str]:
    return {
        "PATH": f"{folder}/bin:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(extra_mounts / "home"),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "USER": "agent",
    }


def _start_init(spec: SandboxSpec) -> tuple[int, Wire]:
    ours, theirs = socket.socketpair()
    binary = str(init_binary())
    rlimits = ["core=0", f"data={spec.limits.memory_mb * _MB}", f"fsize={spec.limits.disk_mb * _MB}"]
    actions = [(os.POSIX_SPAWN_DUP2, theirs.fileno(), number) for number in (0, 1)]
    with theirs:
        pid = os.posix_spawn(binary, [binary, *rlimits], {}, file_actions=actions, setsid=True)
    wire = Wire(ours)
    if wire.hello(b"", 10) is None:
        wire.close()
        _wait_for(pid)
        raise InfraFault(f"init did not start: {binary}; run `steelyard doctor`")
    return pid, wire


def _wait_for(pid: int) -> None:
    pidfd = os.pidfd_open(pid)
    try:
        ended = select.poll()
        ended.register(pidfd, select.POLLIN)
        if not ended.poll(int(DEATH_S * 1000)):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        os.waitpid(pid, 0)
    finally:
        os.close(pidfd)


class LocalBackend:
    """No isolation: for trusted agents only."""

    def facts(self, spec: SandboxSpec) -> Facts:  # noqa: ARG002  # the protocol's; nothing here depends on the spec
        limits = {"cpu": "none", "memory": "polled", "disk": "none", "processes": "none"}
        return Facts("local", "none", "copy", "", "host", os.geteuid(), limits)  # type: ignore[arg-type]

    def start(self, spec: SandboxSpec) -> LocalSandbox:
        if spec.extra_mounts:
            raise InfraFault(
                f"the local sandbox has no {spec.extra_mounts[0].path}; use `--sandbox bubblewrap`"
            )
        moved = next((one for one in spec.folders if str(one.source) != one.path), None)
        if moved is not None:
            raise InfraFault(
                f"the local sandbox has no mounts, so no {moved.path}; use `--sandbox bubblewrap`"
            )
        cache = Cache.default()
        cache.sweep()
        folder = cache.root / "tmp" / f"{owner_tag()}-{secrets.token_hex(8)}"
        return LocalSandbox(spec, self.facts(spec), folder)
