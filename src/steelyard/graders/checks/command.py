"""A command that must exit as expected, on a fresh bench."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from steelyard.bench.execution_spec import CommandSpec
from steelyard.contract.catalogue import LintWarning, Material
from steelyard.contract.model import NonEmpty
from steelyard.deferred.model import Field
from steelyard.graders.base import Case, Grader, TimeoutS
from steelyard.graders.checks.command_warnings import script_warnings
from steelyard.graders.checks.inject import Injects, inject_warnings, injected_files
from steelyard.graders.grade import Grade
from steelyard.graders.output import output_tail


@dataclass(frozen=True)
class Command(Grader):
    """`cmd` exits with `expect_exit` on a fresh tree: snapshot, setup, the change, and `inject` on top.

    Why: the project's own test command is the plainest oracle there is.
    Example: `{type: command, cmd: "python3 -m unittest -q", timeout_s: 300}`
    Fooled by: code under test that makes its own process exit 0; only the exit code is read.
    """

    TYPE = "command"
    UNDER = "acceptance"
    WEIGHT = 1.0
    EXECUTES = True

    cmd: NonEmpty
    timeout_s: TimeoutS = 900.0
    expect_exit: Annotated[int, Field(ge=0, le=255)] = 0
    inject: Injects = ()

    def contract_files(self) -> tuple[str, ...]:
        return tuple(src for src, _ in self.injected)

    @property
    def injected(self) -> tuple[tuple[str, str], ...]:
        return injected_files(self.inject)

    def execution(self) -> CommandSpec:
        return CommandSpec(
            command=self.cmd,
            timeout_s=self.timeout_s,
            injected=self.injected,
            expect_exit=self.expect_exit,
        )

    def file_warnings(self, material: Material) -> tuple[LintWarning, ...]:
        return (
            *inject_warnings(self.inject, material),
            *script_warnings(self.cmd, material, self.injected),
        )

    def grade(self, case: Case) -> Grade:
        outcome = case.outcome
        if outcome is None:
            return Grade.error("never ran")
        tail = output_tail(outcome)
        pointer = (f"checks/{case.name}/",)
        if outcome.outcome == "error":
            return Grade.error(outcome.why, pointers=pointer, output_tail=tail)
        return Grade.of(outcome.outcome == "pass", outcome.why, pointers=pointer, output_tail=tail)
