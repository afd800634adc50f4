"""What this machine refuses is one line and exit 3; it costs the trial that needed it, and no other."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from authoring import Author, Steelyard
from steelyard.agents.base import Delivery
from steelyard.agents.catalogue import BUILT_IN
from steelyard.agents.data import Reference
from steelyard.contract.load import load_contract
from steelyard.environment.prepare import Environment
from steelyard.errors import InfraFault
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.folder.folder import find_runs
from steelyard.filesystem.disk_reserve import FILE_BYTES, FILES, Reserves
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.trial import Trial
from steelyard.study.engine import Engine

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk of its own")


def shell(line: str, cache: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """A line of shell in which "$@" is the command to run."""
    command = [sys.executable, "-m", "steelyard", *map(str, words)]
    return subprocess.run(
        ["sh", "-c", line, "sh", *command],
        env={**os.environ, "STEELYARD_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )


def on_small_disk(options: str, folder: Path) -> str:
    folder.mkdir()
    return f'exec unshare -m sh -c \'mount -t tmpfs -o {options} none {folder} && exec "$@"\' sh "$@"'


@as_root
@pytest.mark.parametrize(
    "options", ["size=300k", "nr_inodes=5", "nr_inodes=12", "nr_inodes=18", "size=1m,ro"]
)
def test_a_disk_that_takes_no_run_is_one_line_and_exit_3(
    options: str, author: Author, cache: Path, tmp_path: Path
) -> None:
    done = shell(
        on_small_disk(options, tmp_path / "disk"),
        cache,
        *("run", author.write(), "--agent", "reference", "--out", tmp_path / "disk/runs"),
    )
    assert done.returncode == 3
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "No space left" in done.stderr or "Read-only" in done.stderr


@as_root
@pytest.mark.parametrize("options", ["size=8k", "nr_inodes=4", "size=1m,ro"])
def test_a_disk_that_takes_no_cache_is_one_line_and_exit_3(
    options: str, author: Author, tmp_path: Path
) -> None:
    done = shell(
        on_small_disk(options, tmp_path / "disk"),
        tmp_path / "disk/cache",
        *("run", author.write(), "--agent", "reference", "--out", tmp_path / "runs"),
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (3, 1), done.stderr
    assert "set STEELYARD_CACHE" in done.stderr


def test_too_few_open_files_are_named(author: Author, cache: Path, tmp_path: Path) -> None:
    done = shell(
        'ulimit -n 64; exec "$@"',
        cache,
        *("run", author.write(), "--agent", "noop", "--out", tmp_path / "runs"),
    )
    assert done.returncode == 3
    assert "only 64 files may be open at once" in done.stderr
    assert "no message" not in done.stderr


def test_a_cache_that_vanishes_during_a_run_costs_that_run_and_is_made_again(
    author: Author, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, runs = tmp_path / "own", tmp_path / "runs"
    monkeypatch.setenv("STEELYARD_CACHE", str(own))
    contract = load_contract(author.write(), installed_catalogue())

    class Vanishing(Reference):
        def deliver(self, environment: Environment, blobs: Blobs) -> Delivery:
            delivered = super().deliver(environment, blobs)
            if not any(run.state == "sealed" for run in find_runs(runs)):
                shutil.rmtree(own)
            return delivered

    monkeypatch.setitem(BUILT_IN, "vanishing", lambda _: Vanishing())
    (result,) = Engine(runs).run([Trial(contract, "vanishing")])
    assert [record.verdict.status for record in result.records] == ["invalid", "scorable"]
    assert result.record.verdict.verdict == "pass"


def test_a_contract_that_this_machine_cannot_run_stops_no_other(author: Author, steelyard: Steelyard) -> None:
    good = author.write().rename(author.folder.parent / "good")
    author.folder.mkdir()
    bad = author.write(environment={"toolchains": {"python": "1.0"}}, id="bad")
    printed = steelyard("run", good, bad, "--agent", "reference", "--json")
    assert printed.code == 3
    assert {line["contract"]["id"]: (line["verdict"], line["fault"]) for line in printed.lines} == {
        "sum": ("pass", None),
        "bad": ("invalid", "infrastructure"),
    }
    assert printed.err.startswith(
        "steelyard: 1 of 2 trials could not be run: python 1.0 is not on this machine"
    )


def test_a_run_whose_grading_cannot_be_written_is_not_left_sealed(
    author: Author, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something is in the way of the gradings; the other trial goes on."""
    monkeypatch.setenv("STEELYARD_CACHE", str(cache))
    contract, runs = load_contract(author.write(), installed_catalogue()), tmp_path / "runs"

    class Blocking(Reference):
        def deliver(self, environment: Environment, blobs: Blobs) -> Delivery:
            (run,) = find_runs(runs)
            run.file("gradings").rmdir()
            run.file("gradings").write_text("in the way")
            return super().deliver(environment, blobs)

    monkeypatch.setitem(BUILT_IN, "blocking", lambda _: Blocking())
    blocked, other = Engine(runs).run([Trial(contract, "blocking"), Trial(contract, "reference")])
    assert isinstance(blocked.fault, InfraFault)
    assert other.record.verdict.verdict == "pass"
    assert sorted(run.state for run in find_runs(runs)) == ["incomplete", "sealed"]


def test_room_that_was_kept_is_given_up_for_what_must_be_written(tmp_path: Path) -> None:
    tries: list[int] = []

    def write() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise OSError(28, "No space left on device")
        return "written"

    with Reserves(tmp_path / "runs").one() as reserve:
        assert reserve.use(write) == "written"
    assert list((tmp_path / "runs").iterdir()) == []


@as_root
def test_a_grading_is_written_on_a_disk_that_filled_up_during_the_run(
    author: Author, cache: Path, tmp_path: Path
) -> None:
    """The disk has exactly the room that is kept, and what the run itself writes; somebody else takes the rest."""
    room = FILES * FILE_BYTES // 1024 + 400
    disk = tmp_path / "disk"
    line = on_small_disk(f"size={room}k", disk)
    fill = f"sh -c 'head -c 9000000 /dev/zero > {disk}/others 2>/dev/null; true'"
    agent = tmp_path / "filling.py"
    agent.write_text(FILLING.format(disk=disk))
    done = subprocess.run(
        ["sh", "-c", line, "sh", sys.executable, str(agent), str(author.write()), str(disk / "runs"), fill],
        env={**os.environ, "STEELYARD_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1:] == ["pass sealed 1"], done.stdout + done.stderr


FILLING = """
import subprocess, sys
from pathlib import Path
from steelyard.contract.load import load_contract
from steelyard.evidence.folder import seal
from steelyard.evidence.folder.folder import find_runs
from steelyard.evidence.folder.gradings import grading_files
from steelyard.execution import run_trial
from steelyard.graders.catalogue import installed_catalogue
from steelyard.plan.trial import Trial
from steelyard.study.engine import Engine

contract, runs = load_contract(Path(sys.argv[1]), installed_catalogue()), Path(sys.argv[2])
sealed = run_trial.seal

def seal_and_fill(*given):
    done = sealed(*given)
    subprocess.run(sys.argv[3], shell=True)
    return done

run_trial.seal = seal_and_fill
(result,) = Engine(runs).run([Trial(contract, "reference")])
(run,) = find_runs(runs)
print(result.record.verdict.verdict, run.state, len(grading_files(run)))
"""


def test_a_contract_whose_setup_fails_stops_no_other(author: Author, steelyard: Steelyard) -> None:
    good = author.write().rename(author.folder.parent / "good")
    author.folder.mkdir()
    bad = author.write(setup=["echo no such index >&2; exit 7"], id="bad")
    printed = steelyard("run", bad, good, "--agent", "reference", "--agent", "noop", "--json")
    assert printed.code == 2
    rows = {
        (line["contract"]["id"], line["agent"]): (line["fault"], line["verdict"]) for line in printed.lines
    }
    assert rows == {
        ("bad", "reference"): ("contract", "invalid"),
        ("bad", "noop"): ("contract", "invalid"),
        ("sum", "reference"): (None, "pass"),
        ("sum", "noop"): (None, "fail"),
    }
    assert printed.err.count("2 of 4 trials could not be run: ") == 1
    assert "no such index" in printed.err


def test_the_table_has_a_row_for_a_trial_that_could_not_be_run(author: Author, steelyard: Steelyard) -> None:
    printed = steelyard("run", author.write(setup=["exit 7"]), "--agent", "noop")
    assert printed.code == 2
    assert "invalid" in printed.out
    assert "contract fault: " in printed.out
