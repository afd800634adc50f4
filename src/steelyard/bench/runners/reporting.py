"""Runners of projects that write a report -> results, read back as data.

    1  a folder that did not exist is made, outside of the tree; in the tree, old reports are removed first
    2  the command runs, with options to write its report there
    3  the report is read, bounded, by a second command; a pipe, a device or a link in its place is no report
    4  report and exit status must agree

The report is written beside the candidate's code. It is worth more than an exit code, and less than a reporter of our
own: `channel: report_file`.
"""

from __future__ import annotations

import base64
import binascii
import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple

from steelyard.bench.kept_output import STREAM_BYTES
from steelyard.bench.reports.base import MAX_REPORT_BYTES, NO_TEST, RERUN, BadReport, join_id, one_line
from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.runners.command_line import Step, last_step
from steelyard.bench.runners.exit_code import how_it_ended
from steelyard.bench.suite.reported import Result, SuiteReport, merge_results
from steelyard.bench.suite.suite import Suite
from steelyard.deferred.data_class import dataclass
from steelyard.sandboxes.base import Command, CommandResult, Sandbox

SETTINGS = ".settings"  # beside a report: the settings that make the tool write it
READ_TIMEOUT_S = 60.0
READ_BYTES = 2 * MAX_REPORT_BYTES  # of all files together, as they come: in base64
# A file at a time: its name, its bytes in base64, each with a NUL behind it. What is not a plain file is passed over.
_READ = 'for f do printf "%s\\0" "$f"; head -c "$0" -- "$f" | base64 -w0; printf "\\0"; done'

Parser = Callable[[bytes], list[Result]]


class ReportCommand(NamedTuple):
    """A command line that will leave a report behind."""

    text: str
    env: Mapping[str, str] = {}
    prints: bool = False  # the report is what it prints
    patterns: tuple[str, ...] = ()  # where in the tree the reports will be; () for our folder
    program: str = ""  # the word that names the tool


class ReportFile(NamedTuple):
    """A report file, and where it was."""

    path: str
    data: bytes


Adapt = Callable[[Step, str], ReportCommand | None]


@dataclass(frozen=True, slots=True)
class ReportRunner:
    """One tool: how its command is made to write a report into a folder, and how the report is read."""

    NAME: str
    adapt: Adapt
    parse: Parser
    named: bool = False  # results are distinguished by the file that they come from
    makes: tuple[tuple[str, str], ...] = field(default=())  # folders it builds: (name, a file beside it)

    def claims(self, suite: Suite) -> bool:
        step = last_step(suite.command)
        return step is not None and self.adapt(step, "/tmp/_") is not None  # noqa: S108  # never opened

    def run(self, sandbox: Sandbox, suite: Suite) -> RunnerResult:
        folder = f"/tmp/{secrets.token_hex(12)}"  # noqa: S108  # the sandbox's; it cannot be guessed before
        step = last_step(suite.command)
        asked = self.adapt(step, folder) if step is not None else None
        if asked is None:
            why = f"`{suite.command}` is not a command of {self.NAME}"
            return RunnerResult(
                CommandResult(None, not_started=why), SuiteReport(self.NAME, "report_file", problems=(why,))
            )
        if asked.program in suite.theirs:
            why = f"`{asked.program}` comes from the change"
            return RunnerResult(CommandResult(126), SuiteReport(self.NAME, "report_file", problems=(why,)))
        return run_and_read(self, sandbox, suite, asked, folder)


def run_and_read(
    runner: ReportRunner, sandbox: Sandbox, suite: Suite, asked: ReportCommand, folder: str
) -> RunnerResult:
    finished = sandbox.run(_command(suite, asked, folder))
    read = _read(sandbox, asked.patterns, folder)
    if finished.exit_code is None:
        problem = f"the tests did not finish: {how_it_ended(finished)}"
        return RunnerResult(finished, SuiteReport(runner.NAME, "report_file", problems=(problem,)))
    if read.lost:  # whose fault that was, the bench finds out
        return RunnerResult(read, SuiteReport(runner.NAME, "report_file", problems=("the sandbox died",)))
    try:
        results, problems = _parse(runner, _files(read), folder)
    except BadReport as bad:
        results, problems = [], [str(bad)]
    if not problems:
        problems = disagreements(finished, results)
    elif finished.exit_code:
        problems = [f"{problems[0]} (exit {finished.exit_code})", *problems[1:]]
    return RunnerResult(
        finished, SuiteReport(runner.NAME, "report_file", merge_results(results), tuple(problems))
    )


def disagreements(finished: CommandResult, results: Sequence[Result]) -> list[str]:
    """A report and an exit status that tell two stories."""
    bad = [
        one
        for one in results
        if one.outcome in {"failed", "error"}
        and not one.detail.startswith(RERUN)  # the runner let those pass
    ]
    if finished.exit_code == 0 and bad:
        return [f"{one_line(bad[0].id)} did not pass, but the command ended with exit 0"]
    if finished.exit_code != 0 and not bad:
        return [f"the report has no failure, but the command ended with {how_it_ended(finished)}"]
    return []


def _read(sandbox: Sandbox, patterns: tuple[str, ...], folder: str) -> CommandResult:
    """The report files, at most READ_BYTES of them; nothing at their place can hold this up for long."""
    shell = ("-exec", "sh", "-c", _READ, str(MAX_REPORT_BYTES + 1), "{}", "+")
    own = (folder, "-type", "f", "!", "-name", SETTINGS)
    where = (".", "-type", "f", *_any_of(patterns)) if patterns else own
    reading = Command(("find", *where, *shell), timeout_s=READ_TIMEOUT_S, keep_bytes=READ_BYTES)
    done = sandbox.run(reading)
    if not patterns:  # without isolation the folder would stay behind on the host
        sandbox.run(Command(("rm", "-rf", folder), timeout_s=READ_TIMEOUT_S))
    return done


def _files(read: CommandResult) -> list[ReportFile]:
    if read.exit_code is None:
        raise BadReport("the report could not be read completely")
    if read.stdout.size > READ_BYTES:
        raise BadReport(f"the reports are larger than {READ_BYTES >> 20} MB")
    parts = (read.stdout.head + read.stdout.tail).split(b"\0")
    try:
        return [
            ReportFile(name.decode(errors="replace"), base64.b64decode(content, validate=True))
            for name, content in zip(parts[:-1:2], parts[1::2], strict=True)
        ]
    except (binascii.Error, ValueError):
        raise BadReport("the report changed while it was read") from None


def _parse(runner: ReportRunner, found: list[ReportFile], folder: str) -> tuple[list[Result], list[str]]:
    if not found:
        return [], ["the command left no report"]
    results: list[Result] = []
    problems: list[str] = []
    for file in sorted(found):
        try:
            own = runner.parse(file.data)
        except BadReport as bad:
            own = list(bad.results)
            if str(bad) != NO_TEST:  # one file of many may have none
                problems.append(str(bad))
        results += (
            [_of_file(one, file.path.removeprefix(f"{folder}/")) for one in own] if runner.named else own
        )
    return results, problems or ([] if results else [NO_TEST])


def _of_file(result: Result, path: str) -> Result:
    return replace(result, id=join_id(path, result.id), file=one_line(path))


def _command(suite: Suite, asked: ReportCommand, folder: str) -> Command:
    into = f" > {folder}/report" if asked.prints else ""
    first = f"mkdir -m 700 {folder} || exit 125; "
    if asked.patterns:
        old = shlex.join((".", "!", "-type", "d", *_any_of(asked.patterns)))
        first = f"find {old} -exec rm -f {{}} + || exit 125; "
    argv = ("/bin/sh", "-c", f"{first}{asked.text}{into}")
    return Command(argv, env=dict(asked.env), timeout_s=suite.timeout_s, whole_bytes=STREAM_BYTES)


def _any_of(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """`find` arguments: a path that matches one of them; `**/` also stands for no folder at all."""
    paths: list[str] = []
    for pattern in patterns:
        paths += [f"./{pattern}", *([f"./{pattern.replace('**/', '')}"] if "**/" in pattern else [])]
    either = [word for path in paths for word in ("-o", "-path", path)]
    return ("(", *either[1:], ")")
