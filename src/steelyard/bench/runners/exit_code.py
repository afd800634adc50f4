"""Any command: no results, only how it ended."""

from __future__ import annotations

from typing import ClassVar

from steelyard.bench.kept_output import STREAM_BYTES
from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.suite.reported import Result, SuiteReport
from steelyard.bench.suite.suite import Suite
from steelyard.sandboxes.base import Command, CommandResult, Sandbox


class ExitCode:
    """One result for the whole command, marked with how it was made: `channel: exit_code`."""

    NAME = "exit_code"
    makes: ClassVar[tuple[tuple[str, str], ...]] = ()

    def claims(self, suite: Suite) -> bool:
        del suite
        return True

    def run(self, sandbox: Sandbox, suite: Suite) -> RunnerResult:
        finished = run_in_shell(sandbox, suite)
        outcome, detail = ("passed", "") if finished.exit_code == 0 else ("failed", how_it_ended(finished))
        result = Result(suite.command, outcome, detail)  # type: ignore[arg-type]  # one of the two
        return RunnerResult(finished, SuiteReport(self.NAME, "exit_code", (result,)))


def run_in_shell(sandbox: Sandbox, suite: Suite, command: str = "") -> CommandResult:
    argv = ("/bin/sh", "-c", command or suite.command)
    return sandbox.run(Command(argv, timeout_s=suite.timeout_s, whole_bytes=STREAM_BYTES))


def how_it_ended(finished: CommandResult) -> str:
    if finished.exit_code is not None:
        return f"exit {finished.exit_code}"
    return "timed out" if finished.timed_out else f"signal {finished.signal}"
