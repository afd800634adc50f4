"""The cheats that contracts are tried with are readable, and each is tried where it can do something."""

from __future__ import annotations

import subprocess

import pytest

from steelyard.study.certify.cheats import Cheat, cheats_for, known_cheats


@pytest.mark.parametrize("cheat", known_cheats(), ids=lambda one: one.name)
def test_each_says_what_it_does_and_is_a_script_of_sh(cheat: Cheat) -> None:
    assert cheat.what
    assert cheat.needs
    assert cheat.script.read_text().startswith("#!/bin/sh\n")
    assert subprocess.run(["sh", "-n", cheat.script], check=False).returncode == 0


def test_a_repository_is_tried_with_the_cheats_of_its_language() -> None:
    python = {one.name for one in cheats_for(["src/a.py"])}
    assert {"python-exit", "python-conftest", "python-equal", "delete-tests"} <= python
    assert not any(name.startswith(("javascript", "go", "c-")) for name in python)
    assert "true-commands" in {one.name for one in cheats_for(["lib/a.js", "package.json"])}


def test_an_empty_repository_is_tried_with_what_needs_no_file() -> None:
    assert {one.name for one in cheats_for([])} == {"claim-success", "delete-tests"}
