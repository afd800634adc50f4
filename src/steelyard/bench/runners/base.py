"""How tests are run so that their results can be believed.

A runner is given a live sandbox that has the tree in it, starts what must be started, and comes back with how the
command ended and what was reported. It never trusts printed text, and never takes an exit code for a result.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from steelyard.bench.suite.reported import SuiteReport
from steelyard.bench.suite.suite import Suite
from steelyard.sandboxes.base import CommandResult, Sandbox


class RunnerResult(NamedTuple):
    finished: CommandResult
    reported: SuiteReport


class Runner(Protocol):
    @property
    def NAME(self) -> str: ...  # noqa: N802  # a class's own constant

    @property
    def makes(self) -> tuple[tuple[str, str], ...]:
        """Folders that the tool builds by itself: (name, a file that is beside it, or "" for anywhere)."""

    def claims(self, suite: Suite) -> bool:
        """Whether this runner knows the command."""

    def run(self, sandbox: Sandbox, suite: Suite) -> RunnerResult: ...
