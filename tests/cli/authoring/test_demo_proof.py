"""The end of `steelyard demo`: counts of what its runs show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.authoring.demo import (
    EXPECTED,
    NEEDS,
    WITHOUT_TESTS,
    absent_programs,
    bundled_examples,
    next_commands,
    proof,
)

CHEATS = sorted(
    agent for rows in EXPECTED.values() for agent, verdict in rows if ":" in agent and verdict == "fail"
)


def results(**verdicts: str) -> list[dict[str, Any]]:
    """Every run as expected, but for the agents that are named."""
    return [
        {
            "agent": agent,
            "verdict": verdicts.get(agent.partition(":")[2], verdict),
            "termination": "completed",
        }
        for rows in EXPECTED.values()
        for agent, verdict in rows
    ]


def test_the_demo_ends_with_the_cheats_that_did_not_pass_and_those_that_exit_codes_pass() -> None:
    first, second = proof(results())
    assert first.strip().startswith(f"{len(CHEATS)} cheats tried, none passed. {len(CHEATS) - 1} of them")
    assert second == "12 honest solutions tried, all passed. 6 empty changes tried, none passed."


def test_a_cheat_that_passes_is_counted() -> None:
    assert "cheats tried, 1 passed." in proof(results(**{"dig-tally.sh": "pass"}))[0]


@pytest.mark.parametrize("cheat", CHEATS)
def test_the_exit_code_of_a_cheat_is_that_of_the_tests_it_can_see(cheat: str) -> None:
    script = (bundled_examples() / "agents" / cheat.partition(":")[2]).read_text()
    last = script.rstrip().splitlines()[-1]
    runs_tests = re.fullmatch(
        r"sh ci/test\.sh|make -s test|python3 -m unittest discover -s tests|node --test \S+", last
    )
    assert bool(runs_tests) == (cheat not in WITHOUT_TESTS)


def test_next_comes_the_environment_where_the_shell_does_not_find_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / ".venv/bin"
    programs.mkdir(parents=True)
    (programs / "activate").touch()
    (programs / "steelyard").touch(mode=0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    assert "Next: `. .venv/bin/activate` puts" in next_commands(programs / "python", tmp_path)
    monkeypatch.setenv("PATH", str(programs))
    assert "Next: `steelyard runs` lists" in next_commands(programs / "python", tmp_path)


def test_an_example_whose_compiler_is_absent_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("make", "perl"):
        (tmp_path / name).symlink_to("/usr/bin/env")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert absent_programs() == {"c-ringbuffer": ["cc"], "javascript-bookings": ["node"]}


def test_a_program_outside_usr_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("cc", "make", "perl", "node"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert set(absent_programs()) == set(NEEDS)


def test_the_demo_still_has_a_contract_where_no_program_is_there() -> None:
    assert set(NEEDS) < set(EXPECTED)
