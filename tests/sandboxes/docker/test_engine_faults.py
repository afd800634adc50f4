"""An engine that dies or has no room under a run: the machine's fault, reported as that, and nothing of it the agent's.

On an engine of the tests' own; they are skipped where none can be started.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from own_engine import PATIENCE_S, OwnEngine, dockerd, eventually, own_engine

from authoring import FIX, PATIENT, Author, CliResult, Steelyard
from steelyard.sandboxes.base import Command, Limits, SandboxSpec
from steelyard.sandboxes.docker.backend import DockerBackend

SMALL = {"memory_mb": {"guaranteed": 64, "limit": 256}, "disk_mb": 8, "processes": 64, "sandbox": "docker"}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnEngine]:
    folder = tmp_path_factory.mktemp("e")  # a socket's name may not be long
    with own_engine(folder, dockerd(folder)) as made:
        yield made


@pytest.fixture(scope="module")
def image(own: OwnEngine) -> str:
    return own.image()


@dataclass(frozen=True)
class Operator:
    """Who runs contracts on that engine, and may do something else meanwhile."""

    own: OwnEngine
    image: str
    author: Author
    steelyard: Steelyard
    pool: ThreadPoolExecutor

    def contract(self, files: Mapping[str, str] | None = None, **keys: Any) -> Path:
        defaults = {"environment": {**SMALL, "image": self.image}, "budget": PATIENT}
        written: Path = self.author.write(files, **{**defaults, **keys})
        return written

    def run(self, contract: Path, agent: str) -> CliResult:
        return self.steelyard("run", contract, "--agent", f"command:{agent}", "--json", env=self.own.env)

    def begin(self, contract: Path, agent: str, until: str) -> Future[CliResult]:
        """A run in which that command has begun."""
        running = self.pool.submit(self.run, contract, agent)
        eventually(lambda: running.done() or self.own.runs(until))
        assert not running.done(), running.result()
        return running

    def begin_and_kill(self, contract: Path, agent: str, until: str) -> CliResult:
        """The engine dies under that command, and is back when the run has ended."""
        running = self.begin(contract, agent, until)
        self.own.kill()
        try:
            return running.result(PATIENCE_S)
        finally:
            self.own.start()

    def check_invalid(self, printed: CliResult) -> Path:
        """Ended by the machine, as often as it was tried, and kept; the folder of the first run."""
        assert printed.code == 3, printed
        for line in printed.lines:
            assert (line["verdict"], line["termination"]) == ("invalid", "infrastructure"), line
        folder = Path(printed.lines[0]["folder"])
        assert self.steelyard("verify", folder).code == 0
        return folder

    def check_cleaned(self) -> None:
        """What the dead left is found by its label, and goes."""
        left = {one["Id"][:12] for one in self.own.containers()}
        assert left
        printed = self.steelyard("doctor", "--clean", "--json", env=self.own.env)
        assert {*printed.line["cleaned"]["containers"]} == left
        assert self.own.containers() == []


@pytest.fixture
def operator(own: OwnEngine, image: str, author: Author, steelyard: Steelyard) -> Iterator[Operator]:
    with ThreadPoolExecutor(1) as pool:
        yield Operator(own, image, author, steelyard, pool)


def test_an_engine_that_dies_under_the_agent_makes_the_run_invalid(operator: Operator) -> None:
    """What the agent said so far is kept."""
    printed = operator.begin_and_kill(operator.contract(), "echo begun; sleep 47", until="sleep 47")
    folder = operator.check_invalid(printed)
    assert (folder / "agent/stdout.txt").read_text() == "begun\n"
    assert "no container engine answers" in (folder / "events.jsonl").read_text()
    operator.check_cleaned()


def test_an_engine_that_dies_under_a_check_makes_the_run_invalid(operator: Operator) -> None:
    """What the agent changed is kept."""
    oracle = {"checks": [{"id": "adds", "cmd": "sleep 48", "timeout_s": 60}]}
    printed = operator.begin_and_kill(operator.contract(oracle=oracle), FIX, until="sleep 48")
    folder = operator.check_invalid(printed)
    assert "+echo $(($1 + $2))" in (folder / "patch.diff").read_text()
    operator.check_cleaned()


@pytest.mark.parametrize("left_bytes", [0, 4 << 20], ids=["of the engine", "of a command"])
def test_an_engine_without_room_for_an_image_is_the_machines_fault(
    operator: Operator, left_bytes: int
) -> None:
    """A Dockerfile that would build elsewhere is not the contract's fault, whether the engine or the build runs out of disk."""
    files = {
        "image/Dockerfile": f"FROM {operator.image}\nRUN dd if=/dev/zero of=/large bs=1M count={9 + left_bytes}\n"
    }
    contract = operator.contract(files, environment={**SMALL, "build": "image"})
    with operator.own.full(leave_bytes=left_bytes):
        printed = operator.run(contract, "true")
    assert (printed.code, printed.line["fault"]) == (3, "infrastructure")
    assert "could not be built" in printed.err
    assert "free some disk" in printed.err


def test_an_engine_without_room_for_a_container_makes_the_run_invalid(operator: Operator) -> None:
    contract = operator.contract({"repo/large": "x" * (4 << 20)})
    with operator.own.full():
        printed = operator.run(contract, "true")
    folder = operator.check_invalid(printed)
    assert "no space left on device; free some disk" in (folder / "events.jsonl").read_text()


def test_an_engine_that_runs_out_of_room_under_the_agent_makes_the_run_invalid(operator: Operator) -> None:
    """It wrote less than it may, and could not: it has not failed."""
    agent = "while echo 1 > x; do sleep 0.49; done; exit 1"
    running = operator.begin(operator.contract(), agent, until="sleep 0.49")
    with operator.own.full():
        printed = running.result(PATIENCE_S)
    folder = operator.check_invalid(printed)
    assert "the disk of the container engine is full; free some" in (folder / "events.jsonl").read_text()


def test_an_agent_that_fills_its_own_disk_has_itself_to_blame(operator: Operator) -> None:
    agent = "for i in 1 2 3 4 5; do dd if=/dev/zero of=f$i bs=1M count=7; done; sleep 20; exit 1"
    printed = operator.run(operator.contract(), agent)
    assert (printed.code, printed.line["termination"]) == (1, "disk"), printed
    assert operator.own.containers() == []


def test_an_agent_that_fills_the_engines_disk_with_tiny_files_has_itself_to_blame(
    own: OwnEngine, image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their contents are small, and what they take of the disk is not: no way to have one's run called invalid."""
    monkeypatch.setenv("DOCKER_HOST", own.env["DOCKER_HOST"])
    line = "mkdir d; cd d; i=0; while echo 1 > $i; do i=$((i+1)); done"
    limits = Limits(memory_mb=256, guaranteed_mb=64, disk_mb=8, tmp_mb=4)
    spec = SandboxSpec(layers=(tmp_path,), image=image, limits=limits)
    with DockerBackend().start(spec) as sandbox, own.full(leave_bytes=12 << 20):
        sandbox.run(Command(("sh", "-c", line), timeout_s=PATIENCE_S))  # it ends where the disk is full
        assert sandbox.stop().disk_full
