"""The tested program adds `exit 0` to the script that tests it, while a shell still reads the script: the shell then exits with 0.

The shell scripts of a check are read-only on the bench. What a script only reads, and scripts that the command itself
changes, stay as they were.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e_stage import House, stage

house, line = stage()

ADDING = """echo 'exit 0' >> tests/probe.sh
for open in /proc/[0-9]*/fd/*; do
  case "$(readlink "$open")" in */probe.sh) echo 'exit 0' >> "$open" ;; esac
done
echo $(($1 - $2))
"""


def test_a_program_that_adds_lines_to_the_script_that_tests_it_fails(house: House, tmp_path: Path) -> None:
    tree = house.copied_repository(tmp_path / "tree")
    (tree / "add.sh").write_text(ADDING)
    line = house.graded("--tree", tree)
    assert line["verdict"] == "fail"
    assert line["gates"]["acceptance"] == "fail"


@pytest.mark.parametrize("added", ["", "touch tests/beside && rm tests/beside; "])
def test_an_honest_program_passes_the_same_script(house: House, tmp_path: Path, added: str) -> None:
    tree = house.copied_repository(tmp_path / "tree")
    (tree / "add.sh").write_text(f"{added}echo $(($1 + $2))\n")
    assert house.graded("--tree", tree)["verdict"] == "pass"
