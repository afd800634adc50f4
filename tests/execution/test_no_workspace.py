"""`workspace: none` end to end: an empty folder, one answer, and a verifier or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from containers import image

from authoring import Author, Steelyard

RIGHT = 'if grep -q 42 "/workspace/$1"; then r=1.0; else r=0.0; fi; echo "{\\"reward\\": $r}" > /logs/verifier/reward.json\n'
SMALL = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64}


def question(author: Author, *, verified: bool = True, files: Any = None, **keys: Any) -> Path:
    """What is six times seven? The verifier looks at the answer file."""
    answer = keys.get("answer", "answer.txt")
    check = {"id": "right", "type": "verifier", "script": "tests/test.sh", "timeout_s": 300}
    oracle = {"checks": [check], "reference": "right.txt"} if verified else {}
    test = 'set -- "' + answer + '"\n' + RIGHT
    folder: Path = author.write(
        {"tests/test.sh": test, "right.txt": "42\n", **(files or {})},
        **{"brief": "What is six times seven?", "workspace": "none", "oracle": oracle, **keys},
    )
    lines = (folder / "contract.yaml").read_text().replace("repository:\n  tree: repo\n", "")
    (folder / "contract.yaml").write_text(lines.replace("build: none\n", ""))
    return folder


def test_the_last_words_are_the_answer(author: Author, steelyard: Steelyard) -> None:
    result = steelyard(
        "run", question(author), "--agent", "command:echo thinking >&2; echo It is 42.", "--json"
    )
    line = result.line
    assert (result.code, line["verdict"], line["reward"], line["checks"]) == (0, "pass", 1.0, "UNGRADED"), (
        result.out
    )
    assert (line["gates"], line["why"], line["workspace"]) == (None, None, "none")
    assert [grade["type"] for grade in line["grades"]] == ["verifier"]
    assert "+It is 42." in Path(line["folder"], "patch.diff").read_text()
    assert steelyard("verify", line["run"]).code == 0
    assert "It is 42." in steelyard("show", line["run"]).out


@pytest.mark.parametrize("agent", ["command:echo 41", "command:true", "noop"])
def test_a_wrong_answer_fails_and_so_does_none(author: Author, steelyard: Steelyard, agent: str) -> None:
    line = steelyard("run", question(author), "--agent", agent, "--json").line
    assert (line["verdict"], line["reward"], line["checks"]) == ("fail", 0.0, "UNGRADED")
    assert "acceptance_failure" in line["tags"]
    assert steelyard("verify", line["run"]).code == 0


def test_an_answer_file_is_the_answer_and_the_rest_is_scratch_paper(
    author: Author, steelyard: Steelyard
) -> None:
    contract = question(author, answer="report.md")
    test = (contract / "tests/test.sh").read_text()
    (contract / "tests/test.sh").write_text(f'test "$(ls -A /workspace)" = report.md || exit 1\n{test}')
    agent = "command:ls -A | wc -l | tee ~/count; cp ~/count scratch; echo 42 > report.md; echo not this"
    line = steelyard("run", contract, "--agent", agent, "--json").line
    assert (line["verdict"], line["reward"]) == ("pass", 1.0)
    changed = json.loads(Path(line["folder"], "change.json").read_text())["entries"]
    assert [entry["path"] for entry in changed] == ["report.md"]
    started_empty = "0\n"
    assert Path(line["folder"], "agent/stdout.txt").read_text() == f"{started_empty}not this\n"


@pytest.mark.parametrize(
    "agent",
    [
        "mkdir report.md",
        "ln -s /etc/hostname report.md",
        "echo 42 > other; ln -s other report.md",
        "mkfifo report.md",
        "echo 42",
    ],
)
def test_what_is_not_a_file_is_no_answer(author: Author, steelyard: Steelyard, agent: str) -> None:
    line = steelyard(
        "run", question(author, answer="report.md"), "--agent", f"command:{agent}", "--json"
    ).line
    assert (line["status"], line["verdict"], line["reward"]) == ("scorable", "fail", 0.0)


def test_without_a_judge_it_is_ungraded(author: Author, steelyard: Steelyard) -> None:
    contract = question(author, verified=False)
    assert "judge: nothing grades the answer" in steelyard("check", contract).out
    contract = question(author, verified=False, judge={})
    result = steelyard("run", contract, "--agent", "command:echo 42", "--json")
    line = result.line
    assert (line["verdict"], line["checks"], line["gates"], line["reward"]) == (
        "ungraded",
        "UNGRADED",
        None,
        None,
    )
    assert (result.code, line["grades"], line["acceptance"]) == (1, [], None)
    shown = steelyard("show", line["run"]).out
    assert "grader" not in shown
    assert "| 42" in shown


def test_an_answer_may_have_any_name(author: Author, steelyard: Steelyard) -> None:
    contract = question(author, answer="setup.cfg")
    line = steelyard("run", contract, "--agent", "command:echo 42 > setup.cfg", "--json").line
    assert line["verdict"] == "pass"


def test_an_endless_answer_is_cut_and_said_to_be(author: Author, steelyard: Steelyard) -> None:
    agent = "command:echo 42; yes | head -c 9000000"
    line = steelyard("run", question(author), "--agent", agent, "--json").line
    assert (line["verdict"], [one["id"] for one in line["findings"]]) == ("pass", ["answer_cut"])


def test_the_reference_is_the_right_answer(author: Author, steelyard: Steelyard) -> None:
    assert steelyard("run", question(author), "--agent", "reference", "--json").line["verdict"] == "pass"


def test_the_last_of_several_turns_is_the_answer(author: Author, steelyard: Steelyard) -> None:
    contract = question(author, turns=["Are you sure?"])
    line = steelyard(
        "run", contract, "--agent", "command:test {turn} = 2 && echo 42 || echo 6", "--json"
    ).line
    assert (line["verdict"], line["turns"]) == ("pass", 2)


def test_a_scorer_is_refused_with_its_line(author: Author, steelyard: Steelyard) -> None:
    result = steelyard("check", question(author, graders=[{"type": "forbid_secrets"}]))
    assert result.code == 2
    assert "graders[0]: a contract without a workspace allows only `verifier` checks" in result.out
    assert "contract.yaml:" in result.out


def test_a_verifier_of_another_file_is_refused(author: Author, steelyard: Steelyard) -> None:
    check = {
        "id": "right",
        "type": "verifier",
        "script": "tests/test.sh",
        "expected_output_path": "/workspace/x",
    }
    result = steelyard("check", question(author, oracle={"checks": [check]}))
    assert result.code == 2
    assert "the answer is at /workspace/answer.txt" in result.out


def test_an_answer_in_a_container_is_graded(author: Author, steelyard: Steelyard) -> None:
    contract = question(
        author, answer="report.md", environment={**SMALL, "sandbox": "docker", "image": image().id}
    )
    line = steelyard("run", contract, "--agent", "command:echo 42 > report.md", "--json").line
    assert (line["verdict"], line["assurance"]["isolation"]) == ("pass", "container")
