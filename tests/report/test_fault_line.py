"""A trial that could not be run has a result line of its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import jsonschema
import pytest

from steelyard.cli.console.faults import print_faults
from steelyard.cli.console.output import exit_code
from steelyard.errors import (
    ContractFault,
    InfraFault,
    MissingCapability,
    OperatorFault,
    Problem,
    SteelyardError,
)
from steelyard.plan.trial import Retry, Trial
from steelyard.report.fault_line import fault_line
from steelyard.report.result import result_schema
from steelyard.report.short_line import short_line
from steelyard.report.summary import summarise

CONTRACT: Any = SimpleNamespace(id="sum", digest="a" * 64, spec=SimpleNamespace(workspace="code"))
FAULT = ContractFault(Problem("contract.yaml", "setup[0]", "exit 1\nno such index", "mend it"))


def line(fault: SteelyardError = FAULT, retries: tuple[Retry, ...] = ()) -> dict[str, Any]:
    return fault_line(Trial(cast("Any", CONTRACT), "noop"), "noop", fault, retries)


def test_a_line_without_a_run_fits_the_schema() -> None:
    jsonschema.validate(line(), result_schema())


@pytest.mark.parametrize(
    ("fault", "kind", "code"),
    [
        (FAULT, "contract", 2),
        (OperatorFault("no such agent"), "operator", 2),
        (InfraFault("the disk is full"), "infrastructure", 3),
        (MissingCapability("no python"), "infrastructure", 3),
    ],
)
def test_the_fault_decides_the_exit_code(fault: SteelyardError, kind: str, code: int) -> None:
    assert (line(fault)["fault"], exit_code([line(fault)])) == (kind, code)


def test_a_fault_is_neither_passed_nor_failed() -> None:
    (summary,) = summarise([line()])
    assert (summary.trials, summary.invalid, summary.passed.trials) == (1, 1, 0)


def test_the_line_counts_the_attempts() -> None:
    assert line(retries=(Retry(2, "full", 1.0),))["attempt"] == 2


def test_the_reason_has_every_line_of_the_problem() -> None:
    assert "contract.yaml: setup[0]: exit 1 (mend it)" in line()["reason"]
    assert "no such index" in line()["reason"]


def test_one_message_tells_how_many_trials_a_fault_cost(capsys: pytest.CaptureFixture[str]) -> None:
    passed = {"fault": None, "reason": ""}
    print_faults([short_line(line()), short_line(line()), passed])
    assert capsys.readouterr().err.startswith(
        "steelyard: 2 of 3 trials could not be run: contract.yaml: setup[0]"
    )


def test_a_command_of_one_trial_says_only_why(capsys: pytest.CaptureFixture[str]) -> None:
    print_faults([line(InfraFault("the disk is full"))])
    assert capsys.readouterr().err == "steelyard: the disk is full\n"
