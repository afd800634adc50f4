"""The same inventions where no reference tells which tests there are, and the snapshot cannot even load them.

What the contract declares, and what the syntax of its files shows, is then all that is known.
"""

from __future__ import annotations

import pytest
from e2e_stage import Line, agent, failed, passed, stage
from test_e2e_invented_tests import (
    CALLED_AS_DECLARED,
    CALLED_AS_IT_IS,
    CHECKS,
    INJECT,
    MANY,
    MENDED,
    SUITE,
    TREE,
    WITH_THE_DOCSTRING,
    score,
)

ROWS = {
    **CHECKS[0],
    "fail_to_pass": ["test_adds (test_sums.Sums)", "test_sums.Sums.test_negative"],
    "pass_to_pass": ["test_nothing (test_sums.Sums)"],
}
house, line = stage(
    {"graders": [], "oracle": {"checks": [one | INJECT for one in (ROWS, CHECKS[1])]}},
    {**TREE, "hidden/test_sums.py": SUITE.replace("import add", "import add, total")},
)
NEW = "echo 'total = sum' >> calc.py"


@agent(CALLED_AS_DECLARED.replace("Two and three are five.", "test_adds (test_sums.Sums)") + NEW)
def test_tests_that_call_themselves_what_is_declared(line: Line) -> None:
    assert failed(line, "acceptance", "0 of 2 passed"), line["why"]


@agent(CALLED_AS_IT_IS + NEW)
def test_tests_that_call_themselves_like_those_that_fail(line: Line) -> None:
    assert failed(line, "acceptance"), line["why"]


@agent(WITH_THE_DOCSTRING + NEW)
def test_tests_with_the_docstring_or_the_last_names_of_those_that_fail(line: Line) -> None:
    assert failed(line, "acceptance"), line["why"]
    assert score(line, "rows") == 0


@agent(MANY + NEW)
def test_two_hundred_tests_for_a_wildcard_to_find(line: Line) -> None:
    assert failed(line, "acceptance")
    assert score(line, "share") == pytest.approx(1 / 3)


@agent(MENDED + NEW)
def test_an_honest_repair_passes(line: Line) -> None:
    assert passed(line), line["why"]
