"""What a command's end looks like from outside, whatever the command does."""

from __future__ import annotations

import hashlib
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from steelyard.sandboxes.base import Command, CommandResult, Sandbox

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Shell, Start

KINDS = ["bubblewrap", "docker"]


@pytest.mark.parametrize("code", [0, 1, 42, 127, 255])
def test_an_exit_code_is_reported_as_it_is(shell: Shell, code: int) -> None:
    assert shell(f"exit {code}").exit_code == code


def test_a_death_by_signal_is_not_an_exit_code(shell: Shell) -> None:
    done = shell("kill -SEGV $$")
    assert (done.exit_code, done.signal) == (None, signal.SIGSEGV)


def test_a_program_that_is_not_there_did_not_start(sandbox: Sandbox) -> None:
    done = sandbox.run(Command(("no-such-program",)))
    assert done.not_started == "No such file or directory"
    assert done.exit_code is None


def test_a_file_that_is_no_program_did_not_start(sandbox: Sandbox) -> None:
    assert sandbox.run(Command(("./readme",))).not_started == "Permission denied"


def test_a_folder_that_is_not_there_is_named(sandbox: Sandbox) -> None:
    assert sandbox.run(Command(("true",), cwd="nowhere")).not_started == "cwd: No such file or directory"


def test_an_argument_with_a_nul_did_not_start(sandbox: Sandbox) -> None:
    assert "NUL" in sandbox.run(Command(("true", "a\0b"))).not_started


def test_arguments_longer_than_a_frame_did_not_start(sandbox: Sandbox) -> None:
    assert "1 MiB" in sandbox.run(Command(("true", "x" * (1 << 20)))).not_started


def test_a_sandbox_outlives_a_command_that_did_not_start(sandbox: Sandbox) -> None:
    sandbox.run(Command(("no-such-program",)))
    assert sandbox.run(Command(("true",))).exit_code == 0


def test_a_command_runs_in_the_workspace(shell: Shell) -> None:
    assert shell("pwd; cat readme").stdout.text == "/workspace\nhello\n"


def test_cwd_is_inside_the_workspace_or_absolute(shell: Shell) -> None:
    shell("mkdir -p sub")
    assert shell("pwd", cwd="sub").stdout.text == "/workspace/sub\n"
    assert shell("pwd", cwd="/tmp").stdout.text == "/tmp\n"


def test_output_that_is_not_utf8_arrives_byte_for_byte(shell: Shell) -> None:
    assert shell(r"printf '\377\000\200'").stdout.head == b"\xff\x00\x80"


def test_the_two_streams_stay_apart(shell: Shell) -> None:
    done = shell("echo out; echo err >&2")
    assert (done.stdout.text, done.stderr.text) == ("out\n", "err\n")


def test_a_flood_is_kept_bounded_and_hashed_whole(shell: Shell) -> None:
    done = shell("head -c 9000000 /dev/zero", keep_bytes=1000)
    assert len(done.stdout.head) + len(done.stdout.tail) == 1000
    assert done.stdout.size == 9_000_000
    assert done.stdout.sha256 == hashlib.sha256(bytes(9_000_000)).hexdigest()


def test_the_last_words_before_the_end_are_never_lost(shell: Shell) -> None:
    for _ in range(50):
        assert shell("printf last").stdout.text == "last"


def test_stdin_is_delivered_and_closed(shell: Shell) -> None:
    data = bytes(range(256)) * 4000
    assert shell("cat", stdin=data).stdout.sha256 == hashlib.sha256(data).hexdigest()


def test_without_stdin_a_reader_gets_the_end_of_file(shell: Shell) -> None:
    assert shell("cat").exit_code == 0


def test_a_command_that_never_reads_its_stdin_can_end(shell: Shell) -> None:
    assert shell("exit 7", stdin=b"x" * 5_000_000).exit_code == 7


def test_stdin_and_a_flood_at_once_do_not_deadlock(shell: Shell) -> None:
    done = shell("head -c 30000000 /dev/zero; cat | wc -c >&2", stdin=b"y" * 3_000_000)
    assert done.stderr.text.strip() == "3000000"


def test_a_daemon_that_holds_the_pipe_does_not_hold_the_exit(shell: Shell) -> None:
    done = shell("sleep 1000 & echo started")
    assert (done.exit_code, done.stdout.text) == (0, "started\n")


def test_a_daemon_that_floods_the_pipe_does_not_hold_the_exit(shell: Shell) -> None:
    done = shell("yes & sleep 0.2")
    assert done.exit_code == 0
    assert shell("echo still here").stdout.text == "still here\n"


def test_a_daemon_stays_for_the_next_command(shell: Shell) -> None:
    shell("sleep 1000 >/dev/null 2>&1 & until pgrep -x sleep; do :; done")
    assert shell("pgrep -c sleep").stdout.text == "1\n"


def test_output_is_shown_while_the_command_runs(sandbox: Sandbox) -> None:
    seen: list[tuple[str, bytes]] = []
    sandbox.run(Command(("sh", "-c", "echo one; sleep 0.2; echo two >&2")), lambda *chunk: seen.append(chunk))
    assert seen == [("stdout", b"one\n"), ("stderr", b"two\n")]


def test_a_listener_that_fails_ends_the_command_and_is_heard(sandbox: Sandbox) -> None:
    def fail(_stream: str, _data: bytes) -> None:
        raise LookupError("not today")

    with pytest.raises(LookupError):
        sandbox.run(Command(("sh", "-c", "echo x; sleep 1000")), fail)
    assert sandbox.run(Command(("pgrep", "sleep"))).exit_code == 1


def test_the_environment_is_fixed_plus_what_was_asked(start: Start, kind: str) -> None:
    sandbox = start(env={"FROM_BOX": "1"})
    done = sandbox.run(Command(("env",), env={"FROM_COMMAND": "2"}))
    links = "/run/steelyard/bin:" if kind == "bubblewrap" else ""
    assert set(done.stdout.text.splitlines()) == {
        f"PATH={links}/usr/local/bin:/usr/bin:/bin",
        "HOME=/home/agent",
        "LANG=C.UTF-8",
        "LC_ALL=C.UTF-8",
        "TZ=UTC",
        "USER=agent",
        "FROM_BOX=1",
        "FROM_COMMAND=2",
    }


def test_a_program_finds_its_user_its_host_and_localhost(shell: Shell) -> None:
    line = "whoami; id -u; hostname; getent hosts localhost | wc -l; umask"
    assert shell(line).stdout.text.split() == ["agent", "1000", "sandbox", "1", "0022"]


def test_cpu_time_is_counted(shell: Shell) -> None:
    assert shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done").cpu_ns > 10_000_000


def test_many_threads_run_commands_in_one_sandbox(sandbox: Sandbox) -> None:
    results: dict[int, CommandResult] = {}

    def work(number: int) -> None:
        results[number] = sandbox.run(
            Command(("sh", "-c", f"head -c {number}00000 /dev/zero; sleep 0.1; exit {number}"))
        )

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 13)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: (done.exit_code, done.stdout.size) for n, done in results.items()} == {
        n: (n, n * 100_000) for n in range(1, 13)
    }
