"""Kill `steelyard run` with SIGKILL at random moments -> nothing is left, no sealed run is lost, none is graded twice.

    python scripts/soak.py [KILLS] [SEED] [STUDY_KILLS]

Each round starts a command of several trials in a session of its own, and after a random time kills one of: the command, its
launcher, or its whole process group. At the end a last command runs to its end, since what a killed one left is removed by the
next start; then there is no process, mount, control group, container or temporary folder of any of them.

The second part kills `steelyard study run` in the same way and continues the study each time, until it is complete: each planned
trial then has one result, and no trial has two.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from steelyard.errors import InfraFault
from steelyard.evidence.folder.folder import find_runs
from steelyard.evidence.folder.gradings import grading_files
from steelyard.evidence.folder.seal import check_seal
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.owner import is_stale
from steelyard.sandboxes.bubblewrap import orphans
from steelyard.sandboxes.docker.api import engine
from steelyard.sandboxes.docker.backend import sweep
from steelyard.sandboxes.limits import cgroups
from steelyard.sandboxes.limits.watch_usage import descendants

PREY = ("command", "launcher", "group")
CONTRACT = """
id: soak
brief: Write f.
repository: {tree: repo}
setup: ["echo 1 > made"]
environment: {memory_mb: {guaranteed: 64, limit: 256}, disk_mb: 2100, processes: 64}
build: none
oracle: {checks: [{id: made, cmd: "cat made"}]}
budget: {wall_s: 60}
"""
AGENT = "command:i=0; while [ $i -lt 20 ]; do echo $i > f$i; sleep 0.01; i=$((i+1)); done"


class Soak:
    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._draw = random.Random(seed)  # noqa: S311  # moments, not secrets
        self._runs = folder / "runs"
        self._sealed: set[str] = set()
        self._takes_s = 0.0
        self.killed: Counter[str] = Counter()
        (folder / "contract/repo").mkdir(parents=True)
        (folder / "contract/repo/readme").write_text("hello\n")
        (folder / "contract/contract.yaml").write_text(CONTRACT)

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        words = ["run", str(self._folder / "contract"), "--agent", "noop", "--out", str(self._runs), *more]
        return subprocess.Popen(
            [sys.executable, "-m", "steelyard", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def measure(self) -> None:
        """How long a command takes here that nobody kills: the second one, which finds everything in the cache."""
        for _ in range(2):
            begun = time.monotonic()
            assert self._start_trials().wait() in {0, 1}, "the command does not run"
            self._takes_s = time.monotonic() - begun
        self.check_records()

    def _start_trials(self) -> subprocess.Popen[bytes]:
        return self.start("--agent", AGENT, "--jobs", "2")

    def kill_once(self) -> None:
        """One round; a command that ends before its moment comes is started again."""
        kind = PREY[sum(self.killed.values()) % len(PREY)]
        while True:
            process = self._start_trials()
            while kind == "launcher" and process.poll() is None and not _launchers(process.pid):
                time.sleep(0.01)
            time.sleep(self._draw.uniform(0.0, self._takes_s / (2 if kind == "launcher" else 1)))
            family = descendants(process.pid)
            if process.poll() is None and self._kill(kind, process):
                break
            process.wait()
            self._takes_s *= 0.8  # the machine is less busy than it was
        process.wait()
        _await_death(family)
        self.killed[kind] += 1
        self.check_records()

    def _kill(self, kind: str, process: subprocess.Popen[bytes]) -> bool:
        with suppress(ProcessLookupError):
            if kind == "command":
                process.kill()
            elif kind == "group":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                found = _launchers(process.pid)
                if not found:
                    return False
                os.kill(found[0], signal.SIGKILL)
            return True
        return False

    def check_records(self) -> None:
        """Every run that was sealed once is there, whole, and graded at most once."""
        runs = {run.run_id: run for run in find_runs(self._runs)}
        sealed = {name for name, run in runs.items() if run.state == "sealed"}
        lost = self._sealed - sealed
        assert not lost, f"sealed runs are lost: {sorted(lost)}"
        for name in sealed - self._sealed:
            breaks = check_seal(runs[name])
            assert not breaks, f"{name}: {breaks[0]}"
        for name in sealed:
            assert len(grading_files(runs[name])) <= 1, f"{name} is graded twice"
        self._sealed = sealed

    def told(self) -> str:
        runs = find_runs(self._runs)
        ungraded = sum(run.state == "sealed" and not grading_files(run) for run in runs)
        return (
            f"{len(runs)} runs, {len(self._sealed)} sealed, {ungraded} of those killed before their grading"
        )


class StudySoak(Soak):
    """Studies that are killed and continued; when one is complete, it is checked and the next one begins."""

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        self.complete = 0
        self._number = 0
        self._plan()

    @property
    def _study(self) -> Path:
        return self._folder / f"study{self._number}.yaml"

    def _plan(self) -> None:
        self._number += 1
        words = ["plan", str(self._folder / "contract"), "--agent", f"mine={AGENT}", "--repeats", "4"]
        done = self._steelyard(*words, "--out", str(self._study))
        assert done.returncode == 0, done.stderr

    def _steelyard(self, *words: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-m", "steelyard", *words]
        return subprocess.run(line, capture_output=True, text=True, check=False)

    def _start_trials(self) -> subprocess.Popen[bytes]:
        if self._is_complete():
            self.complete += 1
            self._plan()
        line = [
            sys.executable,
            "-m",
            "steelyard",
            "study",
            "run",
            str(self._study),
            "--runs",
            str(self._runs),
            "--jobs",
            "2",
        ]
        return subprocess.Popen(
            line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )

    def _is_complete(self) -> bool:
        """By the command's own account, and by counting results in the folders."""
        done = self._steelyard("study", "status", str(self._study), "--runs", str(self._runs), "--json")
        state = json.loads(done.stdout)
        results = self._results(state["digest"])
        assert set(results.values()) <= {1}, f"trials with two results: {results}"
        assert len(results) == state["trials"]["finished"], state
        assert state["spent_usd"] == 0.0, state
        return bool(state["state"] == "complete")

    def _results(self, digest: str) -> Counter[str]:
        """Trial -> how many of its runs were graded and not ended by the machine or the operator."""
        found: Counter[str] = Counter()
        for run in find_runs(self._runs):
            if run.file("report.json").exists() and run.state == "sealed":
                manifest, report = run.read_json("manifest.json"), run.read_json("report.json")
                is_of = (manifest["study"] or {}).get("digest") == digest
                if is_of and report["termination"]["code"] not in {"operator", "infrastructure"}:
                    found[manifest["trial"]["id"]] += 1
        return found

    def finish(self) -> None:
        """The last study to its end, without a kill."""
        if not self._is_complete():
            self._start_trials().wait()
            assert self._is_complete(), "the last study cannot be completed"
        self.complete += 1


def left_behind(mounted: list[str]) -> list[str]:
    """What is there of anybody who is gone."""
    found = [f"mount: {line}" for line in _mounts() if line not in mounted]
    found += [f"folder: {path}" for path in Cache.default().root.glob("tmp/*")]
    for parent in set(cgroups.host().parents.values()):
        found += [
            f"control group: {group}"
            for group in parent.glob(f"{cgroups.PREFIX}*")
            if is_stale(group.name.removeprefix(cgroups.PREFIX))
        ]
    found += [f"process: {pid}" for pid in orphans.end_marked(is_stale)]
    return found + [f"container: {ident}" for ident in _containers()]


def _containers() -> list[str]:
    try:
        return sweep(engine())
    except InfraFault:
        return []


def _mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


def _launchers(pid: int) -> list[int]:
    return [
        one for one in descendants(pid) if b"steelyard.sandboxes.bubblewrap.launcher" in _command_line(one)
    ]


def _command_line(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _await_death(pids: list[int]) -> None:
    deadline = time.monotonic() + 60
    for pid in pids:
        while _is_running(pid):
            assert time.monotonic() < deadline, f"{pid} is still alive: {_command_line(pid)!r}"
            time.sleep(0.01)


def _is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    return False


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(kills: int, seed: int, study_kills: int) -> int:
    mounted = _mounts()
    with tempfile.TemporaryDirectory(prefix="steelyard-soak-") as name:
        Path(name).chmod(0o755)
        os.environ["STEELYARD_CACHE"] = f"{name}/cache"
        told = {}
        if kills:
            soak = Soak(Path(name) / "run", seed)
            _kill_often(soak, kills)
            told["run"] = {"kills": dict(soak.killed), "records": soak.told()}
        if study_kills:
            studies = StudySoak(Path(name) / "study", seed)
            _kill_often(studies, study_kills)
            studies.finish()
            records = f"{studies.told()}, {studies.complete} studies complete"
            told["study"] = {"kills": dict(studies.killed), "records": records}
        assert Soak(Path(name) / "last", seed).start().wait() in {0, 1}, (
            "a command after all of it does not run"
        )
        left = left_behind(mounted)
        _say(json.dumps({**told, "left": left}, indent=2))
        return 1 if left else 0


def _kill_often(soak: Soak, kills: int) -> None:
    soak.measure()
    for number in range(1, kills + 1):
        soak.kill_once()
        if number % 10 == 0:
            _say(f"{number} kills; {soak.told()}")
    soak.check_records()


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(given + [100, 20260307, 50][len(given) :])))
