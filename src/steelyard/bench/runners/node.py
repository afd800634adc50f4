"""`node --test ...`: each file in a process of its own that init starts for us, with a witness loaded before it.

Node's own runner starts a process for each file and believes what comes out of its stdout, which every process can write
there. Ours has no process inside the sandbox that could be attacked: the controller runs one command for each file,

    node --import=data:...witness... test/cart.test.js      3> results   1>&2   4< nonce   0< /dev/null

and reads the results from that command's stdout, which the tested code does not have: its own stdout is stderr. The
witness (`inside/node/preload.mjs`) is loaded from the command line before any file of the tree and holds the nonce in
memory that no name leads to. It tells the test runner's events, and by itself how the body of each test ended; both
must agree. A process that ends without its last word, or with a registered test that was not reported, is a problem
and no pass.

What stays: code in the same process can search the memory of that process for the nonce and then tell anything. The
twin notices who does that without regard for the test; only the split oracle prevents it.
"""

from __future__ import annotations

import base64
import json
import posixpath
import re
import secrets
import time
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import ClassVar, NamedTuple

from steelyard.bench.kept_output import STREAM_BYTES
from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.runners.exit_code import how_it_ended
from steelyard.bench.runners.node_command import NodeCommand, node_command, select_files
from steelyard.bench.runners.node_story import (
    Source,
    Story,
    find_tampering,
    parse_story,
    results,
    unfinished_test,
    unreported_tests,
)
from steelyard.bench.suite.reported import Result, SuiteReport, merge_results
from steelyard.bench.suite.suite import Suite
from steelyard.deferred.data_class import dataclass
from steelyard.sandboxes.base import CapturedOutput, Command, CommandResult, Sandbox
from steelyard.sandboxes.init.capture import join_streams

INSIDE = Path(__file__).parents[1] / "inside" / "node"
MAX_FILES = 5_000
MAX_REPORT = 64 << 20  # bytes of one file's results
MAX_LISTED = 32 << 20
MAX_NOTES = 50
KEPT = 1 << 19  # bytes of what all files printed: so many from the head, so many from the tail

# The author's NODE_OPTIONS come after our witness, not before it.
_SHELL = 'set -f; o=$NODE_OPTIONS; unset NODE_OPTIONS NODE_TEST_CONTEXT; n=$1; w=$2; shift 2; exec "$n" "$w" $o "$@"'
_WITNESSED = f"{_SHELL} 3>&1 1>&2 4<&0 0</dev/null"
_OLD = re.compile(r"v(\d|1[0-7])\.|v18\.(\d|1[0-8])\.")  # no --import
_STRIPS_TYPES = re.compile(r"v(22\.(1[89]|[2-9]\d)|23\.([6-9]|\d\d)|2[4-9]|[3-9]\d)\b")


class Node:
    """The runner of `node --test`."""

    NAME = "node"
    makes: ClassVar[tuple[tuple[str, str], ...]] = ()

    def claims(self, suite: Suite) -> bool:
        return node_command(suite) is not None

    def run(self, sandbox: Sandbox, suite: Suite) -> RunnerResult:
        command = node_command(suite)
        if command is None:
            why = f"not a command of Node's test runner: {suite.command}"
            return RunnerResult(
                CommandResult(None, not_started=why), SuiteReport(self.NAME, "reporter", problems=(why,))
            )
        return _Run(sandbox, suite, command).everything()


class _Files(NamedTuple):
    paths: list[str]
    digests: dict[str, str]  # none of a file that is alone
    problem: str = ""
    finished: CommandResult | None = None  # when there is nothing to go on with


@dataclass
class _Run:
    """One execution; what is known so far."""

    sandbox: Sandbox
    suite: Suite
    command: NodeCommand
    found: list[Result] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    tampered: dict[str, None] = field(default_factory=dict)
    ends: list[CommandResult] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def everything(self) -> RunnerResult:
        files = self._files()
        self.problems += [files.problem] if files.problem else []
        self.ends += [files.finished] if files.finished else []
        for path in files.paths:
            finished = self._file(path, files.digests.get(path))
            self.ends.append(finished)
            if finished.timed_out or finished.lost or finished.not_started:
                break
        reported = SuiteReport(
            Node.NAME,
            "reporter",
            merge_results(self.found),
            tuple(self.problems[:MAX_NOTES]),
            tuple(self.tampered)[:MAX_NOTES],
        )
        return RunnerResult(_together(self.ends), reported)

    @property
    def _left_s(self) -> float:
        return max(self.suite.timeout_s - (time.monotonic() - self.started), 0.1)

    def _files(self) -> _Files:
        """What is to be run, as the tree was before anything in it ran."""
        done = self._listing(b"")
        try:
            listed = json.loads(done.stdout.head)
            version, below = listed["version"], listed["files"]
        except (ValueError, TypeError, KeyError):
            why = f"node did not start: {how_it_ended(done)} {_last_line(done.stderr)}".strip()
            return _Files([], {}, why, done)
        if _OLD.match(version):
            return _Files([], {}, f"node {version} is too old: 18.19 or newer is needed", done)
        typed = bool(_STRIPS_TYPES.match(version)) or _loads_types(self.command)
        paths = select_files(self.command, below, typescript=typed)
        if len(paths) > MAX_FILES:
            return _Files([], {}, f"{len(paths)} files of tests; {MAX_FILES} are allowed", done)
        return (
            _Files(paths, self._digests(paths))
            if paths
            else _Files([], {}, "no file of tests was found", done)
        )

    def _digests(self, paths: list[str]) -> dict[str, str]:
        """Of each file before any ran: code that is tested by one of them could write another anew."""
        if len(paths) == 1:
            return {}
        done = self._listing(json.dumps(paths).encode())
        try:
            return dict(zip(paths, json.loads(done.stdout.head)["digests"], strict=True))
        except (ValueError, TypeError, KeyError):
            return {}

    def _listing(self, asked: bytes) -> CommandResult:
        listing = (self.command.program, "--input-type=commonjs", "-e", _program("files.cjs"))
        return self.sandbox.run(
            Command(
                ("/bin/sh", "-c", _SHELL, "sh", *listing),
                cwd=self.suite.cwd,
                env={**self.command.env, "NODE_OPTIONS": ""},
                stdin=asked,
                timeout_s=self._left_s,
                keep_bytes=2 * MAX_LISTED,
            )
        )

    def _file(self, path: str, digest: str | None) -> CommandResult:
        nonce = secrets.token_hex(16)
        received = bytearray()

        def listen(stream: str, data: bytes) -> None:
            if stream == "stdout" and len(received) <= MAX_REPORT:
                received.extend(data)

        started = self.sandbox.run(
            Command(
                ("/bin/sh", "-c", _WITNESSED, "sh", *self._argv(path)),
                cwd=self.suite.cwd,
                env=self.command.env,
                stdin=nonce.encode(),
                timeout_s=self._left_s,
                whole_bytes=STREAM_BYTES,
            ),
            listen,
        )
        story = parse_story(nonce, bytes(received))
        if digest is not None and story.begun is not None and story.begun.digest != digest:
            story.tampering.append("the file was rewritten while tests ran")
        self._understand(path, story, started)
        return replace(started, stdout=CapturedOutput())

    def _argv(self, path: str) -> tuple[str, ...]:
        # What it prints is for people; Node's default reporter breaks down over some values.
        shown = (*self.command.options, "--test-reporter=spec")
        return (self.command.program, f"--import={_witness()}", *shown, path)

    def _understand(self, path: str, story: Story, finished: CommandResult) -> None:
        file = posixpath.normpath(posixpath.join(self.suite.cwd, path))
        found = results(story, file)
        self.found += found
        self.tampered.update(dict.fromkeys(f"{file}: {one}" for one in find_tampering(story)))
        problem = self._problem(story, finished)
        if problem:
            self.problems.append(f"{file}: {problem}")
            self.found += [] if self.command.filters else unreported_tests(story, file)
        elif not any(one.outcome in {"failed", "error"} for one in found):
            self.found += _file_results(story, finished, file)

    def _problem(self, story: Story, finished: CommandResult) -> str:
        """Why the results of this file are not all there is to know, or ""."""
        if story.problem:
            return story.problem
        if story.begun is None:
            return f"no results: {how_it_ended(finished)}"
        if story.natural is None:
            # What was thrown may quote a hidden test; it is in the output, and this sentence in result lines.
            how = "an error was not caught" if story.uncaught else how_it_ended(finished)
            return f"ended before its report was complete: {how}"
        left = "" if self.command.filters else unfinished_test(story)
        return f"{left}: registered but never reported" if left else self._not_whole(story, finished)

    def _not_whole(self, story: Story, finished: CommandResult) -> str:
        if story.natural and not story.whole and not story.uncaught:
            return "the file did not finish, and nothing was thrown"
        return self._cut_short(story, finished)

    def _cut_short(self, story: Story, finished: CommandResult) -> str:
        """Whether the process was ended while more results may have been to come."""
        exits = story.begun is not None and story.begun.exits and bool(story.events)
        if story.natural or (story.uncaught and finished.exit_code) or self.command.forces_exit or exits:
            return ""
        return "process.exit was called before the end"


def _file_results(story: Story, finished: CommandResult, file: str) -> list[Result]:
    """The file as a test of its own: one that could not be loaded, or a plain script that asserts."""
    source = story.begun or Source()
    if story.uncaught and not source.catches:
        return [Result(file, "error", story.uncaught[0], file)]
    if finished.exit_code != 0:
        return [Result(file, "error", how_it_ended(finished), file)]
    if story.names:
        return []
    if source.registers:
        return [Result(file, "error", "it has tests, but none was registered", file)]
    return [Result(file, "passed", "", file)] if source.checks else []


def _together(ends: list[CommandResult]) -> CommandResult:
    """The end of the whole: the first that is not an exit, else the worst exit code; every word that was printed."""
    odd = next((one for one in ends if one.exit_code is None), None)
    code = max((one.exit_code or 0 for one in ends), default=1)
    return replace(
        odd or CommandResult(code),
        wall_ns=sum(one.wall_ns for one in ends),
        cpu_ns=sum(one.cpu_ns for one in ends),
        stdout=CapturedOutput(),
        stderr=join_streams((one.stderr for one in ends), 2 * KEPT, STREAM_BYTES),
    )


def _loads_types(command: NodeCommand) -> bool:
    loaders = ("--import", "--require", "--loader", "--experimental-loader", "--experimental-strip-types")
    return any(word.startswith(loaders) for word in command.options)


def _last_line(stream: CapturedOutput) -> str:
    lines = [line for line in stream.text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


@cache
def _program(name: str) -> str:
    return (INSIDE / name).read_text()


@cache
def _witness() -> str:
    return f"data:text/javascript;base64,{base64.b64encode(_program('preload.mjs').encode()).decode()}"
