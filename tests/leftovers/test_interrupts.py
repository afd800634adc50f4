"""Ctrl-C, `kill` and a closed terminal end a command alike: a message, the rows that have ended, and nothing is left."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from left_behind import await_death, groups_of, temporary

from authoring import PATIENT, Author
from steelyard.evidence.folder.folder import find_runs
from steelyard.filesystem.contents import CONTENTS
from steelyard.sandboxes.limits.watch_usage import descendants

# On disk: there is a temporary folder to be left behind.
ENVIRONMENT = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 4096, "processes": 64}


@pytest.fixture
def line(author: Author, tmp_path: Path) -> list[str]:
    oracle = {"checks": [{"id": "quick", "cmd": "true"}]}
    contract = author.write(environment=ENVIRONMENT, oracle=oracle, budget=PATIENT)
    agents = ("--agent", "noop", "--agent", "command:echo > begun; sleep 3000")
    return [sys.executable, "-m", "steelyard", "run", str(contract), *agents, "--out", str(tmp_path / "runs")]


def await_agent(runs: Path) -> None:
    """Until the first trial has its report and the second one's agent works."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        found = find_runs(runs)
        reported = any(run.file("report.json").exists() for run in found)
        begun = any(b'"tool.call"' in run.events.read_bytes() for run in found if run.events.exists())
        if reported and begun:
            return
        time.sleep(0.01)
    pytest.fail("the agent never began")


def assert_nothing_is_left(pid: int, family: list[int], cache: Path) -> None:
    await_death([member for member in family if member != pid])
    assert groups_of(pid) == []
    assert temporary(cache) == []
    assert all((folder / CONTENTS).exists() for folder in cache.glob("snapshots/*"))


def to_process(process: subprocess.Popen[str], number: int) -> None:
    process.send_signal(number)


def to_group(process: subprocess.Popen[str], number: int) -> None:
    os.killpg(process.pid, number)


@pytest.mark.parametrize("send", [to_process, to_group])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_command_with_a_message_its_rows_and_nothing_left(
    number: signal.Signals,
    send: Callable[[subprocess.Popen[str], int], None],
    line: list[str],
    tmp_path: Path,
) -> None:
    cache = tmp_path / "cache"
    with subprocess.Popen(
        line,
        env={**os.environ, "STEELYARD_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_as_from_a_shell,  # noqa: PLW1509  # one thread, no lock
    ) as process:
        await_agent(tmp_path / "runs")
        family = descendants(process.pid)
        send(process, number)
        out, err = process.communicate()
    assert process.returncode == 128 + number
    assert err.startswith("steelyard: interrupted; every run that was sealed is kept")
    assert err.count("\n") == 1
    assert "noop" in out
    assert_nothing_is_left(process.pid, family, cache)
    runs = find_runs(tmp_path / "runs")
    assert [run.state for run in runs] == ["sealed", "sealed"]
    (stopped,) = [run.read_json("report.json") for run in runs if "noop" not in run.run_id]
    assert (stopped["termination"]["code"], stopped["status"]) == ("operator", "invalid")
    assert stopped["termination"]["by"] == f"operator {signal.Signals(number).name}"


def _as_from_a_shell() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a test in the background inherits SIG_IGN
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_closed_terminal_leaves_nothing(line: list[str], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    pid, terminal = pty.fork()
    if pid == 0:
        _as_from_a_shell()
        os.execve(line[0], line, {**os.environ, "STEELYARD_CACHE": str(cache), "TERM": "xterm"})  # noqa: S606
    reader = subprocess.Popen(
        ["cat"], stdin=terminal, stdout=subprocess.DEVNULL
    )  # or a full terminal would stall it
    await_agent(tmp_path / "runs")
    family = descendants(pid)
    reader.kill()
    reader.wait()
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 128 + signal.SIGHUP
    assert_nothing_is_left(pid, family, cache)


def test_an_interrupt_during_start_up_is_no_traceback() -> None:
    """It comes while the verb is imported."""
    code = (
        "import os, signal\nfrom steelyard.cli import main, run_verb\n"
        "run_verb.importlib.import_module = lambda _: os.kill(os.getpid(), signal.SIGINT)\n"
        "main.main(['run'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_as_from_a_shell,  # one thread, no lock
    )
    assert (done.returncode, "Traceback" in done.stderr) == (130, False)
    assert "interrupted" in done.stderr
