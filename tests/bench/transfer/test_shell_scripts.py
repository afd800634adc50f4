"""Which scripts of a check are read-only while it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.transfer.shell_scripts import read_only_scripts, started_scripts
from steelyard.filesystem.tree import Entry
from steelyard.sandboxes.base import FileOverlay

HIDDEN = {
    "tests/run.sh": "true\n",
    "tests/bare": "true\n",
    "tests/first": "#!/usr/bin/env -S bash -e\n",
    "tests/a.py": "\n",
}
SNAPSHOT = {"ci.sh": "true\n", "tool": "#!/bin/sh\n", "src/main.py": "\n"}


@pytest.mark.parametrize(
    ("command", "protected"),
    [
        ("sh tests/run.sh", {"tests/run.sh", "tests/first"}),
        ("bash -eu tests/bare", {"tests/run.sh", "tests/first", "tests/bare"}),
        ("bash -lc 'python3 tests/a.py && sh ./tests/bare'", {"tests/run.sh", "tests/first", "tests/bare"}),
        ("cd tests && sh bare", {"tests/run.sh", "tests/first", "tests/bare"}),
        ("./ci.sh", {"tests/run.sh", "tests/first", "ci.sh"}),
        ("/workspace/tool && python3 src/main.py", {"tests/run.sh", "tests/first", "tool"}),
        ("chmod +x tests/run.sh && tests/run.sh", {"tests/first"}),
        ("chmod +x tests/*.sh ci.sh; tests/run.sh && ./ci.sh", {"tests/first"}),
        ("cd tests && chmod +x run.sh && ./run.sh", {"tests/first"}),
        ("rm -rf tests", set()),
        ("rm -rf build; sh tests/run.sh", {"tests/run.sh", "tests/first"}),
        ("if (sh tests/run.sh); then exit 1; fi;; ()", {"tests/run.sh", "tests/first"}),
        ("cat part >> tests/run.sh && sh tests/run.sh", {"tests/first"}),
    ],
)
def test_shell_scripts_that_the_command_does_not_change_are_read_only(
    tmp_path: Path, command: str, protected: set[str]
) -> None:
    for name, text in {**HIDDEN, **SNAPSHOT}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    hidden = [FileOverlay(name, "file", source=tmp_path / name) for name in HIDDEN]
    baseline = {name: Entry("file", "644") for name in SNAPSHOT}
    assert set(read_only_scripts(command, hidden, baseline, tmp_path)) == protected


@pytest.mark.parametrize(
    ("command", "started"),
    [
        ("sh tests/run.sh", {"tests/run.sh"}),
        ("bash -eu ./tests/run.sh src/tool.sh", {"tests/run.sh"}),
        ("cd tests && ./run.sh", {"tests/run.sh"}),
        ("A=1 timeout -k 5 /workspace/tests/run.sh", {"tests/run.sh"}),
        ("python3 tests/check.py --fast; . src/tool.sh", {"tests/check.py", "src/tool.sh"}),
        ("if ! bash -lc 'sh tests/run.sh'; then exit 1; fi", {"tests/run.sh"}),
        ("diff src/tool.sh tests/run.sh", set()),
    ],
)
def test_a_command_starts_programs_and_what_it_gives_to_interpreters(command: str, started: set[str]) -> None:
    baseline = {name: Entry("file", "644") for name in ("tests/run.sh", "tests/check.py", "src/tool.sh")}
    assert started_scripts(command, baseline) == started


def test_a_script_starts_what_lies_beside_it() -> None:
    baseline = {name: Entry("file", "644") for name in ("tests/lib.sh", "tests/more.sh")}
    text = '. "$(dirname "$0")/lib.sh"\n"$HERE/more.sh" && echo done\n'
    assert started_scripts(text, baseline, "tests") == {"tests/lib.sh", "tests/more.sh"}


@given(st.text(st.sampled_from(" \n;&|()<>'\"\\`$#*./-+a") | st.characters()))
def test_every_text_of_a_command_is_read(command: str) -> None:
    found = read_only_scripts(command, [FileOverlay("run.sh", "file")], {}, Path("/nowhere"))
    assert set(found) <= {"run.sh"}
