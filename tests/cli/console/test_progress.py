"""What a user sees while trials run: rows as runs end, live output of the agent, and what is running."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from authoring import PATIENT, Author, Steelyard
from command_line import run_command

PATIENCE_S = 600.0
WAITS = "echo working; echo to-stderr >&2; while [ ! -e stop ]; do sleep 0.1; done"


@contextmanager
def started(
    cwd: Path, cache: Path, *words: object, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    """A command that goes on while the test looks; ended with the test."""
    process = subprocess.Popen(
        [sys.executable, "-m", "steelyard", *map(str, words)],
        cwd=cwd,
        env={**os.environ, "STEELYARD_CACHE": str(cache)},
        text=True,
        stdout=stdout,
        stderr=stderr,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate()


def wait_for(found: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.05)


def test_a_row_is_printed_when_its_run_ends_and_not_when_all_have(
    author: Author, tmp_path: Path, cache: Path
) -> None:
    with started(
        tmp_path, cache, "run", author.write(budget=PATIENT), "--agent", "noop", "--agent", f"command:{WAITS}"
    ) as running:
        assert running.stdout is not None
        head, row = running.stdout.readline(), running.stdout.readline()
        assert running.poll() is None
    assert head.split()[:4] == ["run", "contract", "agent", "verdict"]
    assert row.split()[1:4] == ["sum", "noop", "fail"]


def test_an_interrupted_command_tells_what_ended(author: Author, tmp_path: Path, cache: Path) -> None:
    with started(
        tmp_path, cache, "run", author.write(budget=PATIENT), "--agent", "noop", "--agent", f"command:{WAITS}"
    ) as running:
        assert running.stdout is not None
        running.stdout.readline()
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert "1 failed" in out  # and, if it had begun, the other run, sealed as invalid
    assert (running.returncode, "steelyard runs" in err) == (130, True)


def test_a_running_run_is_shown_as_running_and_its_output_grows(
    steelyard: Steelyard, author: Author, tmp_path: Path, cache: Path
) -> None:
    runs = tmp_path / "runs"
    with started(
        tmp_path, cache, "run", author.write(budget=PATIENT), "--agent", f"command:{WAITS}", "--out", runs
    ):
        wait_for(
            lambda: {one.read_text() for one in runs.glob("*/agent/std*.txt")} == {"working\n", "to-stderr\n"}
        )
        (line,) = steelyard("runs", "--runs", runs, "--json").lines
        assert (line["state"], line["phase"]) == ("running", "agent")
        shown = steelyard("show", "last", "--runs", runs)
        assert (shown.code, "is running (agent" in shown.err) == (2, True)
        logs = steelyard("logs", "last", "--runs", runs)
        assert (logs.out, logs.err) == ("working\n", "to-stderr\n")
    assert steelyard("runs", "--runs", runs, "--json").line["state"] == "invalid"


INTERRUPTED_WHILE_LOADED = """
import os, runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "steelyard.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("steelyard", run_name="__main__")
"""


def test_ctrl_c_while_the_command_line_is_loaded_ends_without_a_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_WHILE_LOADED], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


def test_a_run_whose_command_was_killed_is_shown_as_interrupted(
    steelyard: Steelyard, author: Author, tmp_path: Path, cache: Path
) -> None:
    runs = tmp_path / "runs"
    words = ("run", author.write(budget=PATIENT), "--agent", f"command:{WAITS}", "--out", runs)
    with started(tmp_path, cache, *words) as process:
        wait_for(lambda: any(path.read_text() == "working\n" for path in runs.glob("*/agent/stdout.txt")))
        process.kill()
        process.wait()
        assert steelyard("runs", "--runs", runs, "--json").line["state"] == "interrupted"


def test_logs_follow_until_the_run_ends(
    steelyard: Steelyard, author: Author, tmp_path: Path, cache: Path
) -> None:
    runs = tmp_path / "runs"
    slow = "command:for i in 1 2 3; do echo line $i; sleep 0.3; done"
    with started(tmp_path, cache, "run", author.write(budget=PATIENT), "--agent", slow, "--out", runs):
        wait_for(lambda: bool(list(runs.glob("*/agent/stdout.txt"))))
        followed = steelyard("logs", "last", "-f", "--runs", runs)
    assert (followed.code, followed.out) == (0, "line 1\nline 2\nline 3\n"), followed.err
    assert "the run has ended" in followed.err


def test_logs_escape_what_a_terminal_would_obey(steelyard: Steelyard, author: Author) -> None:
    steelyard("run", author.write(), "--agent", r"command:printf 'a\033[2Jb\n'")
    result = steelyard("logs", "last")
    assert ("\x1b" in result.out, result.out.startswith("a")) == (False, True)


def test_a_terminal_shows_each_running_trial_with_its_phase(
    author: Author, tmp_path: Path, cache: Path
) -> None:
    controller, terminal = pty.openpty()
    os.set_blocking(controller, False)
    seen = bytearray()

    def shows(text: bytes) -> bool:
        with suppress(OSError):
            seen.extend(os.read(controller, 1 << 16))
        return text in seen

    words = ("run", author.write(budget=PATIENT), "--agent", f"command:{WAITS}", "--agent", "noop")
    with started(tmp_path, cache, *words, stdout=terminal, stderr=terminal):
        wait_for(lambda: shows(b"0 of 2 done") and shows(b"agent"))
        wait_for(lambda: shows(b"command:echo"))
    os.close(terminal)
    os.close(controller)


def test_a_terminal_shows_the_tally_and_the_time_left_once_a_run_has_ended(
    author: Author, tmp_path: Path, cache: Path
) -> None:
    controller, terminal = pty.openpty()
    os.set_blocking(controller, False)
    seen = bytearray()

    def shows_what_is_left() -> bool:
        with suppress(OSError):
            seen.extend(os.read(controller, 1 << 16))
        return re.search(rb"1 of 2 done: 1 failed, \d+:\d\d, about \d+:\d\d left", seen) is not None

    words = ("run", author.write(budget=PATIENT), "--agent", "noop", "--agent", f"command:{WAITS}")
    with started(tmp_path, cache, *words, stdout=terminal, stderr=terminal):
        wait_for(shows_what_is_left)
    os.close(terminal)
    os.close(controller)


def test_a_study_shows_each_agent_while_its_first_trial_runs_and_no_line_is_too_wide(
    steelyard: Steelyard, author: Author, tmp_path: Path, cache: Path
) -> None:
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    os.set_blocking(controller, False)
    seen = bytearray()

    def shows(text: bytes) -> bool:
        with suppress(OSError):
            seen.extend(os.read(controller, 1 << 16))
        return text in seen

    study, agent = tmp_path / "study.yaml", f"an-agent-with-a-long-name=command:{WAITS}"
    planned = steelyard("plan", author.write(budget=PATIENT), "--agent", agent, "--out", study)
    assert planned.code == 0, planned.err
    with started(tmp_path, cache, "study", "run", study, stdout=terminal, stderr=terminal):
        wait_for(lambda: shows(b"\n  an-agent-with-a-lon") and shows(b"1 running"))
    drawn = re.split(rb"[\r\n]|\x1b\[2K", bytes(seen))
    assert max(len(line.decode()) for line in drawn if b"finished," in line) < 60
    os.close(terminal)
    os.close(controller)


def test_with_json_a_terminal_or_pipe_gets_result_lines_alone(steelyard: Steelyard, author: Author) -> None:
    result = steelyard("run", author.write(), "--agent", "noop", "--agent", "reference", "--json")
    assert [line["agent"] for line in result.lines] == ["noop", "reference"]


@pytest.fixture(scope="module")
def two_runs(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of `noop` and, after it, one of `reference`."""
    folder = tmp_path_factory.mktemp("two-runs")
    contract = Author(folder).write()
    for agent in ("noop", "reference"):
        run_command("run", contract, "--agent", agent, cwd=folder, env={"STEELYARD_CACHE": str(cache)})
    return folder


@pytest.mark.parametrize(
    ("option", "value", "agents"),
    [
        ("--agent", "ref*", ["reference"]),
        ("--verdict", "fail", ["noop"]),
        ("--contract", "none-such", []),
        ("--last", "1", ["reference"]),
        ("--since", "9h", ["noop", "reference"]),
    ],
)
def test_runs_lists_what_was_asked_for(
    steelyard: Steelyard, two_runs: Path, option: str, value: str, agents: list[str]
) -> None:
    listed = steelyard("runs", option, value, "--json", cwd=two_runs).lines
    assert [line["agent"] for line in listed] == agents


def test_show_last_shows_the_newest_run(steelyard: Steelyard, two_runs: Path) -> None:
    assert "agent reference" in steelyard("show", "last", cwd=two_runs).out


def test_no_trial_starts_after_the_failures_that_were_allowed(steelyard: Steelyard, author: Author) -> None:
    result = steelyard("run", author.write(), "--agent", "noop", "--repeats", 5, "--max-failures", 1)
    assert result.code == 1
    assert "stopped after 1 trials that did not pass" in result.err
    assert len(steelyard("runs", "--json").lines) <= 2  # one was waiting for its turn already
