"""Kill studies with SIGKILL at random moments -> nothing is left, no result is lost, none is doubled, budgets are exact.

    python scripts/soak.py [KILLS] [SEED]

Each study has an agent that writes files, one that reads the stream of a scripted model through the gateway, and noop. A round kills
one of these, in turn:

    launcher, sandbox, agent    processes of a trial; the study goes on, and the machine or the agent has ended the run
    controller, group           the process that runs the study, or it with all its processes; `study run` continues it
    gateway                     the controller, which the gateway is a thread of, while a model is answering

A study that is complete, or that has spent its budget, is checked against what the model billed, and the next one begins. At
the end there is no process, mount, control group or temporary file of any of them. The commands run in forked children of
this process, which has loaded the modules once.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a process that forks has one thread

import gc
import json
import random
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import steelyard.study.engine
import steelyard.study.protocol.run_study
from steelyard.cli.main import main as run_command
from steelyard.cli.running.study import OpenStudy
from steelyard.evidence.evidence import read_evidence
from steelyard.evidence.folder.folder import RunFolder, find_runs
from steelyard.evidence.folder.gradings import grading_files, read_gradings
from steelyard.evidence.folder.seal import check_seal
from steelyard.filesystem.cache import Cache
from steelyard.gateway.scripted import ScriptedModel, environment, serving
from steelyard.gateway.server import GatewayServer
from steelyard.report.stored.open_store import open_store
from steelyard.sandboxes.bubblewrap import orphans
from steelyard.sandboxes.limits import cgroups
from steelyard.sandboxes.limits.watch_usage import descendants
from steelyard.study.verify_record import derived_report

LOADED = (steelyard.study.engine, steelyard.study.protocol.run_study, OpenStudy, GatewayServer, open_store)
KINDS = ("launcher", "controller", "sandbox", "gateway", "agent", "group")
FATAL = frozenset({"controller", "gateway", "group"})
PATIENCE_S = 120.0
TEMPORARY = "temporary"
REPEATS, B_TOTAL, CAP, CALL_USD = 4, 1.0, 0.05, 0.0105
NOT_FINAL = frozenset({"operator", "infrastructure"})
CONTRACT = f"""
id: soak
brief: Write f.
repository: {{tree: repo}}
setup: ["echo 1 > made"]
environment: {{memory_mb: {{guaranteed: 64, limit: 256}}, disk_mb: 2100, processes: 64}}
build: none
oracle: {{checks: [{{id: made, cmd: "cat made"}}]}}
budget: {{wall_s: 60, cost_usd: {CAP}}}
"""
WRITER = "mine=command:i=0; while [ $i -lt 12 ]; do echo $i > f$i; sleep 0.01; i=$((i+1)); done"
READER = """import os, socket
host, port = os.environ["ANTHROPIC_BASE_URL"].split("//")[1].split("/")[0].split(":")
body = b'{"model":"m","max_tokens":50,"stream":true,"messages":[{"role":"user","content":"go"}]}'
head = f"POST /v1/messages HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\nx-api-key: {os.environ['ANTHROPIC_API_KEY']}\\r\\n"
head += f"anthropic-version: 2023-06-01\\r\\ncontent-type: application/json\\r\\ncontent-length: {len(body)}\\r\\n\\r\\n"
link = socket.create_connection((host, int(port)))
link.sendall(head.encode() + body)
with open("answer", "wb") as answer:
    while part := link.recv(65536):
        answer.write(part)
"""
PRICES = "action_type,unit,unit_price\nllm_request,token,0.00001\n"
REPLY = {
    "turns": [{"text": "word " * 40, "chunk_delay_s": 0.03}],
    "usage": {"tokens_in": 1000, "tokens_out": 50},
}


class Command:
    """A steelyard command in a forked child, in a session of its own."""

    def __init__(self, words: list[str], log: Path) -> None:
        sys.stdout.flush()
        self.code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _run_child(words, log)

    def poll(self) -> int | None:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code

    def wait(self) -> int:
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.code


def _run_child(words: list[str], log: Path) -> None:
    code = 70
    try:
        os.setsid()
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for stream in (1, 2):
            os.dup2(out, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        code = run_command(words)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 70
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


class Soak:
    """Studies one after the other; `killed` has how many kills of each kind there were."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._draw = random.Random(seed)  # noqa: S311  # moments, not secrets
        self.killed: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.pids: list[int] = []
        self._number = 0
        self._run_s = 0.5  # about how long a run takes on this machine
        self._command: Command | None = None
        self._sealed: set[str] = set()
        self._ledger = folder / "ledger.jsonl"
        self._billed = 0  # requests before this study
        _write_material(folder)
        self._next_study()

    @property
    def _study(self) -> Path:
        return self._folder / f"study{self._number}.yaml"

    @property
    def _runs(self) -> Path:
        return self._folder / f"runs{self._number}"

    def run(self, *words: str) -> str:
        """A command that is not killed, and what it prints."""
        log = self._folder / "command.log"
        command = Command(list(words), log)
        self.pids.append(command.pid)
        code = command.wait()
        assert code == 0, f"{words} ended with {code}: {log.read_text()[-2000:]}"
        return log.read_text()

    def _next_study(self) -> None:
        self._number += 1
        self._sealed = set()
        self._billed = self._requests()
        agents = ("--agent", WRITER, "--agent", f"model=command:python3 -IS {self._folder}/agent/reader.py")
        given = ("--agent-path", f"{self._folder}/agent", "--agent-provider", "anthropic")
        prices = ("--cost-model", f"{self._folder}/prices.csv", "--budget", str(B_TOTAL))
        loose = ("--invalid-tolerance", "1", "--flaky-tolerance", "1", "--stop-after-violations", "0")
        words = (
            "--no-judge",
            "--repeats",
            str(REPEATS),
            "--out",
            str(self._study),
            "--runs",
            str(self._runs),
        )
        self.run("plan", str(self._folder / "contract"), *agents, *given, *prices, *loose, *words)

    def _requests(self) -> int:
        return self._ledger.read_bytes().count(b"\n") if self._ledger.exists() else 0

    def kill_once(self) -> None:
        """One kill of the kind that is next; a study that ends before it is checked, and another one begins."""
        kind = KINDS[sum(self.killed.values()) % len(KINDS)]
        while True:
            command = self._running_study()
            family = descendants(command.pid)
            if self._kill(kind, command):
                break
            if command.wait() is not None:
                self._end_of_command()
        self.killed[kind] += 1
        if kind in FATAL:
            command.wait()
            self._command = None
            _await_death(family)
            self._check_records()

    def _kill(self, kind: str, command: Command) -> bool:
        """Whether the command lived until the moment of the kill."""
        prey = self._await_moment(kind, command)
        if command.poll() is not None or not prey:
            return False
        with suppress(ProcessLookupError):
            if kind == "group":
                os.killpg(command.pid, signal.SIGKILL)
            else:
                os.kill(self._draw.choice(prey), signal.SIGKILL)
            return True
        return False

    def _await_moment(self, kind: str, command: Command) -> list[int]:
        """Wait for a random moment: of this many runs, a request or a process, and then up to the time that a run takes."""
        prey = [command.pid] if kind in FATAL else []
        if kind == "gateway":
            before = self._requests()
            reached = _await(lambda: self._requests() > before or command.poll() is not None)
            time.sleep(self._draw.uniform(0.0, 0.3 * self._run_s))
        elif kind in FATAL:
            began, before, more = time.monotonic(), self._begun(), self._draw.randrange(4)
            reached = _await(lambda: self._begun() >= before + more or command.poll() is not None)
            if more > 1:
                self._run_s = 0.7 * self._run_s + 0.3 * (time.monotonic() - began) / more
            time.sleep(self._draw.uniform(0.0, self._run_s))
        else:
            time.sleep(self._draw.uniform(0.0, self._run_s))
            reached = _await(lambda: bool(_prey(kind, command.pid)) or command.poll() is not None)
            prey = _prey(kind, command.pid)
        assert reached, f"the study does not come to a moment to kill its {kind}"
        return prey

    def _begun(self) -> int:
        return len(find_runs(self._runs)) if self._runs.exists() else 0

    def _end_of_command(self) -> None:
        """The study has ended by itself: complete, or stopped by the budget or by faults of the machine that the kills are."""
        assert self._command is not None
        code, self._command = self._command.wait(), None
        log = (self._folder / "study.log").read_text()
        assert code in {0, 1, 3}, f"the study ended with {code}: {log[-3000:]}"
        self._check_records()
        state = json.loads(self.run("study", "status", str(self._study), "--runs", str(self._runs), "--json"))
        self._check_study(state)
        if state["state"] == "complete" or "B_total" in state["why"]:
            self.counts["complete" if state["state"] == "complete" else "out of budget"] += 1
            self.counts["results"] += state["trials"]["finished"]
            self.counts["runs"] += len(find_runs(self._runs))
            self.counts["sealed runs"] += len(self._sealed)
            self.run(
                "verify", *[str(run.path) for run in find_runs(self._runs) if run.run_id in self._sealed]
            )
            shutil.rmtree(self._runs)
            self._next_study()

    def _check_study(self, state: dict[str, Any]) -> None:
        """The status agrees with the folders, and the money with what the model billed."""
        finals: Counter[str] = Counter()
        spent = 0.0
        for run in find_runs(self._runs):
            report = _report(run)
            if report is not None and report["termination"]["code"] not in NOT_FINAL:
                finals[run.read_json("manifest.json")["trial"]["id"]] += 1
            is_begun = run.file("manifest.json").exists()
            if is_begun and "noop" not in run.run_id:  # the other agents are given a gateway, and may spend
                cost = None if report is None else report["cost"]["usd"]
                spent += CAP if cost is None else cost
        trials = state["trials"]
        assert set(finals.values()) <= {1}, f"trials with two results: {finals}"
        assert len(finals) == trials["finished"], f"{len(finals)} runs are results, the status has {trials}"
        if state["state"] == "complete":
            assert trials["finished"] + trials["invalid"] == trials["planned"], trials
        charged = state["spent_usd"]
        billed = (self._requests() - self._billed) * CALL_USD
        assert abs(charged - spent) < 1e-6, f"{charged} USD are charged, the folders have {spent}"
        assert billed <= charged + 1e-6, f"the model billed {billed} USD, {charged} are charged"
        assert charged <= B_TOTAL, f"{charged} USD of {B_TOTAL}"

    def _check_records(self) -> None:
        """Every run that was sealed once is there, whole, and graded at most once."""
        runs = {run.run_id: run for run in find_runs(self._runs)} if self._runs.exists() else {}
        lost = self._sealed - set(runs)
        assert not lost, f"sealed runs are lost: {sorted(lost)}"
        for name, run in runs.items():
            if name not in self._sealed and run.state == "sealed":
                _check_sealed(run)
                self._sealed.add(name)

    def _running_study(self) -> Command:
        """The command that runs the study; it is started where the last one was killed or has ended."""
        if self._command is None:
            words = ["study", "run", str(self._study), "--runs", str(self._runs), "--jobs", "2", "--no-judge"]
            self._command = Command(words, self._folder / "study.log")
            self.pids.append(self._command.pid)
        return self._command

    def finish(self) -> None:
        """The last study to its end, without a kill."""
        number = self._number
        while self._number == number:
            self._running_study().wait()
            self._end_of_command()

    def left_behind(self) -> list[str]:
        """What is there of a process that is gone."""
        found = [f"mount: {line}" for line in _mounts() if str(self._folder) in line]
        for name in ("cache/tmp", TEMPORARY):
            found += [f"temporary file: {path}" for path in (self._folder / name).glob("*")]
        for parent in set(cgroups.host().parents.values()):
            found += [
                f"control group: {group}"
                for pid in self.pids
                for group in parent.glob(f"{cgroups.PREFIX}*-{pid}-*")
            ]
        pids = {str(pid) for pid in self.pids}
        return found + [
            f"process: {pid}" for pid in orphans.end_marked(lambda tag: tag.split("-")[2] in pids)
        ]

    def summary(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
        return f"{sum(self.killed.values())} kills; {counts or 'no study has ended yet'}"


def _report(run: RunFolder) -> dict[str, Any] | None:
    """Of a run that was graded; a kill between the grading and its report leaves the grading, which counts."""
    if run.state != "sealed" or not grading_files(run):
        return None
    return derived_report(read_evidence(run), read_gradings(run)[0])


def _check_sealed(run: RunFolder) -> None:
    breaks = check_seal(run)
    assert not breaks, f"{run.run_id}: {breaks[0]}"
    assert len(grading_files(run)) <= 1, f"{run.run_id} is graded twice"


def _write_material(folder: Path) -> None:
    for name in ("contract/repo", "agent", TEMPORARY):
        (folder / name).mkdir(parents=True)
    (folder / TEMPORARY).chmod(0o1777)
    (folder / "contract/repo/readme").write_text("hello\n")
    (folder / "contract/contract.yaml").write_text(CONTRACT)
    (folder / "agent/reader.py").write_text(READER)
    (folder / "prices.csv").write_text(PRICES)


def _serve_model(ledger: Path) -> str:
    """A scripted model in a child of its own, which ends with this process; its address."""
    ours, theirs = os.pipe()
    ends, stays = os.pipe()
    if os.fork() == 0:
        os.close(stays)
        with serving(ScriptedModel(REPLY, ledger=ledger)) as url:
            os.write(theirs, url.encode())
            os.close(theirs)
            select.select([ends], [], [])
        os._exit(0)
    os.close(theirs)
    os.close(ends)
    os.set_inheritable(stays, False)
    address = os.read(ours, 200).decode()
    os.close(ours)
    return address


def _prey(kind: str, pid: int) -> list[int]:
    """Processes of that kind among the controller's."""
    found = []
    for one in descendants(pid):
        line = _command_line(one).split(b"\0")
        name = line[0].rsplit(b"/", 1)[-1]
        is_launcher = any(b"steelyard.sandboxes.bubblewrap.launcher" in word for word in line)
        if {
            "launcher": is_launcher,
            "sandbox": name == b"bwrap",
            "agent": name in {b"sh", b"sleep", b"python3"} and not is_launcher,
        }[kind]:
            found.append(one)
    return [one for one in found if one != pid]


def _mounts() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


def _command_line(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _await(is_there: Callable[[], bool]) -> bool:
    ends = time.monotonic() + PATIENCE_S
    while not is_there():
        if time.monotonic() > ends:
            return False
        time.sleep(0.005)
    return True


def _await_death(pids: list[int]) -> None:
    if not _await(lambda: not any(map(_is_running, pids))):
        alive = [(pid, _command_line(pid)) for pid in pids if _is_running(pid)]
        raise AssertionError(f"still alive: {alive}")


def _is_running(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    return False


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(kills: int, seed: int) -> int:
    with tempfile.TemporaryDirectory(prefix="steelyard-soak-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        os.environ |= {
            **environment(_serve_model(folder / "ledger.jsonl")),
            "STEELYARD_CACHE": f"{name}/cache",
        }
        os.environ["TMPDIR"] = str(folder / TEMPORARY)
        gc.freeze()
        soak = Soak(folder, seed)
        for number in range(1, kills + 1):
            soak.kill_once()
            if number % 50 == 0:
                _say(soak.summary())
        soak.finish()
        Cache.default().sweep()  # as the next sandbox does; a study without a trial to run starts none
        left = soak.left_behind()
        _say(json.dumps({"kills": dict(soak.killed), **soak.counts, "left": left}, indent=2))
        return 1 if left or soak.killed.total() != kills else 0


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(given + [1000, 20260307][len(given) :])))
