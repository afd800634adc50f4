"""Whose fault it is, and what follows from that.

    SteelyardError
    ├── OperatorFault   the command was wrong           stop, exit 2
    ├── ContractFault   the author's mistake            its trials do not run, the others do, exit 2
    ├── InfraFault      this machine, not the agent     another attempt, then the trial is invalid, exit 3
    │   └── LastingFault        another attempt ends the same     no other attempt, exit 3
    │       └── MissingCapability   this machine lacks something
    ├── AgentFault      the agent's own doing           counted, never retried
    └── GraderFault     a grader could not decide       that grade is `error`, never a zero

Faults are caught by class in two places only: grading and the study loop.
"""

from __future__ import annotations

from steelyard.deferred.data_class import dataclass

# What reading a damaged or forged record raises; each reader says what follows.
DAMAGED = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)


class SteelyardError(Exception):
    """Anything that Steelyard says in one clear sentence instead of a traceback."""

    exit_code = 3


class OperatorFault(SteelyardError):
    """The command line or the call asks for something that cannot be."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a contract: where it is, what it is, and how to mend it."""

    where: str  # "contract.yaml:12:3", or a file name
    field: str  # "oracle.checks[0].timeout_s", or ""
    message: str
    fix: str = ""

    def __str__(self) -> str:
        field = f"{self.field}: " if self.field else ""
        fix = f" ({self.fix})" if self.fix else ""
        return f"{self.where}: {field}{self.message}{fix}"


class ContractFault(SteelyardError):
    """The contract is wrong; `problems` has every mistake found, not just the first."""

    exit_code = 2

    def __init__(self, problems: Problem | list[Problem] | str) -> None:
        if isinstance(problems, str):
            problems = Problem(where="contract", field="", message=problems)
        self.problems = [problems] if isinstance(problems, Problem) else list(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class InfraFault(SteelyardError):
    """The machine let us down: a full disk, a dead launcher, a missing kernel feature."""


class LastingFault(InfraFault):
    """Another attempt does not mend it: a key that a server refuses, a request that no cassette has."""


class MissingCapability(LastingFault):
    """The machine lacks something, and waiting does not change that: a toolchain, a kernel feature, a permission."""


class AgentFault(SteelyardError):
    """The agent under trial misbehaved in a way that ends its run."""

    exit_code = 1


class GraderFault(SteelyardError):
    """A grader could not reach a decision about the evidence."""

    exit_code = 1
