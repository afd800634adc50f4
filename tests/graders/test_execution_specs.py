"""Each grader that runs something produces its spec; the spec holds everything that the bench needs."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from importlib.metadata import EntryPoint

import pytest

from steelyard.bench.execution_spec import CommandSpec, SuiteSpec, VerifierSpec
from steelyard.bench.suite.reported import Result, SuiteReport
from steelyard.bench.verifier.options import SeparateVerifier
from steelyard.contract.catalogue import GraderEntry, GraderType
from steelyard.errors import GraderFault, OperatorFault
from steelyard.graders.base import Grader, grader_of
from steelyard.graders.catalogue import BUILT_IN, loaded_type
from steelyard.graders.checks.command import Command
from steelyard.graders.checks.inject import Inject
from steelyard.graders.checks.runs_tests import Pytest, ReadsResults, RunsTests
from steelyard.graders.checks.swebench import SweBench
from steelyard.graders.checks.verifier import Verifier
from steelyard.graders.files.file_exists import FileExists
from steelyard.graders.patch_validity import PatchValidity

HIDDEN = (Inject("hidden/x.py", "tests/x.py"),)
INJECTED = (("hidden/x.py", "tests/x.py"),)


@pytest.mark.parametrize("kind", [*BUILT_IN.values(), PatchValidity], ids=lambda kind: str(kind.TYPE))
def test_a_type_defines_an_execution_exactly_if_it_executes(kind: type[Grader]) -> None:
    assert (kind.execution is not Grader.execution) == kind.EXECUTES


def test_a_grader_that_runs_nothing_has_no_spec() -> None:
    assert FileExists("README.md").execution() is None
    assert PatchValidity().execution() is None


def test_the_spec_of_a_command_holds_its_exit_code_and_hidden_files() -> None:
    spec = Command("make test", timeout_s=60.0, expect_exit=3, inject=HIDDEN).execution()
    assert spec == CommandSpec(command="make test", timeout_s=60.0, expect_exit=3, injected=INJECTED)
    assert spec.option == "cmd"


def test_the_spec_of_tests_holds_every_option_of_the_grader() -> None:
    grader = RunsTests(
        "make test",
        inject=HIDDEN,
        ids=("a", "b"),
        junit_xml="out/*.xml",
        test_files=("checks/*",),
        timeout_s=60.0,
        runner="junit",
        candidate=("shop",),
        objects=("shop.Cart",),
    )
    assert grader.execution() == SuiteSpec(
        command="make test",
        timeout_s=60.0,
        injected=INJECTED,
        decide=grader.decide,
        oracle_patterns=("checks/*",),
        runner="junit",
        report="out/*.xml",
        declared=("a", "b"),
        candidate=("shop",),
        objects=("shop.Cart",),
    )


def test_the_spec_of_swebench_holds_its_patch_and_each_id_once() -> None:
    grader = SweBench(
        ("t.py::a",), ("t.py::b", "t.py::b"), inject=HIDDEN, patch="t.patch", cmd_prefix="pytest"
    )
    assert grader.execution() == SuiteSpec(
        command="pytest t.py",
        option="cmd_prefix",
        timeout_s=900.0,
        injected=INJECTED,
        decide=grader.decide,
        patch="t.patch",
        declared=("t.py::a", "t.py::b"),
    )


@pytest.mark.parametrize("grader", [RunsTests("make test"), Pytest(), SweBench(("a",))])
def test_the_grader_decides_from_the_reported_results(grader: ReadsResults) -> None:
    reported = SuiteReport("pytest", "reporter", (Result("a", "passed"),))
    assert grader.execution().decide(reported) == grader.decide(reported)
    assert grader.execution().decide(reported).outcome == "pass"


def test_the_spec_of_a_verifier_holds_its_script_and_where_the_reward_goes() -> None:
    spec = Verifier("tests/test.sh", "/workspace/out.json", env={"A": "b"}).execution()
    assert spec == VerifierSpec(
        command="tests/test.sh",
        timeout_s=900.0,
        output_path="/workspace/out.json",
        reward_path="/logs/verifier/reward.json",
        details_path="/logs/verifier/details.json",
        env={"A": "b"},
    )
    assert (spec.script, spec.option, spec.injected) == ("tests/test.sh", "script", ())


@pytest.mark.parametrize(
    ("verifier", "options"),
    [
        (Verifier("t.sh"), ()),
        (Verifier("t.sh", user=0), ("user",)),
        (Verifier("t.sh", separate=SeparateVerifier()), ("separate",)),
        (Verifier("t.sh", user="ann", separate=SeparateVerifier()), ("user", "separate")),
    ],
)
def test_a_verifier_names_its_options_that_need_a_whole_system(
    verifier: Verifier, options: tuple[str, ...]
) -> None:
    assert verifier.execution().system_options == options


def test_a_spec_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Command("true").execution().timeout_s = 1.0  # type: ignore[misc]  # the point of the test


def test_a_type_that_only_a_contract_knows_cannot_be_graded() -> None:
    entry = GraderEntry("x", "strange", GraderType(), "safety", required=True, weight=0.0)
    with pytest.raises(GraderFault, match="strange"):
        grader_of(entry)


def test_an_installed_grader_must_be_a_subclass_of_grader() -> None:
    assert (
        loaded_type(EntryPoint("mine", "steelyard.graders.checks.command:Command", "steelyard.graders"))
        is Command
    )
    with pytest.raises(OperatorFault, match=r"the installed grader mine .* is not a subclass of Grader"):
        loaded_type(EntryPoint("mine", "pathlib:Path", "steelyard.graders"))
