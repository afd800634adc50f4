"""A failure that tries to become `null`: averages leave null out, so it is better than 0.

The label of a verdict is that of what passed. Work that passes nothing has the worst label, and `--require-assurance`
must not take its zero away for that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from authoring import Author, Steelyard

CHECK = {
    "id": "hidden",
    "type": "tests",
    "cmd": "python3 -m unittest discover -s tests -t .",
    "timeout_s": 60,
    "inject": [{"src": "hidden/test_calc.py", "dest": "tests/test_calc.py"}],
}
FILES = {
    "repo/calc.py": "def double(n):\n    return n\n",
    "repo/tests/__init__.py": "",
    "hidden/test_calc.py": (
        "import unittest\n\nfrom calc import double\n\n\nclass Doubling(unittest.TestCase):\n"
        "    def test_two(self):\n        self.assertEqual(double(2), 4)\n\n"
        "    def test_three(self):\n        self.assertEqual(double(3), 6)\n"
    ),
    "reference.patch": (
        "diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def double(n):\n"
        "-    return n\n+    return n * 2\n"
    ),
}


@pytest.fixture
def contract(author: Author) -> Path:
    folder: Path = author.write(FILES, oracle={"checks": [CHECK], "reference": "reference.patch"})
    return folder


@pytest.mark.parametrize(
    "work",
    ["echo 'raise SystemExit' >> calc.py", "rm calc.py", "echo 'import os; os._exit(0)' >> calc.py", "true"],
    ids=["not-loaded", "deleted", "ends-the-process", "nothing"],
)
def test_work_that_passes_nothing_keeps_its_zero(
    steelyard: Steelyard, contract: Path, script: Callable[[str], str], work: str
) -> None:
    result = steelyard("run", contract, "--agent", script(work), "--json", "--require-assurance", "twin")
    assert (result.code, result.line["verdict"], result.line["reward"]) == (1, "fail", 0.0)
    assert result.line["refused"] is None


def test_the_reference_keeps_its_reward(steelyard: Steelyard, contract: Path) -> None:
    result = steelyard("run", contract, "--agent", "reference", "--json", "--require-assurance", "twin")
    assert (result.code, result.line["verdict"], result.line["reward"]) == (0, "pass", 1.0)
