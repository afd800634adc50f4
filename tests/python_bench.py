"""A tree and a command -> what the Python runner makes of it, in a real sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from small_sandbox import planted, small_sandbox

from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.runners.catalogue import runner_for
from steelyard.bench.suite.command_words import command_words
from steelyard.bench.suite.reported import SuiteReport
from steelyard.bench.suite.suite import Suite
from steelyard.sandboxes.base import Limits

SMALL = Limits(cpu=2, memory_mb=512, guaranteed_mb=64, disk_mb=32, tmp_mb=16, processes=64)
Run = Callable[..., RunnerResult]


class PythonBench:
    def __init__(self, folder: Path, home: Path, kind: str = "bubblewrap") -> None:
        self.folder, self.home, self.kind = folder, home, kind

    def __call__(
        self, files: Mapping[str, str], command: str = "python3 -m pytest -q", **fields: Any
    ) -> RunnerResult:
        tree = planted(self.folder, files)
        env, argv, cwd = command_words(command)
        suite = replace(Suite(command, argv, env, cwd, timeout_s=60), **fields)
        with small_sandbox(self.kind, tree, home=(self.home,), limits=SMALL) as sandbox:
            return runner_for(suite).run(sandbox, suite)


def outcomes(reported: SuiteReport) -> dict[str, str]:
    """Outcomes by the last part of an id."""
    return {one.id.rsplit("::", 1)[-1].rsplit(".", 1)[-1]: one.outcome for one in reported.results}


def is_a_pass(reported: SuiteReport) -> bool:
    """What any grader would call one: something passed, and nothing speaks against it."""
    bad = [one for one in reported.results if one.outcome in {"failed", "error"}]
    return bool(reported.passed) and not bad and not reported.problems and not reported.tampering
