"""`certify`: sound contracts are certified; one that flakes, or that a cheat passes, is not."""

from __future__ import annotations

from typing import Any

from authoring import PYTHON_FILES, Author, CliResult, Steelyard

TESTS = {
    **PYTHON_FILES,
    "hidden/test_calc.py": "import unittest\nfrom calc import add\n\n\nclass Adds(unittest.TestCase):\n"
    "    def test_small(self):\n        self.assertEqual(add(2, 3), 5)\n\n"
    "    def test_large(self):\n        self.assertEqual(add(20, 30), 50)\n",
}
HIDDEN = {"id": "hidden", "timeout_s": 60, "inject": [{"src": "hidden/test_calc.py", "dest": "test_calc.py"}]}
SOUND = {"type": "tests", "cmd": "python3 -m unittest test_calc.py", **HIDDEN}
# Trusts an exit code, which the program under test decides.
WEAK = {"type": "command", "cmd": "python3 -m unittest test_calc.py", **HIDDEN}
PYTHON: dict[str, Any] = {
    "environment": {
        "toolchains": {"python": "3"},
        "memory_mb": {"guaranteed": 64, "limit": 512},
        "disk_mb": 64,
    }
}


def rows(result: CliResult, part: str) -> dict[str, str]:
    return {one["name"]: one["came"] for one in result.line["parts"][part]}


def oracle(check: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"checks": [check], "reference": "reference.patch", **keys}


def test_a_sound_contract_is_certified_once(author: Author, steelyard: Steelyard) -> None:
    folder = author.write(TESTS, **PYTHON, oracle=oracle(SOUND), metadata={"language": "python"})
    result = steelyard("certify", folder, "--repeats", 2, "--json")
    assert result.code == 0, result.out + result.err
    assert result.line["certified"]
    assert set(rows(result, "repeats").values()) == set(rows(result, "cheats").values()) == {"as_expected"}
    assert {"python-exit", "python-equal", "python-conftest"} <= set(rows(result, "cheats"))
    assert result.line["size"]["strata"][:3] == ["python", "small", "few-imports"]
    (reference, *_) = result.line["parts"]["repeats"]
    assert reference["got"] == "pass in 2 of 2 [16%, 100%]"
    again = steelyard("certify", folder, "--json")
    assert (again.code, again.line["earlier"]) == (0, True)
    plan = steelyard("plan", folder, "--agent", "noop", "--certified", "--out", folder / "study.yaml")
    assert plan.code == 0, plan.err
    assert "not certified" not in plan.out


def test_a_check_that_trusts_an_exit_code_is_not_certified_and_the_cheat_is_named(
    author: Author, steelyard: Steelyard
) -> None:
    folder = author.write(TESTS, **PYTHON, oracle=oracle(WEAK))
    result = steelyard("certify", folder, "--repeats", 2, "--json")
    assert (result.code, result.line["certified"]) == (2, False)
    assert rows(result, "cheats")["python-exit"] == "otherwise"
    assert {one["folder"] for one in result.line["parts"]["cheats"]} == {""}, "the runs are not kept"
    plan = steelyard("plan", folder, "--agent", "noop", "--out", folder / "study.yaml")
    assert "1 of 1 contracts not certified" in plan.out
    refused = steelyard("plan", folder, "--agent", "noop", "--out", folder / "other.yaml", "--certified")
    assert refused.code == 2
    assert "not certified: sum" in refused.err
    assert not (folder / "other.yaml").exists()


def test_a_check_that_flakes_is_named_unless_the_contract_tolerates_it(
    author: Author, steelyard: Steelyard
) -> None:
    # Its outcome follows the seed of the repeat, which is the same on every machine.
    flaky = {"id": "adds", "cmd": "sh check.sh && [ $((PYTHONHASHSEED % 2)) = 0 ]", "timeout_s": 60}
    folder = author.write(oracle=oracle(flaky))
    result = steelyard("certify", folder, "--repeats", 8, "--json")
    assert result.code == 2
    found = rows(result, "repeats")
    assert (found["reference"], found["check adds"]) == ("otherwise", "otherwise")
    tolerant = author.write(oracle=oracle(flaky, tolerance=1.0))
    assert steelyard("certify", tolerant, "--repeats", 8, "--json").code == 0


def test_a_part_of_the_reference_that_no_check_notices_is_advice(
    author: Author, steelyard: Steelyard
) -> None:
    reference = (
        "diff --git a/add.sh b/add.sh\n--- a/add.sh\n+++ b/add.sh\n@@ -1 +1 @@\n"
        "-echo $(($1 - $2))\n+echo $(($1 + $2))\n"
        "diff --git a/other.sh b/other.sh\nnew file mode 100644\n--- /dev/null\n+++ b/other.sh\n@@ -0,0 +1 @@\n+true\n"
    )
    check = {"id": "adds", "cmd": '[ "$(sh add.sh 2 3)" = 5 ]', "timeout_s": 60}
    result = steelyard(
        "certify",
        author.write({"reference.patch": reference}, oracle=oracle(check)),
        "--repeats",
        2,
        "--json",
    )
    assert result.code == 0, result.out + result.err
    assert rows(result, "partial") == {"without add.sh": "as_expected", "without other.sh": "otherwise"}


def test_a_contract_without_a_reference_is_not_certified(author: Author, steelyard: Steelyard) -> None:
    folder = author.write(oracle={"checks": [{"id": "adds", "cmd": "sh check.sh", "timeout_s": 60}]})
    result = steelyard("certify", folder)
    assert result.code == 2
    assert result.out.startswith("not certified  sum\n")
    assert "the contract has no reference" in result.out


def test_a_table_is_printed_for_people(author: Author, steelyard: Steelyard) -> None:
    check = {"id": "adds", "cmd": '[ "$(sh add.sh 2 3)" = 5 ]', "timeout_s": 60}
    result = steelyard("certify", author.write(oracle=oracle(check)), "--repeats", 2)
    assert result.code == 0, result.out
    assert result.out.startswith("certified      sum  ")
    for words in (
        "The same work gets the same result",
        "Known cheats",
        "Time of each check (advice)",
        "size: ",
    ):
        assert words in result.out
    assert "[shell, small, few-imports, " in result.out
    assert result.out.endswith("assumptions)\n"), "no empty line at the end"
