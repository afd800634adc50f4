"""The test runners that are known, by name; the first that claims a command runs it."""

from __future__ import annotations

from steelyard.bench.runners.base import Runner
from steelyard.bench.runners.exit_code import ExitCode
from steelyard.bench.runners.junit import JunitFiles
from steelyard.bench.runners.node import Node
from steelyard.bench.runners.python import Python
from steelyard.bench.runners.tap import PrintsTap
from steelyard.bench.runners.tools import TOOLS
from steelyard.bench.suite.suite import Suite

RUNNERS: tuple[Runner, ...] = (
    Python("pytest"),
    Python("unittest"),
    Node(),
    JunitFiles(),
    *TOOLS,
    PrintsTap(),
    ExitCode(),
)  # the last one claims everything
BY_NAME: dict[str, Runner] = {runner.NAME: runner for runner in RUNNERS}


def runner_for(suite: Suite, name: str = "") -> Runner:
    return BY_NAME[name] if name else next(runner for runner in RUNNERS if runner.claims(suite))
