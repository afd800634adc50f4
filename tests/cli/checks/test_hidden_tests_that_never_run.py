"""Hidden tests that the command does not find: the author is warned, and no run passes because of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from authoring import Author, Steelyard

WORK = "def double(number):\n    return number + number\n"
VISIBLE = "import unittest, work\n\nclass Seen(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(work.double(1), 2)\n"
HIDDEN = VISIBLE.replace("Seen", "Hidden").replace("double(1), 2", "double(4), 8")


def contract(author: Author, dest: str, mode: str) -> Path:
    check = {
        "id": "hidden",
        "type": "tests",
        "cmd": "python3 -m unittest -q",
        "timeout_s": 60,
        "inject": [{"src": "hidden/test_more.py", "dest": dest}],
    }
    files = {"repo/work.py": WORK, "repo/test_seen.py": VISIBLE, "hidden/test_more.py": HIDDEN}
    folder: Path = author.write(files, oracle={"checks": [check], "mode": mode})
    return folder


@pytest.mark.parametrize("mode", ["in_process", "twin", "split"])
def test_a_hidden_file_where_no_command_looks_is_reported_and_no_pass(
    mode: str, author: Author, steelyard: Steelyard
) -> None:
    line = steelyard("run", contract(author, "checks_more.py", mode), "--agent", "noop", "--json").line
    assert line["verdict"] == "fail"
    assert "checks_more.py was injected, but none of its tests ran" in line["grades"][1]["why"]


@pytest.mark.parametrize("mode", ["in_process", "twin", "split"])
def test_a_hidden_file_where_the_command_looks_is_run(
    mode: str, author: Author, steelyard: Steelyard
) -> None:
    line = steelyard("run", contract(author, "test_more.py", mode), "--agent", "noop", "--json").line
    assert (line["verdict"], line["assurance"]["oracle"]) == ("pass", mode)
