"""What the bench can run for a grader: `CommandSpec | SuiteSpec | VerifierSpec`.

    CommandSpec     a command; its exit code decides
    SuiteSpec       a command that runs tests; the grader decides from the reported results
    VerifierSpec    a script of the contract; the reward that it writes decides

A grader returns its spec from `execution()`. The bench reads the spec and never the grader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import TypeAlias

from steelyard.bench.suite import reported, suite
from steelyard.bench.verifier import options
from steelyard.contract.catalogue import GraderEntry
from steelyard.contract.execution_spec import ExecutionSpec, ScriptSpec
from steelyard.deferred.data_class import dataclass
from steelyard.errors import GraderFault


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec(ExecutionSpec):
    """A command that passes when it exits with `expect_exit`."""

    expect_exit: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSpec(ExecutionSpec):
    """A command that runs tests, whose results are read one by one."""

    decide: Callable[[reported.SuiteReport], suite.Decision]
    oracle_patterns: tuple[str, ...] = ()  # files of the oracle; () for everything that looks like a test
    patch: str | None = None  # a test patch of the contract
    runner: str = ""  # a name of the runners' catalogue, or "" to recognise the runner by the command
    report: str = ""  # a pattern of JUnit files that the command leaves in the tree, or ""
    declared: tuple[str, ...] = ()  # ids, or patterns of ids, that must be among the results
    candidate: tuple[str, ...] = ()  # split oracles: the candidate's modules; () for all but the oracle's
    objects: tuple[str, ...] = ()  # split oracles: names whose objects stay in the candidate's sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierSpec(ScriptSpec):
    """A script that writes a reward to `reward_path`."""

    reward_path: str
    details_path: str
    env: Mapping[str, str] = field(default_factory=dict)
    user: str | int | None = None
    separate: options.SeparateVerifier | None = None  # a container of its own

    @property
    def variables(self) -> tuple[Mapping[str, str], ...]:
        return (self.env,) if self.separate is None else (self.env, self.separate.env)


BenchSpec: TypeAlias = CommandSpec | SuiteSpec | VerifierSpec


def bench_spec(entry: GraderEntry) -> BenchSpec:
    """The spec of a check or grader that runs something; raises GraderFault if there is none that the bench knows."""
    spec = entry.execution
    if isinstance(spec, CommandSpec | SuiteSpec | VerifierSpec):
        return spec
    what = "nothing" if spec is None else f"the spec {type(spec).__name__}, which the bench does not know"
    raise GraderFault(f"the grader {entry.name} of type {entry.type} runs {what}")


def bench_specs(entries: Iterable[GraderEntry]) -> Iterator[BenchSpec]:
    """The specs of the entries that run something."""
    return (bench_spec(entry) for entry in entries if entry.execution is not None)


def own_variables(spec: BenchSpec) -> Mapping[str, str]:
    """The variables that the grader sets for what it runs: only a verifier has some."""
    return spec.env if isinstance(spec, VerifierSpec) else {}
