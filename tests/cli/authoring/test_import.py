"""`steelyard import`: other people's tasks become contracts that `check` accepts and the bench can grade."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from authoring import CliResult, Steelyard

CART = "def total(prices):\n    return 0\n"
FIXED = "def total(prices):\n    return sum(prices)\n"
CASES = (
    "import unittest\n\nfrom cart import total\n\n\nclass Cart(unittest.TestCase):\n"
    "    def test_none(self):\n        self.assertEqual(total([]), 0)\n"
)
HIDDEN = f"{CASES}\n    def test_two(self):\n        self.assertEqual(total([1, 2]), 3)\n"
FIX = (
    "diff --git a/cart.py b/cart.py\n--- a/cart.py\n+++ b/cart.py\n@@ -1,2 +1,2 @@\n"
    " def total(prices):\n-    return 0\n+    return sum(prices)\n"
)
ADD_CASE = (
    "diff --git a/test_cart.py b/test_cart.py\n--- a/test_cart.py\n+++ b/test_cart.py\n@@ -6,3 +6,6 @@\n"
    " class Cart(unittest.TestCase):\n     def test_none(self):\n         self.assertEqual(total([]), 0)\n"
    "+\n+    def test_two(self):\n+        self.assertEqual(total([1, 2]), 3)\n"
)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def written(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((folder / "contract.yaml").read_text())
    return data


def verdicts(steelyard: Steelyard, folder: Path, patch: str) -> list[str]:
    """What the bench says of a patch, and of nothing."""
    (folder.parent / "fix.patch").write_text(patch)
    graded = steelyard("grade", folder, "--patch", folder.parent / "fix.patch", "--json")
    idle = steelyard("run", folder, "--agent", "noop", "--json")
    return [str(result.line["verdict"]) if result.out else result.err for result in (graded, idle)]


# SWE-bench


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = put(tmp_path / "repos" / "ann__cart", {"cart.py": CART, "test_cart.py": CASES})
    own = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run(["git", *own, "-C", folder, *words], check=True)
    return folder


def row(clone: Path, **columns: Any) -> dict[str, Any]:
    head = subprocess.run(
        ["git", "-C", clone, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    return {
        "instance_id": "ann__cart-1",
        "repo": "ann/cart",
        "base_commit": head.stdout.strip(),
        "problem_statement": "total() is always 0",
        "hints_text": "",
        "patch": FIX,
        "test_patch": ADD_CASE,
        "FAIL_TO_PASS": '["test_two (test_cart.Cart)"]',
        "PASS_TO_PASS": ["test_none (test_cart.Cart)"],
        "version": "1.0",
        "environment_setup_commit": "0" * 40,
        "created_at": "2026-03-07",
        **columns,
    }


Rows = Callable[..., CliResult]


@pytest.fixture
def import_rows(steelyard: Steelyard, clone: Path, out: Path, tmp_path: Path) -> Rows:
    def run(*rows: dict[str, Any], options: tuple[object, ...] = ()) -> CliResult:
        path = tmp_path / "rows.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
        prefix = ("--cmd-prefix", "python3 -m unittest")
        result: CliResult = steelyard(
            "import", path, "--out", out, "--repos", clone.parent, *prefix, "--json", *options
        )
        return result

    return run


def test_a_row_of_swe_bench_is_graded_as_its_tests_say(
    import_rows: Rows, steelyard: Steelyard, clone: Path, out: Path
) -> None:
    result = import_rows(row(clone))
    assert (result.code, result.line["status"], result.line["ok"]) == (0, "written", True), result.out
    folder = out / "ann__cart-1"
    assert (folder / "brief.md").read_text() == "total() is always 0"
    assert (folder / "reference.patch").read_text() == FIX
    assert written(folder)["repository"]["git"] == "../../repos/ann__cart"
    assert written(folder)["metadata"]["swebench"]["version"] == "1.0"
    assert verdicts(steelyard, folder, FIX) == ["pass", "fail"]
    assert steelyard("run", folder, "--agent", "reference", "--json").line["verdict"] == "pass"


def test_the_operator_adds_what_a_row_does_not_say(import_rows: Rows, clone: Path, out: Path) -> None:
    options = (
        "--python",
        "3.11",
        "--install",
        "echo one",
        "--install",
        "echo two",
        "--setup-network",
        "host",
    )
    assert import_rows(row(clone), options=("--no-check", *options)).code == 0
    contract = written(out / "ann__cart-1")
    assert contract["environment"] == {"toolchains": {"python": "3.11"}}
    assert (contract["setup"], contract["setup_network"]) == (["echo one", "echo two"], "host")


def test_a_toolchain_that_this_machine_lacks_is_found_by_the_import(
    import_rows: Rows, clone: Path, out: Path
) -> None:
    result = import_rows(row(clone), options=("--python", "3.99"))
    (problem,) = result.line["problems"]
    assert (result.code, result.line["status"], result.line["ok"]) == (3, "written", False)
    assert problem["field"] == "environment.toolchains.python"
    assert (out / "ann__cart-1/contract.yaml").is_file()


def test_the_options_for_rows_reach_the_contract(
    import_rows: Rows, clone: Path, out: Path, tmp_path: Path
) -> None:
    (tmp_path / "env.yaml").write_text('ann/cart: {"1.0": {python: "3.11", timeout_s: 90}}\n')
    drop = ("--drop-id", "test_none (test_cart.Cart)")
    options = ("--no-check", "--only", "*-1", "--env", tmp_path / "env.yaml", "--junit-xml", "r.xml", *drop)
    other = row(clone, instance_id="ann__cart-2")
    assert import_rows(row(clone), other, options=options).line["status"] == "written"
    contract = written(out / "ann__cart-1")
    (check,) = contract["oracle"]["checks"]
    assert contract["environment"] == {"toolchains": {"python": "3.11"}}
    assert (check["timeout_s"], check["junit_xml"], check["pass_to_pass"]) == (90, "r.xml", [])
    assert import_rows(row(clone), options=("--only", "gone")).code == 2
    assert import_rows(row(clone), options=("--timeout", "0")).code == 2


def test_a_wrong_row_is_refused_and_nothing_is_written(import_rows: Rows, clone: Path, out: Path) -> None:
    done = import_rows(row(clone, repo="ann/gone"))
    (problem,) = done.line["problems"]
    assert (done.code, done.line["status"], problem["field"]) == (2, "refused", "repo")
    assert problem["where"].endswith("rows.jsonl:1")
    assert not out.exists()


def test_a_column_may_be_left_out_by_name(import_rows: Rows, clone: Path) -> None:
    assert (
        import_rows(row(clone, image_assets=[]), options=("--ignore", "image_assets", "--no-check")).code == 0
    )


def test_a_test_patch_that_does_not_apply_is_reported(import_rows: Rows, clone: Path) -> None:
    result = import_rows(row(clone, test_patch=ADD_CASE.replace("test_none", "test_other")))
    assert (result.code, result.line["status"]) == (2, "written")
    assert "does not apply" in result.line["problems"][0]["message"]


def test_two_rows_of_one_name_are_a_mistake(import_rows: Rows, clone: Path) -> None:
    result = import_rows(row(clone), row(clone, problem_statement="another"), options=("--no-check",))
    assert [line["status"] for line in result.lines] == ["written", "refused"]
    assert "rows.jsonl:1 too" in result.lines[1]["problems"][0]["message"]


def test_importing_again_changes_nothing_and_replaces_only_by_force(
    import_rows: Rows, clone: Path, out: Path
) -> None:
    def status(problem: str, *options: str) -> str:
        done = import_rows(row(clone, problem_statement=problem), options=("--no-check", *options))
        return str(done.line["status"])

    assert [status("a"), status("a"), status("b")] == ["written", "unchanged", "refused"]
    assert (out / "ann__cart-1/brief.md").read_text() == "a"
    assert status("b", "--force") == "replaced"
    assert (out / "ann__cart-1/brief.md").read_text() == "b"
    assert [path.name for path in out.iterdir()] == ["ann__cart-1"]


def test_a_folder_that_is_no_contract_is_never_replaced(import_rows: Rows, clone: Path, out: Path) -> None:
    put(out, {"ann__cart-1/mine": "keep\n"})
    assert import_rows(row(clone), options=("--force",)).line["status"] == "refused"
    assert (out / "ann__cart-1/mine").read_text() == "keep\n"


def test_without_clones_the_fix_is_named(
    steelyard: Steelyard, clone: Path, out: Path, tmp_path: Path
) -> None:
    (tmp_path / "row.json").write_text(json.dumps([row(clone)]))
    result = steelyard("import", tmp_path / "row.json", "--out", out)
    assert result.code == 2
    assert "--repos DIR" in result.out
    assert "1 refused" in result.err


# touchstone

CASE = """\
id: cart
description: a cart that cannot add
task:
  prompt: Make total() add.
  instruction_files: [notes.md]
source: {path: ./source}
matrix: {harnesses: [echo], models: [none], trials: 3}
graders:
  - {type: tests, weight: 4.0, cmd: "python3 -m unittest test_hidden", inject: ["./hidden/test_hidden.py"]}
  - {type: command, cmd: "python3 -c 'import cart'", weight: 1.0}
  - {type: implemented, gate: true}
  - {type: files, weight: 1.0, patterns: ["sum"], expect_dir: ./expected}
  - {type: efficiency, target_tool_calls: 20, weight: 2.0}
expect: {pass_threshold: 0.9}
"""
CASE_FILES = {
    "case.yaml": CASE,
    "notes.md": "Prices are numbers.\n",
    "source/cart.py": CART,
    "hidden/test_hidden.py": HIDDEN,
    "expected/cart.py": FIXED,
}
Cases = Callable[..., CliResult]


@pytest.fixture
def import_case(steelyard: Steelyard, out: Path, tmp_path: Path) -> Cases:
    def run(case: str = CASE, options: tuple[object, ...] = (), **files: str) -> CliResult:
        put(tmp_path / "evals" / "one", {**CASE_FILES, "case.yaml": case, **files})
        result: CliResult = steelyard("import", tmp_path / "evals", "--out", out, "--json", *options)
        return result

    return run


def test_a_touchstone_case_is_graded_as_there(import_case: Cases, steelyard: Steelyard, out: Path) -> None:
    result = import_case()
    assert (result.code, result.line["format"]) == (0, "touchstone"), result.out
    assert (out / "cart/brief.md").read_text() == "Make total() add.\n\n## notes.md\nPrices are numbers.\n"
    assert written(out / "cart")["pass_threshold"] == 0.9
    assert verdicts(steelyard, out / "cart", FIX) == ["pass", "fail"]


def test_a_part_of_the_work_has_its_part_of_the_score(
    import_case: Cases, steelyard: Steelyard, out: Path, tmp_path: Path
) -> None:
    """Half of four, one of one, one of two of one: 3.5 of 6, below 0.9 and above 0.5."""
    half = FIX.replace("sum(prices)", "0 * sum(prices)")
    (tmp_path / "half.patch").write_text(half)
    for threshold, verdict in (("0.9", "fail"), ("0.5", "pass")):
        assert import_case(CASE.replace("0.9", threshold), ("--force",)).code == 0
        line = steelyard("grade", out / "cart", "--patch", tmp_path / "half.patch", "--json").line
        assert (line["verdict"], round(line["score"], 4)) == (verdict, round(3.5 / 6, 4))


def test_the_command_of_pytest_is_that_of_the_hidden_tests(import_case: Cases, out: Path) -> None:
    case = CASE.replace(
        'type: tests, weight: 4.0, cmd: "python3 -m unittest test_hidden"', "type: pytest, weight: 4.0"
    )
    assert import_case(case).code == 0
    check = written(out / "cart")["oracle"]["checks"][0]
    assert check["cmd"] == "python3 -m pytest -q -p no:cacheprovider test_hidden.py"
    assert (check["timeout_s"], check["mandatory"], check["weight"]) == (300, False, 4.0)


def test_an_environment_becomes_setup(import_case: Cases, out: Path) -> None:
    wanted = "environment: {requirements: [markupsafe, 'a>1'], install: editable, env: {A: '1'}}\nsetup: {run: [make]}\n"
    assert import_case(CASE + wanted, ("--install", "echo mine")).code == 0
    contract = written(out / "cart")
    pip, *others = contract["setup"]
    assert pip.endswith("-m pip install --user --quiet markupsafe 'a>1' -e .")
    assert (others, contract["setup_network"]) == (["make", "echo mine"], "host")
    assert contract["environment"] == {"env": {"A": "1"}}


def test_a_hidden_file_that_leads_out_is_refused(
    import_case: Cases, steelyard: Steelyard, out: Path, tmp_path: Path
) -> None:
    import_case(options=("--no-check",))
    hidden = put(tmp_path, {"secret": "s\n"}) / "evals/one/hidden/test_hidden.py"
    hidden.unlink()
    hidden.symlink_to(tmp_path / "secret")
    result = steelyard("import", tmp_path / "evals", "--out", out, "--force", "--json")
    assert result.line["status"] == "refused"
    assert "leads out" in result.line["problems"][0]["message"]


# A list of scorers

SCORERS = """\
- {name: Unit tests, type: command, command: python3 -m unittest -q, timeout_s: 60}
- {name: scope, type: allowed_paths, patterns: ["*.py"]}
- {name: small, type: max_files_changed, limit: 2}
- {name: no new skips, type: no_new_skips}
- {name: lint, type: command, command: "false", required: false}
- {name: taste, type: llm_judge, rubric: It reads well.}
"""


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    return put(
        tmp_path / "work",
        {
            "scorers.yaml": SCORERS,
            "brief.md": "Add.\n",
            "fix.patch": FIX,
            "tree/cart.py": CART,
            "tree/test_cart.py": HIDDEN,
        },
    )


def import_scorers(steelyard: Steelyard, scored: Path, out: Path, *options: object) -> CliResult:
    common = ("--brief", scored / "brief.md", "--reference", scored / "fix.patch", "--id", "cart", "--json")
    result: CliResult = steelyard("import", scored / "scorers.yaml", "--out", out, *common, *options)
    return result


def test_scorers_of_a_folder_are_a_contract(steelyard: Steelyard, scored: Path, out: Path) -> None:
    result = import_scorers(steelyard, scored, out, "--tree", scored / "tree")
    assert result.code == 0, result.out
    contract = written(out / "cart")
    assert [check["id"] for check in contract["oracle"]["checks"]] == ["Unit-tests"]
    assert [one["name"] for one in contract["graders"]] == ["scope", "small", "no-new-skips", "lint", "taste"]
    assert verdicts(steelyard, out / "cart", FIX) == ["pass", "fail"]


def test_a_required_scorer_gates(steelyard: Steelyard, scored: Path, out: Path) -> None:
    (scored / "scorers.yaml").write_text(SCORERS.replace('["*.py"]', '["src/*"]'))
    assert import_scorers(steelyard, scored, out, "--tree", scored / "tree").code == 0
    assert verdicts(steelyard, out / "cart", FIX) == ["fail", "fail"]


def test_scorers_of_a_repository_are_a_contract(
    steelyard: Steelyard, scored: Path, out: Path, clone: Path
) -> None:
    commit = row(clone)["base_commit"]
    assert import_scorers(steelyard, scored, out, "--git", clone, "--commit", commit).code == 0
    assert written(out / "cart")["repository"] == {"git": "../../repos/ann__cart", "commit": commit}


@pytest.mark.parametrize(
    ("options", "result"),
    [
        ([], "--git PATH --commit ID, or --tree DIR"),
        (["--git", "."], "--git needs --commit"),
        (["--git", "https://example.org/a.git"], "`git clone --mirror https://example.org/a.git repo.git`"),
        (["--git", "git@example.org:a.git"], "`git clone --mirror git@example.org:a.git repo.git`"),
        (["--tree", "gone"], "gone is not a folder"),
    ],
)
def test_scorers_need_a_repository(
    steelyard: Steelyard, scored: Path, out: Path, options: list[str], result: str
) -> None:
    done = import_scorers(steelyard, scored, out, *options)
    assert done.code == 2
    assert result in done.err + done.out
