"""The bench runs `CommandSpec | SuiteSpec | VerifierSpec` and refuses everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import pytest

from steelyard.bench.execution_spec import (
    BenchSpec,
    CommandSpec,
    SuiteSpec,
    VerifierSpec,
    bench_spec,
    bench_specs,
    own_variables,
)
from steelyard.bench.suite.reported import SuiteReport
from steelyard.bench.suite.suite import Decision
from steelyard.contract.catalogue import GraderEntry, GraderType
from steelyard.contract.execution_spec import ExecutionSpec
from steelyard.errors import GraderFault


@dataclass(frozen=True)
class Scripted(GraderType):
    """A grader whose spec is given."""

    spec: ExecutionSpec | None

    def execution(self) -> ExecutionSpec | None:
        return self.spec


def entry(spec: ExecutionSpec | None) -> GraderEntry:
    return GraderEntry("it", "scripted", Scripted(spec), "acceptance", required=True, weight=1.0)


def failed(reported: SuiteReport) -> Decision:
    return Decision("fail", 0.0, reported.runner)


COMMAND = CommandSpec(command="make test", timeout_s=60.0)
SUITE = SuiteSpec(command="pytest", timeout_s=60.0, decide=failed)
VERIFIER = VerifierSpec(
    command="tests/test.sh", timeout_s=60.0, reward_path="/logs/r", details_path="/logs/d", env={"A": "b"}
)
SPECS = (COMMAND, SUITE, VERIFIER)


def test_there_is_an_example_of_every_spec() -> None:
    assert {type(spec) for spec in SPECS} == set(get_args(BenchSpec))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: type(spec).__name__)
def test_the_bench_takes_each_of_its_specs_as_it_is(spec: BenchSpec) -> None:
    assert bench_spec(entry(spec)) is spec


def test_a_grader_that_runs_nothing_cannot_be_run() -> None:
    with pytest.raises(GraderFault, match="the grader it of type scripted runs nothing"):
        bench_spec(entry(None))


def test_a_spec_that_the_bench_does_not_know_is_refused() -> None:
    with pytest.raises(GraderFault, match="runs the spec ExecutionSpec, which the bench does not know"):
        bench_spec(entry(ExecutionSpec(command="make test", timeout_s=60.0)))


def test_graders_that_run_nothing_are_left_out_of_the_specs_of_a_contract() -> None:
    assert [*bench_specs([entry(None), entry(COMMAND), entry(None), entry(SUITE)])] == [COMMAND, SUITE]


def test_only_a_verifier_has_variables_of_its_own() -> None:
    assert [own_variables(spec) for spec in SPECS] == [{}, {}, {"A": "b"}]
