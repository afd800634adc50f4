"""What an author should look at twice is a warning, not a fault."""

from __future__ import annotations

from pathlib import Path

from contract_folders import Git, Writer

CHECKS = [{"id": "accept", "cmd": "x"}]
PATCH = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-print(1)\n+print(compute_the_total(price))\n"


def test_a_contract_without_a_reference_is_warned_about(writer: Writer) -> None:
    writer.write()
    assert writer.warnings() == ["oracle: no reference solution, so solvability is unproven"]


def test_a_sound_contract_has_no_warnings(writer: Writer) -> None:
    writer.write({"fix.patch": PATCH}, oracle={"checks": CHECKS, "reference": "fix.patch"})
    assert writer.warnings() == []


def test_a_brief_that_contains_the_reference_is_warned_about(writer: Writer) -> None:
    brief = "Please write print(compute_the_total(price)) instead."
    writer.write({"fix.patch": PATCH}, brief=brief, oracle={"checks": CHECKS, "reference": "fix.patch"})
    assert writer.warnings() == ["brief: contains lines of the reference"]
    writer.write(
        {"b.md": brief}, brief=..., brief_file="b.md", oracle={"checks": CHECKS, "reference": "fix.patch"}
    )
    assert writer.warnings() == ["brief_file: contains lines of the reference"]


def test_an_empty_submodule_is_warned_about(writer: Writer, repository: Git) -> None:
    repository("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},deps/inner")
    repository("commit", "-q", "-m", "pin")
    writer.write(repository={"git": "../upstream", "commit": repository("rev-parse", "HEAD")})
    assert "repository.submodules: the submodule deps/inner is left empty" in writer.warnings()


def test_a_hidden_file_that_agents_see_is_warned_about(writer: Writer) -> None:
    checks = [{"id": "accept", "cmd": "x", "inject": ["repo/a.py"]}]
    writer.write(repository={"tree": "./repo"}, oracle={"checks": checks})
    assert "repository.tree: repo/a.py is used for grading, and agents can read it" in writer.warnings()


def test_the_examples_of_the_project_have_no_warnings(writer: Writer) -> None:
    from steelyard.contract.load import examine_contract, find_contracts
    from steelyard.graders.catalogue import CATALOGUE

    examples = find_contracts([Path(__file__).parents[3] / "examples"])
    assert len(examples) >= 2
    for folder in examples:
        assert examine_contract(folder, CATALOGUE, writer.store).warnings == []


def test_a_warning_about_a_command_names_the_option_that_holds_it(writer: Writer) -> None:
    from steelyard.contract.load import examine_contract
    from steelyard.graders.catalogue import CATALOGUE

    check = {"id": "accept", "type": "swebench", "fail_to_pass": ["x"], "cmd_prefix": "make test | tee"}
    writer.write(oracle={"checks": [check]})
    warnings = examine_contract(writer.folder, CATALOGUE, writer.store).warnings
    assert "oracle.checks[0].cmd_prefix" in [one.field for one in warnings if "`tee`" in one.message]
