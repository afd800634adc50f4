"""Python's tests -> results from Steelyard's driver, sent by a supervisor that the tests cannot read or write.

The supervisor (`inside/python/supervisor.py`) is started with the interpreter that the command names, but without
its site, its start-up files or the tree on its path. It gets its code over stdin, then a nonce, and answers on stdout:

    {"nonce": ..., "stories": [{"plan": [[id, file, title]], "results": [[number, outcome, detail]], "end": 0, "exit": 0}]}

One story for a suite; with `isolation: process` one of the collection and one for each test.
"""

from __future__ import annotations

import functools
import json
import posixpath
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from steelyard.bench.kept_output import STREAM_BYTES
from steelyard.bench.reports.base import BadReport
from steelyard.bench.reports.junit import parse_junit
from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.runners.exit_code import how_it_ended
from steelyard.bench.runners.python_command import PythonCommand, python_command
from steelyard.bench.suite.declared_ids import names_a_case
from steelyard.bench.suite.reported import MAX_RESULTS, NEVER_RAN, Result, SuiteReport, merge_results
from steelyard.bench.suite.suite import Suite
from steelyard.sandboxes.base import CapturedOutput, Command, CommandResult, Sandbox

INSIDE = Path(__file__).parents[1] / "inside" / "python"
MAX_REPORT_BYTES = 256 << 20
NO_TESTS = 5  # what pytest, and unittest since 3.12, end with when there was nothing to run
_MEANING = {
    2: " (interrupted)",
    3: " (an error of its own)",
    4: " (wrong options or settings, or a conftest.py that cannot be imported)",
}  # pytest's
UNEXPECTED = "passed although a failure was expected"  # to some programs no reason to fail
LATER = ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONINSPECT")
# Fixes the path before anything is imported from it, then takes exactly its own part of stdin: the nonce stays there.
BOOT = """import sys
sys.path[:] = [one for one in sys.path if one]
import os
def take(left):
    got = b""
    while len(got) < left:
        more = os.read(0, left - len(got))
        if not more: sys.exit("no code")
        got += more
    return got
import json
order = json.loads(take(int(take(10))).decode())
space = {"__name__": "supervisor"}
exec(compile(order["parts"].pop("supervisor"), "<supervisor>", "exec"), space)
space["supervise"](order["config"], order["parts"])
os._exit(0)
"""


class Python:
    """pytest or unittest, by the module that the command names; unittest also by a program that runs it."""

    makes: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __init__(self, module: Literal["pytest", "unittest"]) -> None:
        self.NAME: Literal["pytest", "unittest"] = module

    def claims(self, suite: Suite) -> bool:
        command = python_command(suite.argv)
        if command is None or command.module != self.NAME:
            return False
        # What a program does is not known, but ids in unittest's form show what its author expects.
        return not command.program or any(map(names_a_case, suite.declared))

    def run(self, sandbox: Sandbox, suite: Suite) -> RunnerResult:
        command = python_command(suite.argv)
        if command is None or command.module != self.NAME:
            why = f"`{suite.command}` is not a command of {self.NAME}"
            return RunnerResult(
                CommandResult(None, not_started=why), SuiteReport(self.NAME, "reporter", problems=(why,))
            )
        theirs = next((word for word in (suite.argv[0], command.program) if word in suite.theirs), "")
        if theirs:
            why = f"`{theirs}` comes from the change"
            return RunnerResult(CommandResult(126), SuiteReport(self.NAME, "reporter", problems=(why,)))
        return self._run(sandbox, suite, command)

    def _run(self, sandbox: Sandbox, suite: Suite, command: PythonCommand) -> RunnerResult:
        nonce = secrets.token_hex(16)
        output = bytearray()

        def on_output(stream: str, data: bytes) -> None:
            if stream == "stdout" and len(output) <= MAX_REPORT_BYTES:
                output.extend(data)

        finished = sandbox.run(
            Command(
                command.started_with("-s", "-S", "-B", "-c", BOOT),
                cwd=suite.cwd,
                env=_environment(suite),
                stdin=_order(_config(suite, command), nonce),
                timeout_s=suite.timeout_s,
                whole_bytes=STREAM_BYTES,
            ),
            on_output,
        )
        # Standard output was the channel; what the tests printed there is in the other one.
        finished = replace(finished, stdout=CapturedOutput())
        stories = read_stories(bytes(output), nonce) if finished.exit_code == 0 else None
        if stories is None:
            return _no_report(self.NAME, suite, command, finished)
        absent = next((one for story in stories for one in story.get("absent", ())), "")
        if absent:
            return RunnerResult(_not_there(finished, absent, suite), SuiteReport(self.NAME, "reporter"))
        # As the tests' process ended, not as its supervisor did.
        code, signal = max((one["exit"] or 0, one["signal"] or 0) for one in stories[1:] or stories)
        return RunnerResult(
            replace(finished, exit_code=None if signal else code, signal=signal or None),
            report_of_stories(self.NAME, stories),
        )


Story = Mapping[str, Any]


def read_stories(data: bytes, nonce: str) -> list[Story] | None:
    """The supervisor's stories; None when it is not the supervisor who speaks."""
    try:
        report = json.loads(data) if len(data) <= MAX_REPORT_BYTES else None
    except ValueError:
        return None
    if not isinstance(report, dict) or not secrets.compare_digest(str(report.get("nonce")), nonce):
        return None
    stories: list[Story] = report["stories"]
    return stories


def _no_report(name: str, suite: Suite, command: PythonCommand, finished: CommandResult) -> RunnerResult:
    if finished.exit_code == 127 and command.script:
        return RunnerResult(_not_there(finished, command.script, suite), SuiteReport(name, "reporter"))
    why = f"the supervisor of the tests did not report ({how_it_ended(finished)})"
    return RunnerResult(finished, SuiteReport(name, "reporter", problems=(why,)))


def report_of_stories(name: str, stories: list[Story]) -> SuiteReport:
    """What the tests' processes reported, and whether it is consistent."""
    if "junit" in stories[0]:
        return _own(name, stories[0])
    results = [result for story in _telling(stories) for result in _results(story)]
    problems = [*_bound(results), *(one for story in stories for one in story["problems"])]
    if name == "pytest":
        problems += _strangers(results)
    problems += [one for story in stories for one in _ending(story, collects=_collects(story, stories))]
    return SuiteReport(
        name,
        "reporter",
        merge_results(results[:MAX_RESULTS]),
        tuple(dict.fromkeys(problems)),
        tuple(dict.fromkeys(one for story in stories for one in story["tampering"])),
        own_runner=any(story.get("part") for story in stories),
    )


def _strangers(results: list[Result]) -> list[str]:
    """A test whose id names another file than it is said to be in: the file decides what controls it."""
    odd = next((one for one in results if not _is_in_its_file(one)), None)
    return [] if odd is None else [f"{odd.id[:200]} is not a test of the file {odd.file[:200]!r}"]


def _is_in_its_file(result: Result) -> bool:
    """An id begins with a path from pytest's own root, which may be above or below the workspace."""
    within = path = result.id.partition("::")[0]
    while within.startswith("../"):
        within = within[3:]
    if not result.file:  # a test outside of the workspace, or a folder that could not be collected
        return within != path or result.outcome in {"failed", "error"}
    return f"/{result.file}".endswith(f"/{within}") or f"/{within}".endswith(f"/{result.file}")


def _telling(stories: list[Story]) -> list[Story]:
    """The stories that have results; what a collection planned is in the others, one by one."""
    if len(stories) == 1:
        return stories
    collected, *others = stories
    expected = [name for name, *_ in collected["plan"]]
    planned = [[name for name, *_ in story["plan"]] for story in others]
    if planned == [[name] for name in expected]:
        return others
    # Some test was not there the second time: as planned it never ran.
    return [collected, *others]


def _collects(story: Story, stories: list[Story]) -> bool:
    return len(stories) > 1 and story is stories[0]


def _results(story: Story) -> list[Result]:
    outcomes = {number: (outcome, detail) for number, outcome, detail in story["results"]}
    return [
        Result(name, *outcomes.get(number, ("error", NEVER_RAN)), *place)
        for number, (name, *place) in enumerate(story["plan"])
    ]


def _bound(results: list[Result]) -> Iterable[str]:
    return [f"more than {MAX_RESULTS} tests"] if len(results) > MAX_RESULTS else []


def _ending(story: Story, *, collects: bool) -> list[str]:
    """How the process of a story said that it ends, how it did, and whether that agrees with its results."""
    code, really = story["end"], story["exit"]
    if code is None:
        how = f"signal {story['signal']}" if really is None else f"exit {really}"
        return [f"the test process ended ({how}) before it reported its end"]
    if code != really:
        how = f"signal {story['signal']}" if really is None else f"exit {really}"
        return [f"the test process reported exit {code}, but ended with {how}"]
    if collects:
        return []
    return _agreeing(code, _results(story))


def _agreeing(code: int, results: list[Result]) -> list[str]:
    bad = [one for one in results if one.outcome in {"failed", "error"}]
    failed = any(one.detail != UNEXPECTED for one in bad) if code == 0 else bool(bad)
    if (code == 0) == (not failed) or (code == NO_TESTS and not results):
        return []
    what = "a test failed" if failed else "no test failed"
    return [f"the runner ended with exit {code}{_MEANING.get(code, '')} although {what}"]


def _own(name: str, story: Story) -> SuiteReport:
    """The report that the tree's own runner left, and its exit code."""
    problems, results = [], []
    if story["junit"] is None:
        problems.append("the tree's own runner left no report")
    else:
        try:
            results = [_by_node_id(one) for one in parse_junit(story["junit"].encode("latin-1"))]
        except BadReport as error:
            problems.append(f"the report of the tree's own runner: {error}")
    code = -1 if story["exit"] is None else story["exit"]
    problems += _agreeing(code, results)
    return SuiteReport(name, "report_file", merge_results(results), tuple(problems), own_runner=True)


def _by_node_id(result: Result) -> Result:
    """`tests.test_a.Case::test_x` in tests/test_a.py, as pytest calls it: tests/test_a.py::Case::test_x."""
    group, found, name = result.id.partition("::")
    module = result.file.removesuffix(".py").replace("/", ".")
    if not found or not module or not f"{group}.".startswith(f"{module}."):
        return result
    case = group[len(module) :].replace(".", "::")
    return replace(result, id=f"{result.file}{case}::{name}")


def _not_there(finished: CommandResult, absent: str, suite: Suite) -> CommandResult:
    """The contract's trouble, not the change's: what runs tests is missing on the bench."""
    if absent in {"pytest", "unittest"}:
        why = f"{absent} is not installed for `{suite.argv[0]}` on the bench; install it in `setup`"
    else:
        why = f"`{suite.argv[0]}` in the bench: {absent}"
    return replace(finished, exit_code=None, not_started=why)


def _config(suite: Suite, command: PythonCommand) -> dict[str, Any]:
    return {
        "runner": command.module,
        "own": command.started_with("-m", command.module, *command.arguments),
        "program": command.program,
        "arguments": command.arguments,
        "isolation": suite.isolation,
        "only": None,
        # Without rows: the id of a row would tell its expected value, and is another one where that is changed.
        "among": sorted({_without_row(name) for name in suite.only}),
        "cwd": suite.cwd,
        "cwd_on_path": command.cwd_on_path,
        "pythonpath": _path(suite, command),
        "env": {**dict.fromkeys(LATER, ""), **suite.env},
        "own_modules": sorted(suite.own_modules),
        "settings": dict(suite.settings),
        "changed": sorted(suite.changed),
    }


def _without_row(name: str) -> str:
    file, found, test = name.partition("::")
    return file + found + test.partition("[")[0]


def _path(suite: Suite, command: PythonCommand) -> str:
    """Where else modules are: beside the program, and where the contract says."""
    beside = [posixpath.dirname(command.program) or "."] if command.program else []
    return ":".join(filter(None, [*beside, suite.env.get("PYTHONPATH", "")]))


def _environment(suite: Suite) -> dict[str, str]:
    """The contract's variables; those that lead an interpreter into the tree come back once it is safe."""
    return {**suite.env, **dict.fromkeys(LATER, "")}


def _order(config: dict[str, Any], nonce: str) -> bytes:
    order = json.dumps({"parts": _parts(), "config": config}).encode()
    return b"%010d" % len(order) + order + nonce.encode()


@functools.cache
def _parts() -> dict[str, str]:
    return {path.stem: path.read_text() for path in INSIDE.glob("*.py")}
