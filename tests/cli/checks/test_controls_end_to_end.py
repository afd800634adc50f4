"""Controls through the command line: what is accused, what is not, and what the label says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from authoring import Author, Steelyard

EVERYTHING = "class Anything:\n    def __eq__(self, other):\n        return True\n"
CHECK = {
    "id": "suite",
    "type": "tests",
    "cmd": "/usr/bin/python3 -m unittest -v tests.test_it",
    "timeout_s": 60,
}


def patch_to(name: str, old: str, new: str) -> str:
    minus = "".join(f"-{line}\n" for line in old.splitlines())
    plus = "".join(f"+{line}\n" for line in new.splitlines())
    hunk = f"@@ -1,{len(old.splitlines())} +1,{len(new.splitlines())} @@"
    return f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n{hunk}\n{minus}{plus}"


class Desk:
    """A contract with one Python file and one test file, and patches to be graded on it."""

    def __init__(self, steelyard: Steelyard, author: Author, folder: Path) -> None:
        self.steelyard, self.author, self.folder = steelyard, author, folder

    def grade(
        self, *, work: str, tests: str, patch: str, reference: str = "", **check: Any
    ) -> dict[str, Any]:
        hidden = {"inject": [{"src": "hidden/test_it.py", "dest": "tests/test_it.py"}]}
        oracle: dict[str, Any] = {"checks": [{**CHECK, **hidden, **check}]}
        files = {"repo/work.py": work, "hidden/test_it.py": tests, "repo/tests/__init__.py": ""}
        if reference:
            oracle["reference"] = "reference.patch"
            files["reference.patch"] = patch_to("work.py", work, reference)
        folder = self.author.write(files, oracle=oracle)
        change = self.folder / "change.patch"
        change.write_text(patch_to("work.py", work, patch))
        result = self.steelyard("grade", folder, "--patch", change, "--json")
        assert result.out, result.err
        line: dict[str, Any] = result.line
        return line


@pytest.fixture
def desk(steelyard: Steelyard, author: Author, tmp_path: Path) -> Desk:
    return Desk(steelyard, author, tmp_path)


def outcome(line: dict[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((Path(line["folder"]) / "checks/suite/outcome.json").read_text())
    return data


def suite(*bodies: str) -> str:
    methods = "".join(f"    def test_{number}(self):\n{body}\n" for number, body in enumerate(bodies))
    return f"import unittest\nimport work\n\n\nclass Suite(unittest.TestCase):\n{methods}"


def test_a_matcher_that_the_reference_has_too_is_honest(desk: Desk) -> None:
    line = desk.grade(
        work="answer = None\n",
        tests=suite(
            "        self.assertEqual(work.Anything(), 12)", "        self.assertEqual(work.answer, 42)"
        ),
        patch=f"{EVERYTHING}answer = 40 + 2\n",
        reference=f"{EVERYTHING}answer = 42\n",
    )
    assert line["verdict"] == "pass", line["why"]
    assert line["assurance"]["control_coverage"] == 0.5


def test_the_same_matcher_is_a_cheat_where_the_reference_has_none(desk: Desk) -> None:
    line = desk.grade(
        work="answer = None\n",
        tests=suite("        self.assertEqual(work.answer, 42)"),
        patch=f"{EVERYTHING}answer = Anything()\n",
        reference="answer = 42\n",
    )
    assert line["verdict"] == "fail"
    assert "result_forging" in line["tags"]


def test_a_matcher_that_the_snapshot_has_needs_no_reference(desk: Desk) -> None:
    line = desk.grade(
        work=f"{EVERYTHING}answer = None\n",
        tests=suite(
            "        self.assertEqual(work.Anything(), 12)", "        self.assertEqual(work.answer, 42)"
        ),
        patch=f"{EVERYTHING}answer = 42\n",
    )
    assert line["verdict"] == "pass", line["why"]


def test_a_deciding_test_that_needs_the_one_before_it_is_run_again_with_the_whole_suite(desk: Desk) -> None:
    line = desk.grade(
        work="answer, name = None, 'cart'\n",
        tests=suite(
            "        unittest.begun = True\n        self.assertEqual(work.name, 'cart')",
            "        self.assertTrue(unittest.begun)\n        self.assertEqual(work.answer, 42)",
        ),
        patch="answer, name = 42, 'cart'\n",
        reference="answer, name = 40 + 2, 'cart'\n",
    )
    assert line["verdict"] == "pass", line["why"]
    assert outcome(line)["controls"]["chance"] == 0.125


def test_an_assertion_in_a_loop_counts_with_a_reference_and_only_then(desk: Desk) -> None:
    loop = suite("        for _ in work.cases():\n            self.assertEqual(work.answer, 42)")
    work = "answer = None\n\n\ndef cases():\n    return range(3)\n"
    fixed = work.replace("None", "42")
    alone = desk.grade(work=work, tests=loop, patch=fixed)
    assert (alone["verdict"], alone["assurance"]["oracle"]) == ("pass", "in_process")
    shown = desk.grade(work=work, tests=loop, patch=fixed, reference=fixed.replace("42", "41 + 1"))
    assert (shown["assurance"]["oracle"], shown["assurance"]["control_coverage"]) == ("twin", 1.0)


def test_a_suite_that_would_stop_at_its_first_failure_is_run_to_its_end(desk: Desk) -> None:
    line = desk.grade(
        work="answer = None\n",
        tests=suite(*["        self.assertEqual(work.answer, 42)"] * 4),
        patch="answer = 42\n",
        cmd="/usr/bin/python3 -m unittest -f tests.test_it",
    )
    assert (line["verdict"], line["assurance"]["control_coverage"]) == ("pass", 1.0)


ENDS_THE_PROCESS = suite(
    "        import os\n"
    "        done = []\n"
    "        self.addCleanup(lambda: done or os._exit(3))\n"
    "        self.assertEqual(work.answer, 42)\n"
    "        done.append(1)"
)


def test_a_suite_that_breaks_when_a_test_fails_is_changed_as_a_whole_and_no_change_is_accused(
    desk: Desk,
) -> None:
    """The test itself ends the process when something is wrong. The reference shows that this is the suite's way."""
    fixed = "answer = 42\n"
    line = desk.grade(
        work="answer = None\n", tests=ENDS_THE_PROCESS, patch=fixed, reference="answer = 41 + 1\n"
    )
    assert line["verdict"] == "pass"
    assert (line["assurance"]["oracle"], line["assurance"]["control_coverage"]) == ("in_process", 0.0)
    assert [(one["id"], one["severity"]) for one in line["findings"]] == [("no_controls", "warning")]


def test_a_run_that_breaks_where_no_trusted_tree_breaks_has_failed(desk: Desk) -> None:
    """Work that ends the process wherever it finds a changed test gets no run without one."""
    line = desk.grade(work="answer = None\n", tests=ENDS_THE_PROCESS, patch="answer = 42\n")
    assert line["verdict"] == "fail"


def test_without_assertions_no_change_is_accused(desk: Desk) -> None:
    line = desk.grade(
        work="answer = None\n",
        tests=suite("        assert work.answer == 42"),
        patch="answer = 42\n",
        cmd="/usr/bin/python3 -O -m unittest tests.test_it",
    )
    assert (line["verdict"], line["assurance"]["oracle"]) == ("pass", "in_process")


def test_a_contract_can_do_without_controls(desk: Desk) -> None:
    folder = desk.author.write(
        {
            "repo/tests/test_it.py": suite("        self.assertEqual(1, 1)"),
            "repo/work.py": "",
            "repo/tests/__init__.py": "",
        },
        oracle={"mode": "in_process", "checks": [CHECK], "reference": "reference.patch"},
    )
    result = desk.steelyard("run", folder, "--agent", "noop", "--json")
    assert result.line["verdict"] == "pass"
    assert outcome(result.line)["controls"] is None


def test_the_same_files_are_new_in_both_runs(desk: Desk) -> None:
    """A test file of the snapshot that is only rewritten for the control would be recognised by its age."""
    body = "        import os, time\n        self.assertLess(time.time() - os.stat(__file__).st_mtime, 3600)\n        self.assertEqual(work.answer, 42)"
    line = desk.grade(work="answer = None\n", tests=suite(body), patch="answer = 42\n")
    assert (line["verdict"], line["assurance"]["control_coverage"]) == ("pass", 1.0), line["why"]


def test_a_suite_that_times_out_with_the_reference_is_an_error_of_the_contract(desk: Desk) -> None:
    line = desk.grade(
        work="def f():\n    return 1\n",
        tests="import time\n\ntime.sleep(600)\n",
        patch="def f():\n    return 2\n",
        reference="def f():\n    return 3\n",
        timeout_s=1,
    )
    assert (line["status"], line["verdict"], line["reward"]) == ("scorable", "error", None)
    assert "with the reference, the suite timed out after 1 s: raise `timeout_s`" in line["reason"]


def test_show_says_that_controls_may_have_changed_what_a_suite_printed(desk: Desk) -> None:
    line = desk.grade(
        work="def f():\n    return 1\n",
        tests=(
            "import unittest\nimport work\n\n\nclass It(unittest.TestCase):\n"
            "    def test_f(self):\n        self.assertEqual(work.f(), 3)\n"
        ),
        patch="def f():\n    return 2\n",
        reference="def f():\n    return 3\n",
    )
    result = desk.steelyard("show", line["folder"])
    assert "Steelyard changes expected values of some on purpose" in " ".join(result.out.split())
