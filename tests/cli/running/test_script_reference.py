"""A reference that is a script runs as an agent does, and no other agent sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from authoring import FIX, Author, Steelyard

SOLUTION = f'test "$(cat /solution/data/said)" = "$WORD"\n{FIX}'
FILES = {"solution/solve.sh": SOLUTION, "solution/data/said": "yes\n"}
CHECKS = [{"id": "adds", "cmd": "sh check.sh && test ! -e /solution", "timeout_s": 60}]


def solved(author: Author, **keys: Any) -> Path:
    reference = {"script": "solution/solve.sh", "env": {"WORD": "yes"}, **keys}
    folder: Path = author.write(FILES, oracle={"checks": CHECKS, "reference": reference})
    return folder


def test_a_script_solves_with_its_folder_at_solution(steelyard: Steelyard, author: Author) -> None:
    result = steelyard("run", solved(author), "--agent", "reference", "--json")
    assert (result.code, result.line["verdict"], result.line["agent"]) == (0, "pass", "reference"), result.out
    manifest = json.loads(Path(result.line["folder"], "manifest.json").read_text())
    assert manifest["agent"]["in_sandbox"] is True


def test_no_other_agent_sees_the_solution(steelyard: Steelyard, author: Author, script: Any) -> None:
    agent = script(f"test ! -e /solution || exit 9\n{FIX}")
    result = steelyard("run", solved(author), "--agent", agent, "--json")
    assert (result.code, result.line["termination"]) == (0, "completed"), result.out


def test_the_solution_is_in_the_digest(steelyard: Steelyard, author: Author) -> None:
    digests = []
    for result in ("yes\n", "no\n"):
        contract = solved(author)
        (contract / "solution/data/said").write_text(result)
        digests.append(steelyard("check", contract, "--json").line["digest"])
    assert digests[0] != digests[1]


def test_a_link_beside_the_script_stays_a_link(steelyard: Steelyard, author: Author) -> None:
    contract = solved(author)
    (contract / "solution/data/said").unlink()
    (contract / "solution/other").write_text("yes\n")
    (contract / "solution/data/said").symlink_to("../other")
    result = steelyard("run", contract, "--agent", "reference", "--json")
    assert result.line["verdict"] == "pass", result.out + result.err


def test_a_script_that_is_not_there_is_named(steelyard: Steelyard, author: Author) -> None:
    result = steelyard("check", solved(author, script="solution/other.sh"))
    assert result.code == 2
    assert "oracle.reference.script: solution/other.sh is not a file" in result.out


def test_a_tree_must_not_hold_the_solution(steelyard: Steelyard, author: Author) -> None:
    oracle = {"checks": CHECKS, "reference": {"script": "repo/solve.sh"}}
    result = steelyard("check", author.write({"repo/solve.sh": FIX}, oracle=oracle))
    assert result.code == 2
    assert "contains repo/solve.sh, which agents must not see" in result.out
