"""A split oracle in two real sandboxes: unchanged tests work where data is enough, and say so where it is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from split_candidate import AROUND, CHANGE, OBJECTS, REFUSED, TREE, WORKS
from split_stage import SplitStage, details, outcomes

from steelyard.bench.runners.base import RunnerResult

SANDBOXES = ["bubblewrap", "docker"]


def names(text: str) -> list[str]:
    return re.findall(r"^def (test_\w+)", text, re.MULTILINE)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, home_of_pytest: Path, kind: str) -> RunnerResult:
    """All of it in one suite: a sandbox takes longer to start than a test to run."""
    hidden = {"tests/test_works.py": WORKS, "tests/test_refused.py": REFUSED, "tests/test_around.py": AROUND}
    stage = SplitStage(tmp_path_factory.mktemp("split"), home_of_pytest, kind)
    ran = stage.run(TREE, hidden, change=CHANGE, objects=OBJECTS)
    assert not ran.reported.problems, ran.finished.stderr.text
    assert not ran.reported.tampering
    return ran


@pytest.mark.parametrize("name", [*names(WORKS), *names(AROUND), "test_visible"])
def test_what_can_cross_passes(ran: RunnerResult, name: str) -> None:
    assert outcomes(ran)[name] == "passed", details(ran)


REASONS = {
    "test_a_callback": "cannot call back",
    "test_patching_a_constant": "nothing of the candidate's can be replaced",
    "test_patching_a_function": "nothing of the candidate's can be replaced",
    "test_a_path": "use candidate.write and .read",
    "test_comparing_an_object_with_data": "ask it for data, and compare that",
    "test_comparing_an_object_with_data_the_other_way": "ask it for data, and compare that",
    "test_deriving_a_class": "a class derived from the candidate's Cart",
    "test_an_object_that_is_not_listed": "list 'shop.core:hidden' under the check's `objects`",
    "test_an_object_that_is_not_listed_is_no_error_of_its_own": "which is not plain data",
    "test_a_method_of_what_arrived_as_data": "arrived as data",
    "test_data_without_an_end": "levels deep, or containing itself",
    "test_importing_whatever_there_is": "name what the tests use",
    "test_a_module_of_somebody_else": "not one of the candidate's",
}


@pytest.mark.parametrize("name", names(REFUSED))
def test_it_is_refused_by_name(ran: RunnerResult, name: str) -> None:
    """So that an author learns it when certifying the contract."""
    (result,) = (one for one in ran.reported.results if one.id.endswith(f"::{name}"))
    assert result.outcome == "failed"
    assert REASONS[name] in result.detail
