"""Work that guesses for a whole run earns nothing where a part of the tests is enough.

It says yes to everything in one run and is broken in the other. All tests that are unchanged in the first run and changed in the
second one pass by that: half of them, with a chance of one in two, however many there are.
"""

from __future__ import annotations

import json
from pathlib import Path

import yaml
from small_projects import UNITTEST, Project, write_contract

from authoring import Steelyard

BROKEN = '"""Squares."""\n\n\ndef square(n):\n    return n * n + 1\n'
HEAD = "import unittest\n\nfrom squares import square\n\n\nclass Squares(unittest.TestCase):\n"
VISIBLE = HEAD + "    def test_there(self):\n        self.assertTrue(callable(square))\n"
HIDDEN = HEAD + "\n".join(
    f"    def test_{n}(self):\n        self.assertEqual(square({n}), {n * n})\n" for n in range(3, 63)
)
SQUARES = Project(
    "squares",
    "python",
    UNITTEST,
    {"squares.py": BROKEN, "tests/__init__.py": "", "tests/test_visible.py": VISIBLE},
    {"tests/test_squares.py": HIDDEN},
    {"squares.py": BROKEN.replace(" + 1", "")},
)
GUESSING = """cat >> squares.py <<'END'


class Yes:
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False


def guess():
    import os
    if os.urandom(1)[0] & 1:
        globals()["square"] = lambda n: Yes()


guess()
END
"""


def test_a_guess_for_a_whole_run_earns_no_part_of_the_credit(tmp_path: Path, steelyard: Steelyard) -> None:
    folder = write_contract(tmp_path / "contract", SQUARES, "twin")
    contract = yaml.safe_load((folder / "contract.yaml").read_text())
    contract["oracle"]["checks"][0]["pass_threshold"] = 0.4
    (folder / "contract.yaml").write_text(yaml.safe_dump(contract))
    (tmp_path / "agent.sh").write_text(GUESSING)
    agent = f"script:{tmp_path / 'agent.sh'}"
    result = steelyard("run", folder, "--agent", agent, "--repeats", "6", "--json", "--no-judge")
    assert [json.loads(line)["reward"] for line in result.out.splitlines()] == [0.0] * 6
