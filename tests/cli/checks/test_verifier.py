"""`type: verifier` end to end: a script of the contract's writes the reward, and what it does not write is unknown."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from containers import image

from authoring import FIX, Author, Steelyard
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.gradings import read_gradings

REWARD = 'mkdir -p /logs/verifier; echo "{\\"reward\\": $1}" > /logs/verifier/reward.json\n'
HALF = '[ "$(sh add.sh 2 3)" = 5 ] && set -- 1.0 || set -- 0.5\n' + REWARD
EXPECTED = "the expected answer"

Graded = Callable[..., dict[str, Any]]


@pytest.fixture
def graded(author: Author, steelyard: Steelyard, script: Callable[[str], str]) -> Graded:
    """Verify what an agent did with a script; the result line."""

    def run(
        verifier: str,
        agent: str = FIX,
        files: dict[str, str] | None = None,
        environment: dict[str, Any] | None = None,
        **options: Any,
    ) -> dict[str, Any]:
        check = {"id": "verify", "type": "verifier", "script": "tests/test.sh", "timeout_s": 300, **options}
        keys: dict[str, Any] = {"reward": "verifier", "oracle": {"checks": [check]}}
        keys |= {"environment": environment} if environment else {}
        folder = author.write(
            {"tests/test.sh": verifier, "tests/expected": EXPECTED, **(files or {})}, **keys
        )
        line: dict[str, Any] = steelyard("run", folder, "--agent", script(agent), "--json").line
        return line

    return run


def evaluation(line: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = read_gradings(RunFolder(Path(line["folder"])))[-1]["evaluation"]
    return found


def test_the_reward_is_the_verifiers_word(graded: Graded) -> None:
    line = graded(HALF)
    assert (line["verdict"], line["reward"], line["score"]) == ("pass", 1.0, 1.0)


def written_by(line: dict[str, Any]) -> str:
    outcome = RunFolder(Path(line["folder"])).read_json("checks/verify/outcome.json")
    return str(outcome["verified"]["written_by"])


@pytest.mark.parametrize("name", [f"{'a' * 150}/{'b' * 150}", os.fsdecode(b"\xff")], ids=["long", "bytes"])
def test_the_writer_of_the_reward_is_known_whatever_the_verifiers_files_are_called(
    graded: Graded, name: str
) -> None:
    """Those that mention the reward are named to init."""
    without = written_by(graded(HALF))
    line = graded(HALF, files={f"tests/{name}": "the reward\n"})
    assert (line["verdict"], written_by(line)) == ("pass", without)


def test_a_part_of_the_reward_is_a_failure_with_that_reward(graded: Graded) -> None:
    line = graded(HALF, agent="echo nothing done\n")
    assert (line["verdict"], line["acceptance"], line["reward"]) == ("fail", "failure", 0.5)


def test_a_reward_is_kept_as_written(graded: Graded) -> None:
    assert graded("set -- 0.123456789\n" + REWARD)["reward"] == 0.123456789


def test_a_lower_threshold_passes_a_part(graded: Graded) -> None:
    line = graded("set -- 0.8\n" + REWARD, pass_threshold=0.7)
    assert line["grades"][1]["outcome"] == "pass"


def test_no_reward_is_an_error_and_not_a_zero(graded: Graded) -> None:
    line = graded("exit 0\n")
    assert (line["acceptance"], line["verdict"], line["reward"]) == ("acceptance_error", "error", None)
    assert "evaluation_error" in line["tags"]
    assert evaluation(line)["validity"] == {
        "output_parseable": True,
        "schema_valid": True,
        "verifier_completed": False,
        "errors": ["the verifier wrote no reward"],
    }
    assert evaluation(line)["reward"] == 0.0


def test_a_broken_reward_is_an_error(graded: Graded) -> None:
    line = graded("echo '{\"reward\": true}' > /logs/verifier/reward.json\n")
    assert line["grades"][1]["why"] == "`reward` in reward.json must be a number"


def test_details_and_errors_are_in_the_evaluation(graded: Graded) -> None:
    details = 'echo \'{"sum": {"score": 1}}\' > /logs/verifier/details.json\n'
    errors = 'echo \'[{"category": "rounding"}]\' > /logs/verifier/errors.json\n'
    found = evaluation(graded(HALF + details + errors))
    assert found["breakdown"] == {"sum": {"score": 1}}
    assert found["error_taxonomy"] == [{"category": "rounding", "description": None, "source": "mechanical"}]


def test_errors_that_a_verifier_names_are_shown(graded: Graded, steelyard: Steelyard) -> None:
    errors = (
        """echo '[{"category": "rounding", "description": "two digits"}]' > /logs/verifier/errors.json\n"""
    )
    line = graded(HALF + errors)
    named = {"category": "rounding", "description": "two digits", "source": "mechanical"}
    assert named in line["error_taxonomy"]
    runs = str(Path(line["folder"]).parent)
    assert "rounding (mechanical)  two digits" in steelyard("show", line["run"], "--runs", runs).out
    assert (
        "error rounding mechanical  two digits" in steelyard("show", line["run"], "--runs", runs, "--why").out
    )


def test_a_verifier_that_never_ends_is_an_error(graded: Graded) -> None:
    line = graded("set -- 1.0\n" + REWARD + "sleep 60\n", timeout_s=1)
    assert (line["acceptance"], line["grades"][1]["outcome"]) == ("acceptance_error", "error")


def test_the_exit_code_of_a_verifier_decides_nothing(graded: Graded) -> None:
    assert graded(HALF + "exit 7\n")["verdict"] == "pass"


def test_the_verifiers_folder_is_beside_it_and_read_only(graded: Graded) -> None:
    look = 'grep -q "expected answer" /tests/expected && ! touch /tests/new 2>/dev/null && set -- 1.0\n'
    assert graded(look + REWARD)["reward"] == 1.0


def test_an_output_that_does_not_parse_has_no_reward(graded: Graded) -> None:
    line = graded(
        "set -- 0.9\n" + REWARD,
        agent=FIX + "echo '{' > out.json\n",
        expected_output_path="/workspace/out.json",
        output={"format": "json"},
    )
    assert (line["reward"], line["verdict"]) == (0.0, "fail")
    assert (line["acceptance"], line["gates"]["acceptance"]) == ("failure", "fail")
    assert "the verifier gave 0.9, but out.json is not json" in line["grades"][1]["why"]
    assert line["validity"] == evaluation(line)["validity"]
    assert (evaluation(line)["validity"]["output_parseable"], evaluation(line)["reward"]) == (False, 0.0)


def test_an_output_without_a_declared_format_that_is_not_what_its_suffix_says_is_noted(
    graded: Graded,
) -> None:
    line = graded(
        "set -- 1.0\n" + REWARD,
        agent=FIX + "echo '{' > out.json\n",
        expected_output_path="/workspace/out.json",
    )
    assert (line["reward"], line["verdict"]) == (1.0, "pass")
    assert line["validity"]["output_parseable"] is True
    (note,) = line["validity"]["errors"]
    assert note.startswith("/workspace/out.json is not json: ")


def test_a_missing_output_has_failed_in_gates_and_status_whatever_the_verifier_gave(
    graded: Graded, steelyard: Steelyard
) -> None:
    line = graded(
        "set -- 0.4\n" + REWARD,
        expected_output_path="/workspace/out.json",
        output={"format": "json"},
    )
    assert (line["acceptance"], line["gates"]["acceptance"]) == ("failure", "fail")
    assert (line["verdict"], line["reward"]) == ("fail", 0.0)
    assert line["grades"][1]["why"] == "the verifier gave 0.4, but out.json is missing"
    assert "NOT output parseable" in steelyard("show", line["run"]).out


def test_an_output_of_the_wrong_shape_is_only_diagnosed(graded: Graded) -> None:
    line = graded(
        "set -- 1.0\n" + REWARD,
        agent=FIX + "echo '{}' > out.json\n",
        files={"answer.schema.json": '{"required": ["sum"]}'},
        expected_output_path="/workspace/out.json",
        output={"format": "json", "schema": "answer.schema.json"},
    )
    assert (line["reward"], evaluation(line)["validity"]["schema_valid"]) == (1.0, False)


@pytest.mark.parametrize(
    ("options", "field", "result"),
    [
        ({"script": "tests/none.sh"}, "script", "not"),
        ({"reward_path": "/workspace/reward.json"}, "reward_path", "below /logs"),
        ({"reward_path": "/logs/../etc/x"}, "reward_path", "below /logs"),
        ({"output": {"format": "json"}}, "expected_output_path", "name the file"),
        ({"output": {"format": "xml"}, "expected_output_path": "/workspace/x"}, "output", "json"),
    ],
)
def test_a_wrong_option_is_named(
    options: dict[str, Any], field: str, result: str, author: Author, steelyard: Steelyard
) -> None:
    check = {"id": "verify", "type": "verifier", "script": "tests/test.sh", **options}
    found = steelyard("check", author.write({"tests/test.sh": HALF}, oracle={"checks": [check]}))
    assert found.code == 2
    assert field in found.out
    assert result in found.out


def test_a_reward_by_a_verifier_needs_a_verifier(author: Author, steelyard: Steelyard) -> None:
    result = steelyard("check", author.write(reward="verifier"))
    assert result.code == 2
    assert "there is no verifier" in result.out


def test_a_verifier_may_use_the_rubric(graded: Graded) -> None:
    rubric = 'echo \'{"dimensions": {"a": {"score": 3, "max_score": 4}}}\' | python3 -m steelyard.rubric\n'
    line = graded(rubric)
    assert (line["reward"], line["breakdown"]["a"]["score"]) == (0.75, 3)


def test_a_rubric_started_by_its_path_takes_nothing_of_the_candidates(graded: Graded) -> None:
    forge = "import sys; open('/logs/verifier/reward.txt', 'w').write('1.0'); sys.exit(0)"
    plant = f'mkdir steelyard; for f in argparse json steelyard/rubric; do echo "{forge}" > $f.py; done\n'
    dimensions = '{"dimensions": {"a": {"score": 1, "max_score": 4}}}'
    rubric = f"echo '{dimensions}' | python3 -I /opt/steelyard/steelyard/rubric.py\n"
    assert graded(rubric, agent=plant)["reward"] == 0.25


def test_what_a_failing_verifier_printed_is_shown_to_the_operator(
    graded: Graded, steelyard: Steelyard
) -> None:
    line = graded("echo cannot read the answer >&2; exit 1\n")
    assert line["grades"][1]["output_tail"] == ""  # it may quote hidden files
    assert "cannot read the answer" in steelyard("show", line["run"]).out


ONE = "set -- 1.0\n" + REWARD
BAD: dict[str, tuple[str, str]] = {
    "fills its logs": (
        "head -c 1G /dev/zero > /logs/verifier/big; rm -f /logs/verifier/reward.json\n",
        "no reward",
    ),
    "fills its disk and then writes the reward": (
        "cat /dev/zero > /logs/verifier/big\n" + ONE,
        "reward.json is not JSON",
    ),
    "deletes its logs": (ONE + "rm -rf /logs/verifier /logs/*\n", "the verifier wrote no reward"),
    "leads elsewhere": (
        "echo '{\"reward\": 1}' > /tmp/r; ln -s /tmp/r /logs/verifier/reward.json\n",
        "the reward is no file that the verifier can write",
    ),
    "is a pipe": ("mkfifo /logs/verifier/reward.json\n", "the reward is no file that the verifier can write"),
    "is a folder": (
        "mkdir /logs/verifier/reward.json\n",
        "the reward is no file that the verifier can write",
    ),
    "may not be read": (ONE + "chmod 200 /logs/verifier/reward.json\n", "the reward could not be read"),
    "is killed": (ONE + "kill -9 $$\n", "killed by signal 9"),
}


@pytest.mark.parametrize(("verifier", "why"), BAD.values(), ids=BAD)
def test_a_bad_verifier_is_an_error_that_says_what_it_did(verifier: str, why: str, graded: Graded) -> None:
    line = graded(verifier)
    assert (line["status"], line["acceptance"], line["reward"]) == ("scorable", "acceptance_error", None)
    assert why in line["grades"][1]["why"]


@pytest.mark.parametrize("doing", ["fills its logs", "deletes its logs"])
def test_a_bad_verifier_is_an_error_in_a_container_too(doing: str, graded: Graded) -> None:
    verifier, why = BAD[doing]
    line = graded(verifier, environment={"sandbox": "docker", "image": image().id, "disk_mb": 64})
    assert (line["acceptance"], line["reward"]) == ("acceptance_error", None)
    assert why in line["grades"][1]["why"]


def test_a_reward_is_read_in_an_image_without_head(graded: Graded) -> None:
    files = {"image/Dockerfile": f"FROM {image().id}\nUSER 0\nRUN rm /usr/bin/head\n"}
    line = graded(ONE, files=files, environment={"sandbox": "docker", "build": "image"})
    assert line["reward"] == 1.0


FINE = {
    "prints without end, nearly": "head -c 256M /dev/zero\n" + ONE,
    "leaves processes that never end": "for n in 1 2 3; do (trap '' TERM HUP; sleep 1000) & done\n" + ONE,
    # In the background, and no process is started after: bash would wait ever longer for one that it may not have.
    "forks until it may not": "mkfifo /tmp/p; exec 3<>/tmp/p; f() { f & f & }; (f) 2>/dev/null & read -t 1 -u 3\n"
    + ONE.replace("mkdir", "true"),
}


@pytest.mark.parametrize("verifier", FINE.values(), ids=FINE)
def test_what_a_verifier_does_besides_delays_nothing(verifier: str, graded: Graded) -> None:
    assert graded(verifier)["reward"] == 1.0


def test_a_program_of_the_works_own_is_found_on_the_path(
    author: Author, steelyard: Steelyard, script: Callable[[str], str]
) -> None:
    """PATH begins in the workspace: a new program there runs, one that stands in for the bench's own is left out."""
    check = {"id": "verify", "type": "verifier", "script": "tests/test.sh", "timeout_s": 300}
    environment = {"env": {"PATH": "/workspace/bin:/usr/bin:/bin"}, "disk_mb": 64}
    verifier = "set -- $(newtool) && [ $(expr 1 + 1) = 2 ] || set -- 0.0\n" + REWARD
    folder = author.write({"tests/test.sh": verifier}, oracle={"checks": [check]}, environment=environment)
    agent = "mkdir bin; for n in newtool expr; do printf '#!/bin/sh\\necho 1.0\\n' > bin/$n; chmod +x bin/$n; done\n"
    line = steelyard("run", folder, "--agent", script(agent), "--json").line
    assert line["verdict"] == "pass"
    outcome = json.loads(Path(line["folder"], "checks/verify/outcome.json").read_text())
    assert outcome["notes"] == ["bin/expr would replace a program of the bench and was left out"]
