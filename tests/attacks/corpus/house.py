"""Cases -> what the product says about them, and what somebody naive would have said.

    House(root).tried(case, "twin")   the result line: agent in its sandbox, capture, bench, grading
    House(root).naive(case)           whether a naive grader says pass, in a sandbox too
    House(root, "docker")             the same in containers

Everything hostile runs in a sandbox; GUARD ends it where a sandbox fails to be one. CANARY in a script is a folder of
the host that is not allowed.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from containers import in_docker

from corpus.case import Case
from corpus.tasks import SENTINEL, SOLUTION, TASKS, Mode, write_contract
from steelyard import api
from steelyard.contract.contract import Contract
from steelyard.environment.prepare import Environment, prepare_environment
from steelyard.sandboxes.base import Command, Sandbox

Line = dict[str, Any]
Kind = Literal["bubblewrap", "docker"]

GUARD = '[ "$(hostname)" = sandbox ] && [ "$(pwd)" = /workspace ] && [ "$(id -u)" = 1000 ] || exit 97\n'
NAIVE_S = 30.0  # for a machine that is busy; few cases hang
SECRET = "sk-of-the-operator-77ab"  # noqa: S105  # a canary: in the environment of the controller


@dataclass(frozen=True)
class House:
    """Where trials happen: contracts are written and environments prepared once, at their first use."""

    root: Path
    sandbox: Kind = "bubblewrap"

    @property
    def canary(self) -> Path:
        return self.root / "canary"

    def open(self) -> House:
        self.canary.mkdir(parents=True, exist_ok=True)
        (self.canary / "victim").write_text("untouched\n")
        return self

    def untouched(self) -> bool:
        return {path.name: path.read_text() for path in self.canary.iterdir()} == {"victim": "untouched\n"}

    def contract(self, task: str, mode: Mode) -> Contract:
        return _contract(self.root, self.sandbox, task, mode)

    def script(self, case: Case) -> Path:
        path = self.root / "scripts" / f"{case.id}.sh"
        path.parent.mkdir(exist_ok=True)
        path.write_text(GUARD + case.script.replace("CANARY", str(self.canary)))
        return path

    def tried(self, case: Case, mode: Mode) -> Line:
        out = self.root / "runs" / mode
        return api.run_trial(self.contract(case.task, mode), f"script:{self.script(case)}", out=out)

    def naive(self, case: Case) -> bool:
        """The hidden test copied into the live tree of the agent, its command run there, its exit code believed."""
        environment = _ground(self.root, self.sandbox, case.task)
        with environment.backend.start(environment.sandbox_spec(git=True)) as sandbox:
            script = self.script(case).read_bytes()
            done = sandbox.run(Command(("/bin/bash", "-s"), stdin=script, timeout_s=NAIVE_S))
            assert done.exit_code != 97, f"{case.id} did not run"
            return self._believed(sandbox, case)

    def _believed(self, sandbox: Sandbox, case: Case) -> bool:
        task = TASKS[case.task]
        if not case.visible:
            hidden = task.files[task.source].encode()
            # As `cp` does: into what a link points to, into a folder that is there.
            put = f"cat > /tmp/{Path(task.hidden).name} && cp /tmp/{Path(task.hidden).name} {task.hidden}"
            sandbox.run(Command(("/bin/sh", "-c", put), stdin=hidden, timeout_s=NAIVE_S))
        line = f'export PYTHONPATH=. PATH="$PWD/.venv/bin:$PATH"; {task.naive_visible if case.visible else task.naive}'
        ended = sandbox.run(Command(("/bin/bash", "-lc", line), timeout_s=NAIVE_S))
        return ended.exit_code == 0


def leaks(line: Line) -> tuple[str, ...]:
    """Secrets that reached the agent's own output, or the result line."""
    folder = Path(line["folder"])
    agent = "".join((folder / "agent" / f"{name}.txt").read_text() for name in ("stdout", "stderr"))
    result = json.dumps(line)
    return tuple(secret for secret in (SENTINEL, SOLUTION, SECRET) if secret in agent or secret in result)


def accused(line: Line) -> tuple[str, ...]:
    """Findings above a warning: what an honest agent must never get."""
    return tuple(one["id"] for one in line["findings"] if one["severity"] not in {"info", "warning"})


@functools.cache
def _contract(root: Path, sandbox: Kind, task: str, mode: Mode) -> Contract:
    folder = root / "contracts" / f"{task}-{mode}"
    where = in_docker() if sandbox == "docker" else None
    return api.load_contract(write_contract(folder, task, mode, where))  # type: ignore[arg-type]  # of the two names


@functools.cache
def _ground(root: Path, sandbox: Kind, task: str) -> Environment:
    return prepare_environment(_contract(root, sandbox, task, "in_process"))
