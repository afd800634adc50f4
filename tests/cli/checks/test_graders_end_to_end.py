"""Each type of grader through the command line, on the real bench: what it credits, what it refuses, what it says."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from authoring import Author, CliResult, Steelyard
from offline_pytest import ARCHIVE, SETUP, pytest_archive

Script = Callable[[str], str]

CART = "def total(prices):\n    return 0\n\n\ndef first(prices):\n    return prices[0]\n"
FIXED = CART.replace("return 0", "return sum(prices)")
BROKEN = FIXED.replace("prices[0]", "prices[1]")
HALF = CART.replace("return 0", "return 6 if len(prices) == 3 else 0")
TESTS = (
    "from cart import first, total\n\n\n"
    "def test_total():\n    assert total([1, 2, 3]) == 6\n\n\n"
    "def test_of_two():\n    assert total([1, 2]) == 3\n\n\n"
    "def test_first():\n    assert first([7, 8]) == 7\n"
)
FILES = {"repo/cart.py": CART, "repo/README.md": "carts\n", "hidden/test_cart.py": TESTS}
BY_HAND = "test -f cart.py"
PYTHON = ("pytest", "swebench")


def patch(before: str, after: str, path: str = "cart.py") -> str:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    body = "".join(f"-{line}" for line in old) + "".join(f"+{line}" for line in new)
    return f"--- a/{path}\n+++ b/{path}\n@@ -1,{len(old)} +1,{len(new)} @@\n{body}"


def added(path: str, text: str) -> str:
    lines = text.splitlines(keepends=True)
    head = f"diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n"
    return head + "".join(f"+{line}" for line in lines)


class Stage:
    """A contract about a cart, and patches to grade against it."""

    def __init__(self, steelyard: Steelyard, author: Author, tmp_path: Path, archive: Path) -> None:
        self.steelyard, self.author, self.tmp_path, self.archive = steelyard, author, tmp_path, archive

    def grade(
        self, change: str, *graders: dict[str, Any], files: Mapping[str, str] | None = None, **keys: Any
    ) -> CliResult:
        # One run of the tests is enough where the test is about what a grader makes of their results.
        mode = keys.pop("mode", "in_process")
        oracle = {"mode": mode, "checks": [{"id": "there", "cmd": BY_HAND}], **keys.pop("oracle", {})}
        if any(one["type"] in PYTHON for one in (*graders, *oracle["checks"]) if "type" in one):
            self._bring_pytest()
            keys["setup"] = [SETUP]
        folder = self.author.write({**FILES, **(files or {})}, oracle=oracle, graders=list(graders), **keys)
        (self.tmp_path / "p.diff").write_text(change)
        return self.steelyard("grade", folder, "--patch", self.tmp_path / "p.diff", "--json")

    def _bring_pytest(self) -> None:
        place = self.author.folder / "repo" / ARCHIVE
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.archive, place)


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = pytest_archive(tmp_path_factory.mktemp("pytest"))
    return made


@pytest.fixture
def stage(steelyard: Steelyard, author: Author, tmp_path: Path, archive: Path) -> Stage:
    return Stage(steelyard, author, tmp_path, archive)


def graded(result: CliResult, name: str) -> dict[str, Any]:
    assert result.out, result.err
    return next(one for one in result.line["grades"] if one["name"] == name)


PYTEST = {"type": "pytest", "inject": ["hidden/test_cart.py"]}


@pytest.mark.parametrize(
    ("after", "outcome", "score"),
    [
        (FIXED, "pass", 1.0),
        (HALF, "fail", 2 / 3),
        (CART + "# later\n", "fail", 1 / 3),
        (BROKEN, "fail", 2 / 3),
    ],
    ids=["fixed", "half", "nothing", "broken"],
)
def test_hidden_tests_give_the_part_that_passes(stage: Stage, after: str, outcome: str, score: float) -> None:
    result = stage.grade(patch(CART, after), PYTEST, mode="twin")
    grade = graded(result, "pytest")
    assert (grade["outcome"], grade["score"]) == (outcome, pytest.approx(score)), grade
    # Half of the weight is the check's, which passes.
    assert result.line["score"] == pytest.approx((1 + score) / 2)
    assert result.line["verdict"] == ("pass" if outcome == "pass" else "fail")


def test_a_part_that_reaches_both_thresholds_passes(stage: Stage) -> None:
    result = stage.grade(patch(CART, HALF), {**PYTEST, "pass_threshold": 0.5}, pass_threshold=0.8)
    assert (graded(result, "pytest")["outcome"], result.line["verdict"]) == ("pass", "pass")


def test_a_gate_of_tests_zeroes_the_score(stage: Stage) -> None:
    result = stage.grade(patch(CART, HALF), {**PYTEST, "gate": True})
    assert (result.line["score"], result.line["verdict"], result.line["gates"]["acceptance"]) == (
        0.0,
        "fail",
        "fail",
    )


def test_a_check_of_tests_must_reach_its_threshold(stage: Stage) -> None:
    check = {**PYTEST, "id": "hidden", "pass_threshold": 0.6}
    result = stage.grade(patch(CART, HALF), oracle={"checks": [check]}, pass_threshold=0.5)
    assert (result.line["acceptance"], result.line["verdict"]) == ("success", "pass")
    assert result.line["score"] == pytest.approx(2 / 3)
    result = stage.grade(patch(CART, CART + "#\n"), oracle={"checks": [check]}, pass_threshold=0.5)
    assert (result.line["acceptance"], result.line["score"]) == ("failure", 0.0)


def test_declared_ids_decide(stage: Stage) -> None:
    ids = ["test_cart.py::test_total", "test_first"]
    result = stage.grade(patch(CART, HALF), {**PYTEST, "ids": ids})
    assert graded(result, "pytest")["score"] == 1.0
    result = stage.grade(patch(CART, FIXED), {**PYTEST, "ids": [*ids, "test_absent"]})
    assert graded(result, "pytest")["score"] == pytest.approx(2 / 3)
    assert "not reported: test_absent" in graded(result, "pytest")["why"]


def test_a_candidates_own_tests_earn_nothing(stage: Stage) -> None:
    own = added("test_mine.py", "def test_mine():\n    assert True\n")
    result = stage.grade(own, {"type": "pytest"})
    grade = graded(result, "pytest")
    assert (grade["outcome"], grade["score"]) == ("fail", 0.0), grade


def test_code_that_cannot_be_imported_fails(stage: Stage) -> None:
    result = stage.grade(patch(CART, "raise SystemExit(0)\n"), PYTEST)
    assert (graded(result, "pytest")["outcome"], graded(result, "pytest")["score"]) == ("fail", 0.0)


def test_a_command_without_a_known_report_is_one_result(stage: Stage) -> None:
    tests = {"type": "tests", "cmd": "sh run.sh", "inject": ["hidden/run.sh"]}
    result = stage.grade(patch(CART, FIXED), tests, files={"hidden/run.sh": "exit 1\n"})
    assert (graded(result, "tests")["outcome"], graded(result, "tests")["score"]) == ("fail", 0.0)


NODE = (
    "const { test } = require('node:test');\nconst assert = require('node:assert');\n"
    "const { total } = require('../cart.js');\n"
    "test('three words here', () => { assert.strictEqual(total([1, 2]), 3); });\n"
    "test('of none', () => { assert.strictEqual(total([]), 0); });\n"
)
JS = "exports.total = (prices) => 0;\n"


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
@pytest.mark.parametrize(("ids", "score"), [([], 0.5), (["three words here"], 0.0), (["of none"], 1.0)])
def test_node_tests_are_asked_for_by_their_words(stage: Stage, ids: list[str], score: float) -> None:
    tests = {
        "type": "tests",
        "cmd": "node --test test/",
        "inject": [{"src": "hidden/cart.test.js", "dest": "test/cart.test.js"}],
    }
    result = stage.grade(
        added("more.js", "// more\n"),
        {**tests, "ids": ids},
        files={"repo/cart.js": JS, "hidden/cart.test.js": NODE},
        environment={"toolchains": {"node": _node_release()}, "processes": 256},
    )
    assert graded(result, "tests")["score"] == score, graded(result, "tests")


def _node_release() -> str:
    result = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout
    return result.strip().removeprefix("v").partition(".")[0]


XML = (
    '<testsuite name="cart"><testcase classname="Cart" name="adds"/>'
    '<testcase classname="Cart" name="{name}"><failure message="no"/></testcase></testsuite>'
)


def test_a_report_that_the_command_writes_is_read(stage: Stage) -> None:
    tests = {"type": "tests", "cmd": "sh run.sh", "inject": ["hidden/run.sh"], "junit_xml": "reports/*.xml"}
    script = f"mkdir -p reports\necho '{XML.format(name='subtracts')}' > reports/cart.xml\nexit 1\n"
    result = stage.grade(patch(CART, FIXED), tests, files={"hidden/run.sh": script})
    grade = graded(result, "tests")
    assert (grade["outcome"], grade["score"]) == ("fail", 0.5), grade


def test_a_suite_that_does_not_end_is_an_error(stage: Stage) -> None:
    tests = {"type": "tests", "cmd": "sleep 30", "timeout_s": 1}
    assert graded(stage.grade(patch(CART, FIXED), tests), "tests")["outcome"] == "error"


# ---- swebench
OLD_TESTS = "from cart import first\n\n\ndef test_first():\n    assert first([7, 8]) == 7\n"
IN_REPO = {"repo/tests/test_cart.py": OLD_TESTS, "repo/conftest.py": "", "tests.patch": patch(OLD_TESTS, TESTS, "tests/test_cart.py")}  # fmt: skip
SWEBENCH = {
    "type": "swebench",
    "patch": "tests.patch",
    "fail_to_pass": ["tests/test_cart.py::test_total", "tests/test_cart.py::test_of_two"],
    "pass_to_pass": ["tests/test_cart.py::*"],
}


def test_swebench_reads_a_report_that_the_command_writes(stage: Stage) -> None:
    check = {
        "type": "swebench",
        "cmd_prefix": "sh run.sh",
        "junit_xml": "reports/*.xml",
        "inject": ["hidden/run.sh"],
        "fail_to_pass": ["Cart::adds", "subtracts"],
    }
    script = f"mkdir -p reports\necho '{XML.format(name='subtracts')}' > reports/cart.xml\nexit 1\n"
    grade = graded(stage.grade(patch(CART, FIXED), check, files={"hidden/run.sh": script}), "swebench")
    assert (grade["outcome"], grade["score"], grade["data"]["resolution"]) == ("fail", 0.5, "partial"), grade


@pytest.mark.parametrize(
    ("after", "resolution", "score", "combined"),
    [
        (FIXED, "full", 1.0, 1.0),
        (HALF, "partial", 0.5, 0.75),
        (CART + "#\n", "no", 0.0, 0.5),
        (BROKEN, "no", 0.0, 0.0),
    ],
    ids=["full", "partial", "nothing", "broken"],
)
def test_swebench_with_a_test_patch_scores_what_it_resolves(
    stage: Stage, after: str, resolution: str, score: float, combined: float
) -> None:
    result = stage.grade(patch(CART, after), SWEBENCH, files=IN_REPO)
    grade = graded(result, "swebench")
    assert (grade["data"]["resolution"], grade["score"]) == (resolution, score), grade
    assert result.line["score"] == pytest.approx(combined)
    assert result.line["verdict"] == ("pass" if resolution == "full" else "fail")
    assert f"resolution {resolution}" in grade["why"]


def test_the_candidates_version_of_a_patched_test_is_not_what_runs(stage: Stage) -> None:
    cheat = patch(CART, CART + "#\n") + patch(
        OLD_TESTS, "def test_total(): pass\ndef test_of_two(): pass\n", "tests/test_cart.py"
    )
    assert graded(stage.grade(cheat, SWEBENCH, files=IN_REPO), "swebench")["score"] == 0.0


def test_a_test_patch_may_move_a_test(stage: Stage) -> None:
    moved = (
        "diff --git a/tests/test_cart.py b/tests/test_moved.py\nsimilarity index 100%\n"
        "rename from tests/test_cart.py\nrename to tests/test_moved.py\n"
    )
    grader = {"type": "swebench", "patch": "tests.patch", "fail_to_pass": ["tests/test_moved.py::test_first"]}
    old = {"pass_to_pass": ["tests/test_cart.py::*"], "cmd_prefix": "python3 -m pytest tests"}
    files = {**IN_REPO, "tests.patch": moved}
    assert graded(stage.grade(patch(CART, FIXED), grader, files=files), "swebench")["score"] == 1.0
    assert graded(stage.grade(patch(CART, FIXED), {**grader, **old}, files=files), "swebench")["score"] == 0.0


def test_a_test_patch_that_does_not_apply_is_found_by_check(stage: Stage, steelyard: Steelyard) -> None:
    wrong = {**IN_REPO, "tests.patch": IN_REPO["tests.patch"].replace("-def test_first", "-def test_last")}
    folder = stage.author.write(
        {**FILES, **wrong}, oracle={"checks": [{"id": "x", "cmd": BY_HAND}]}, graders=[SWEBENCH]
    )
    result = steelyard("check", folder)
    assert result.code == 2
    assert "graders[0].patch: does not apply: tests/test_cart.py" in result.out


# ---- evidence only
def test_files_scores_expected_files_and_patterns(stage: Stage) -> None:
    files = {"expected/docs/cart.md": "# Carts\n"}
    grader = {"type": "files", "expect_dir": "expected", "patterns": ["sum\\(", "retry"]}
    result = stage.grade(patch(CART, FIXED) + added("docs/cart.md", "# Carts\n"), grader, files=files)
    grade = graded(result, "files")
    assert (grade["score"], grade["outcome"]) == (pytest.approx(2 / 3), "fail")
    assert "nowhere: retry" in grade["why"]


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (patch(CART, FIXED), "pass"),
        (patch(CART, CART.replace("return 0", "raise NotImplementedError")), "fail"),
        (patch("carts\n", "more carts\n", "README.md"), "fail"),
        (added("tests/test_new.py", TESTS), "fail"),
    ],
    ids=["code", "stub", "document", "test"],
)
def test_implemented_is_a_gate(stage: Stage, change: str, outcome: str) -> None:
    result = stage.grade(change, {"type": "implemented"})
    assert graded(result, "implemented")["outcome"] == outcome
    assert graded(result, "implemented")["gate"] is True
    assert (result.line["verdict"], result.line["score"]) == (
        ("pass", 1.0) if outcome == "pass" else ("fail", 0.0)
    )


def test_a_trace_that_is_not_there_changes_nothing(
    steelyard: Steelyard, author: Author, script: Script
) -> None:
    graders = [
        {"type": "trace", "require_tools": [{"kind": "write"}], "weight": 5},
        {"type": "efficiency", "target_cost_usd": 0.1, "weight": 5},
    ]
    folder = author.write(graders=graders)
    result = steelyard("run", folder, "--agent", script("echo 'echo $(($1 + $2))' > add.sh\n"), "--json")
    assert [graded(result, name)["outcome"] for name in ("trace", "efficiency")] == ["not_applicable"] * 2
    assert (result.line["verdict"], result.line["score"]) == ("pass", 1.0)


# ---- advice
def test_what_was_done_to_the_tests_is_said_with_its_line_and_costs_nothing(stage: Stage) -> None:
    weaker = OLD_TESTS.replace("    assert first([7, 8]) == 7\n", "    first([7, 8])\n")
    result = stage.grade(patch(CART, FIXED) + patch(OLD_TESTS, weaker, "tests/test_cart.py"), files=IN_REPO)
    found = {(one["id"], one["severity"]): one["where"] for one in result.line["findings"]}
    assert found["assertion_removed", "warning"] == "tests/test_cart.py (was line 5)"
    assert found["test_changed", "info"] == "tests/test_cart.py"
    assert result.line["verdict"] == "pass"
