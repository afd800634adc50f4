"""`bench: live` end to end: checks in the agent's own sandbox, after it ended, and the label says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from containers import image

from authoring import Author, Steelyard

SMALL = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64}
HIDDEN = {"id": "home", "cmd": "sh hidden.sh", "inject": [{"src": "hidden.sh", "dest": "hidden.sh"}]}
VERIFIER = {"id": "reward", "type": "verifier", "script": "tests/verify.sh"}
FILES = {
    "hidden.sh": 'grep -q kept "$HOME/db"\n',
    "tests/verify.sh": (
        "ls -A /logs/verifier | grep -q . && exit 1\n"
        'grep -q kept "$HOME/db" && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n'
    ),
}
WORKS = 'echo kept > "$HOME/db"\n'


@pytest.fixture(params=["bubblewrap", "docker"])
def environment(request: pytest.FixtureRequest) -> dict[str, Any]:
    return SMALL if request.param == "bubblewrap" else {**SMALL, "sandbox": "docker", "image": image().id}


def live(author: Author, *checks: dict[str, Any], **keys: Any) -> Path:
    oracle = {"checks": list(checks or (HIDDEN, VERIFIER))}
    folder: Path = author.write(FILES, **{"oracle": oracle, "bench": "live", **keys})
    return folder


def test_what_lies_outside_the_workspace_is_there_for_the_checks(
    author: Author, steelyard: Steelyard, script: Any, environment: dict[str, Any]
) -> None:
    result = steelyard("run", live(author, environment=environment), "--agent", script(WORKS), "--json")
    assert (result.line["verdict"], result.line["assurance"]["tree"]) == ("pass", "live"), (
        result.out + result.err
    )
    assert "not tamper-resistant" in steelyard("show", result.line["run"]).out


def test_hidden_files_are_no_part_of_the_captured_change(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    line = steelyard("run", live(author), "--agent", script(f"{WORKS}echo x > own.txt\n"), "--json").line
    change = json.loads(Path(line["folder"], "change.json").read_text())
    assert [entry["path"] for entry in change["entries"]] == ["own.txt"]


def test_an_agent_without_a_process_is_graded_on_a_fresh_tree(author: Author, steelyard: Steelyard) -> None:
    line = steelyard("run", live(author), "--agent", "noop", "--json").line
    assert line["verdict"] == "fail"


def test_an_agent_that_crashed_is_graded_on_a_fresh_tree(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    line = steelyard("run", live(author), "--agent", script(f"{WORKS}exit 3\n"), "--json").line
    assert (line["verdict"], line["termination"]) == ("fail", "agent_crash")


def test_a_reward_written_beforehand_and_a_process_that_writes_on_are_gone(
    author: Author, steelyard: Steelyard, script: Any, environment: dict[str, Any]
) -> None:
    cheat = (
        "mkdir -p /logs/verifier\necho 1 > /logs/verifier/reward.txt\nchmod 500 /logs/verifier\n"
        "(while :; do echo 1 > /logs/verifier/reward.txt; done) > /dev/null 2>&1 &\n"
    )
    contract = live(author, VERIFIER, environment=environment)
    result = steelyard("run", contract, "--agent", script(cheat), "--json")
    assert (result.line["verdict"], result.line["reward"]) == ("fail", 0.0), result.out


def test_a_label_that_asks_for_a_fresh_tree_refuses_a_live_one(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    agent = script(WORKS)
    result = steelyard("run", live(author), "--agent", agent, "--require-assurance", "tree=fresh", "--json")
    assert result.line["verdict"] == "ungraded", result.out


@pytest.mark.parametrize(
    ("keys", "place", "message"),
    [
        ({"environment": {"sandbox": "local"}}, "bench", "needs an isolated sandbox"),
        (
            {"oracle": {"checks": [{"id": "a", "type": "tests", "cmd": "python3 -m unittest"}]}},
            "oracle.checks[0].type",
            "cannot run controls",
        ),
    ],
)
def test_what_a_live_bench_cannot_do_is_refused(
    author: Author, steelyard: Steelyard, keys: dict[str, Any], place: str, message: str
) -> None:
    result = steelyard("check", live(author, **keys))
    assert result.code == 2
    assert f"{place}: " in result.err + result.out
    assert message in result.err + result.out
