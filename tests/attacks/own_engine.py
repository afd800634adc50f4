"""A container engine of a test's own, to be killed and starved while everybody else's lives on.

data/          a tmpfs of a fixed size: all that the engine keeps
exec/          what it holds while it runs
docker.sock    where it answers
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from containers import needed_libraries

from steelyard.errors import InfraFault
from steelyard.sandboxes.docker.api import Engine

PATIENCE_S = 300.0  # a limit for what fails; a busy machine is no failure
DATA_MB = 192
PROGRAMS = ("sh", "bash", "cat", "chmod", "dd", "echo", "mkdir", "rm", "sleep", "true")


def dockerd(folder: Path) -> list[str]:
    places = [f"--data-root={folder}/data", f"--exec-root={folder}/exec", f"--pidfile={folder}/pid"]
    offline = ["--bridge=none", "--iptables=false", "--ip6tables=false"]
    return ["dockerd", *places, *offline, f"--host=unix://{folder}/docker.sock"]


def podman(folder: Path) -> list[str]:
    places = [f"--root={folder}/data/root", f"--runroot={folder}/run"]
    runtime = ["--runtime=runc"] if shutil.which("runc") else []
    return ["podman", *places, *runtime, "system", "service", "--time=0", f"unix://{folder}/docker.sock"]


class OwnEngine:
    """One daemon; `start` after `kill` finds everything that it had."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self.folder = folder
        self.command = command
        self.data = folder / "data"
        self.engine = Engine(str(folder / "docker.sock"))
        self.env = {"DOCKER_HOST": f"unix://{folder}/docker.sock"}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        (self.folder / "pid").unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self.command, stdout=log, stderr=log)
        eventually(self._answers)

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            last = (self.folder / "log").read_text(errors="replace").splitlines()[-1:]
            pytest.skip(f"{self.command[0]} does not start here: {last}")
        with suppress(InfraFault):
            return self.engine.call("GET", "/version", timeout_s=5) is not None
        return False

    def kill(self) -> None:
        """Without a word to anybody, as the machine would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(PATIENCE_S)

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(PATIENCE_S)

    def containers(self) -> list[dict[str, Any]]:
        return list(self.engine.call("GET", "/containers/json", None, {"all": 1}) or [])

    def runs(self, command: str) -> bool:
        """Whether a process with exactly that command line is in one of the containers."""
        with suppress(InfraFault):  # one that is only being made, or ends just now
            for one in self.containers():
                shown = self.engine.call("GET", f"/containers/{one['Id']}/top")
                if any(row[-1] == command for row in (shown or {}).get("Processes") or ()):
                    return True
        return False

    @contextmanager
    def full(self, *, leave_bytes: int = 0) -> Iterator[None]:
        """No byte more than that left where the engine keeps everything."""
        filling = self.data / "filling"
        found = os.statvfs(self.data)
        try:
            with filling.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, found.f_bavail * found.f_frsize - leave_bytes)
            yield
        finally:
            filling.unlink()

    def image(self) -> str:
        """A shell and what it needs, small enough for a small disk; its id."""
        with tempfile.TemporaryFile() as image:
            with tarfile.open(fileobj=image, mode="w", format=tarfile.GNU_FORMAT) as tar:
                programs = {f"/bin/{name}": os.path.realpath(f"/bin/{name}") for name in PROGRAMS}
                needed = {name: os.path.realpath(name) for name in needed_libraries([*programs.values()])}
                for name in ("root", "srv"):
                    folder = tarfile.TarInfo(name)
                    folder.type, folder.mode = tarfile.DIRTYPE, 0o755
                    tar.addfile(folder)
                for name, path in {**programs, **needed}.items():
                    tar.add(path, name.lstrip("/"), recursive=False)
            with self.engine.opened("POST", "/images/create", image, {"fromSrc": "-"}) as answer:
                return str(json.loads(answer.read().splitlines()[-1])["status"])


def eventually(what: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while not what():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.05)


@contextmanager
def own_engine(folder: Path, command: list[str]) -> Iterator[OwnEngine]:
    """Skips the test where that daemon cannot be started."""
    if os.geteuid() != 0 or shutil.which(command[0]) is None:
        pytest.skip(f"only root with {command[0]} installed can start a container engine")
    made = OwnEngine(folder, command)
    made.data.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", f"size={DATA_MB}m", "tmpfs", str(made.data)]
    if subprocess.run(mounted, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system may be mounted here")
    try:
        made.start()
        yield made
    finally:
        made.end()
        subprocess.run(["umount", "--lazy", str(made.data)], capture_output=True, check=False)
