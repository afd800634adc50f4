"""A line of shell or a Python program, run by an agent in a small real sandbox -> what came of it.

A module that imports `each_sandbox` is run in a bubblewrap sandbox and in a container; `bubblewrap_only` marks what
is otherwise in a container, and docs/containers.md says how.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import pytest
from containers import container_engine, in_image

from steelyard.filesystem.owner import run_uid
from steelyard.sandboxes.base import (
    AllowedHost,
    Command,
    CommandResult,
    Connection,
    ExitStats,
    Facts,
    Limits,
    Sandbox,
    SandboxSpec,
)
from steelyard.sandboxes.bubblewrap.sandbox import BubblewrapSandbox
from steelyard.sandboxes.catalogue import backend
from steelyard.sandboxes.docker.sandbox import DockerSandbox
from steelyard.sandboxes.init.attempts import Attempt

_kind = ["bubblewrap"]


@pytest.fixture(params=["bubblewrap", "docker"], autouse=True)
def each_sandbox(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Import this into a module, and its stages are of one kind and then of the other."""
    if request.param == "docker":
        container_engine()
    monkeypatch.setattr("sandbox_stage._kind", [request.param])
    return str(request.param)


bubblewrap_only = pytest.mark.parametrize("each_sandbox", ["bubblewrap"], indirect=True)


SMALL = Limits(cpu=1, memory_mb=128, guaranteed_mb=64, disk_mb=16, tmp_mb=4, processes=48)


@dataclass
class Stage:
    """One sandbox around a throw-away workspace with one file, `readme`."""

    limits: Limits = SMALL
    toolchains: tuple[Path, ...] = ()
    kind: str = ""
    is_agents: bool = True  # whose system calls are watched; a bench is not
    allowed_hosts: tuple[AllowedHost, ...] = ()
    told: list[Connection] = field(default_factory=list)  # of what went through them
    attempts: list[Attempt] = field(
        default_factory=list
    )  # refused system calls: an agent's sandbox is watched
    sandbox: Sandbox = field(init=False)

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory()
        readme = Path(self._folder.name, "readme")
        readme.write_text("hello\n")
        if os.geteuid() == 0:
            for path in (readme.parent, readme):
                os.chown(path, run_uid(), run_uid())
        sandbox_spec = SandboxSpec(
            layers=(Path(self._folder.name),),
            limits=self.limits,
            toolchains=self.toolchains,
            allowed_hosts=self.allowed_hosts,
            on_connection=self.told.append,
            on_attempt=self.attempts.append if self.is_agents else None,
        )
        kind = self.kind or _kind[0]
        self.sandbox = backend(kind).start(in_image(sandbox_spec) if kind == "docker" else sandbox_spec)
        return self

    def __exit__(self, *exc: object) -> None:
        self.sandbox.close()
        self._folder.cleanup()

    @property
    def facts(self) -> Facts:
        return self.sandbox.facts

    @property
    def process_1(self) -> int:
        """Its number on the host."""
        if isinstance(self.sandbox, DockerSandbox):
            return int(self.sandbox._container.details()["State"]["Pid"])
        assert isinstance(self.sandbox, BubblewrapSandbox)
        return self.sandbox._init.pid

    def sh(self, line: str, timeout_s: float = 60) -> CommandResult:
        return self.sandbox.run(Command(("/bin/sh", "-c", line), timeout_s=timeout_s))

    def python(self, code: str, timeout_s: float = 60) -> CommandResult:
        return self.sandbox.run(Command(("/usr/bin/python3", "-I", "-c", code), timeout_s=timeout_s))

    def stop(self) -> ExitStats:
        return self.sandbox.stop()


def result(done: CommandResult) -> str:
    """Everything it printed, and how it ended, in one line for an assertion."""
    return f"{done.stdout.text}{done.stderr.text}[{done.exit_code}]"


def is_running(pid: int) -> bool:
    """Not dead, and not waiting for a parent to hear of it either."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
