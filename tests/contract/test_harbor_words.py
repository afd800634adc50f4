"""Problems of a contract that was made of a Harbor task name the task's files, keys and options."""

from __future__ import annotations

import pytest

from steelyard.contract.lint.offline_verifiers import FIX
from steelyard.errors import Problem
from steelyard.importers.harbor.words import WRITE_ONE, in_words_of_harbor


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("oracle.reference", "solution/solve.sh"),
        ("oracle.checks[0].timeout_s", "verifier.timeout_sec"),
        ("oracle.checks[0].env.KEY", "verifier.env.KEY"),
        ("environment.build", "environment/Dockerfile"),
        ("environment.env.PATH", "environment.env.PATH"),
        ("steps[2].reference", "steps[2].solution/solve.sh"),
        ("steps[2].wall_s", "steps[2].agent.timeout_sec"),
        ("", ""),
    ],
)
def test_a_key_of_the_contract_is_that_of_the_task(ours: str, theirs: str) -> None:
    assert in_words_of_harbor(Problem("t", ours, "m")).field == theirs


def test_for_a_verifier_that_fetches_the_option_is_named() -> None:
    result = in_words_of_harbor(Problem("tests/test.sh:3", "", "`curl` needs a network", FIX))
    assert result.fix == "install it in the image, or allow its host with `--network HOST:PORT`"


@pytest.mark.parametrize(
    "fix",
    ["reference: reference.patch", "reference: reference.patch, below `oracle:`", "reference: right.txt"],
)
def test_a_missing_reference_is_a_missing_solution(fix: str) -> None:
    result = in_words_of_harbor(Problem("t", "oracle.reference", "the contract has no reference", fix))
    assert (result.message, result.fix) == ("the task has no solution", WRITE_ONE)
