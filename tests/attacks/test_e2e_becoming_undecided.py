"""An undecided run leaves the success rate, so failing work tries to keep its checks from deciding.

None of these agents mends the bug. Each must end as a failure with reward 0, never as `error` with none. Where the
trusted tree (the reference's, or the unchanged snapshot) reaches no decision either, the contract or the machine is at
fault: then the verdict is `error`, for honest work too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from authoring import FIX, Author, CliResult, Steelyard

HANG = "echo 'while :; do :; done' > add.sh\n"
STOP = "echo 'kill -STOP $PPID' > add.sh\n"
SLEEP = "echo 'sleep 600' > add.sh\n"
WRITES = 'echo "{\\"reward\\": $1}" > /logs/verifier/reward.json\n'
VERIFIER = '[ "$(sh add.sh 2 3)" = 5 ] && set -- 1.0 || set -- 0.0\n' + WRITES
Tried = Callable[..., dict[str, Any]]


@pytest.fixture
def tried(author: Author, steelyard: Steelyard, script: Callable[[str], str]) -> Tried:
    def run(agent: str, *checks: dict[str, Any], reference: str | None = None, **keys: Any) -> dict[str, Any]:
        files = keys.pop("files", {})
        oracle = {"checks": [{"timeout_s": 8, **one} for one in checks], "reference": reference}
        contract = author.write(files, oracle=oracle, **keys)
        line: dict[str, Any] = steelyard("run", contract, "--agent", script(agent), "--json").line
        return line

    return run


def failed(line: dict[str, Any]) -> bool:
    return (line["status"], line["verdict"], line["reward"]) == ("scorable", "fail", 0.0)


CHECK = {"id": "adds", "cmd": "sh check.sh"}


@pytest.mark.parametrize(
    ("agent", "reference"),
    [(HANG, "reference.patch"), (STOP, None), (SLEEP, "reference.patch"), (SLEEP, None)],
)
def test_work_that_hangs_its_check_has_failed(agent: str, reference: str | None, tried: Tried) -> None:
    """The check takes milliseconds on the trusted tree, which is the reference's or the snapshot's."""
    line = tried(agent, CHECK, reference=reference)
    assert failed(line), line
    assert "candidate_timeout" in line["tags"]
    assert (line["acceptance"], line["gates"]["acceptance"]) == ("failure", "fail")
    assert "the check decides after" in line["grades"][1]["why"]


def test_a_check_that_takes_too_long_for_every_change_is_an_error(tried: Tried) -> None:
    """Honest work is not blamed for a limit that the reference does not keep either."""
    line = tried(
        FIX, {"id": "slow", "cmd": "sleep 60; sh check.sh", "timeout_s": 2}, reference="reference.patch"
    )
    assert (line["verdict"], line["reward"], line["tags"]) == ("error", None, ["evaluation_error"])


def test_a_suite_that_hangs_has_failed(tried: Tried) -> None:
    line = tried(SLEEP, {"id": "t", "type": "tests", "cmd": "sh check.sh"}, reference="reference.patch")
    assert failed(line), line
    assert "candidate_timeout" in line["tags"]


def test_a_weighted_suite_that_hangs_earns_nothing(tried: Tried) -> None:
    """If a hanging suite only left the total, the credit of the rest would be the whole score."""
    hung = {"id": "t", "type": "tests", "cmd": "sh check.sh", "mandatory": False, "weight": 3}
    easy = {"id": "easy", "cmd": "true", "weight": 1}
    line = tried(SLEEP, hung, easy, reference="reference.patch", pass_threshold=0.5)
    assert (line["verdict"], line["score"], line["reward"]) == ("fail", 0.25, 0.25)


def test_a_grader_that_hangs_has_failed(tried: Tried) -> None:
    """The same outside the oracle: a required command among the graders."""
    grader = {"type": "command", "name": "late", "cmd": "sh check.sh", "timeout_s": 8}
    line = tried(SLEEP, {"id": "easy", "cmd": "true"}, graders=[grader], reference="reference.patch")
    assert failed(line), line


@pytest.mark.parametrize(
    "agent",
    [
        "echo 'kill -9 $(pgrep -f tests/test.sh)' > add.sh\n",
        "echo 'rm -rf /logs/verifier' > add.sh\n",
        SLEEP,
    ],
)
@pytest.mark.parametrize("reference", ["reference.patch", None])
def test_work_that_silences_its_verifier_has_failed(agent: str, reference: str | None, tried: Tried) -> None:
    check = {"id": "v", "type": "verifier", "script": "tests/test.sh"}
    line = tried(agent, check, reference=reference, reward="verifier", files={"tests/test.sh": VERIFIER})
    assert failed(line), line
    assert line["validity"]["verifier_completed"] is False


def test_work_that_breaks_its_verifier_at_random_gets_no_second_chance(tried: Tried) -> None:
    """Half of the time it removes the verifier's folder, half of the time it is just wrong: both have failed."""
    agent = "echo '[ $(($(date +%N | sed s/^0*//) % 2)) = 0 ] && rm -rf /logs/verifier; echo 0' > add.sh\n"
    check = {"id": "v", "type": "verifier", "script": "tests/test.sh"}
    assert failed(tried(agent, check, reward="verifier", files={"tests/test.sh": VERIFIER}))


def test_an_output_that_cannot_be_read_is_no_way_out_of_a_low_reward(tried: Tried) -> None:
    """A lenient verifier gives half of its points for any file, which is too little to pass."""
    check = {
        "id": "v",
        "type": "verifier",
        "script": "tests/test.sh",
        "expected_output_path": "/workspace/answer.json",
        "output": {"format": "json"},
    }
    lenient = {"tests/test.sh": "set -- 0.5\n" + WRITES}
    line = tried("echo '{' > answer.json\n", check, reward="verifier", files=lenient)
    assert failed(line), line
    assert "the verifier gave 0.5, but answer.json is not json" in line["grades"][1]["why"]
    assert line["validity"]["output_parseable"] is False


def test_a_crash_of_the_verifier_that_only_the_change_causes_is_a_failure(tried: Tried) -> None:
    """A careless verifier dies where the answer is missing; with the reference it does not."""
    careless = "set -e\nsh add.sh 2 3 | grep -qx 5\nset -- 1.0\n" + WRITES
    check = {"id": "v", "type": "verifier", "script": "tests/test.sh"}
    line = tried("true\n", check, reference="reference.patch", files={"tests/test.sh": careless})
    assert failed(line), line


@pytest.mark.parametrize("agent", [SLEEP + "exit 3\n", "exit 3\n", "kill -9 $$\n"])
def test_a_crash_on_purpose_is_no_way_out(agent: str, tried: Tried) -> None:
    assert failed(tried(agent, CHECK, reference="reference.patch"))


def test_a_crash_in_a_step_is_a_failure(
    author: Author, steelyard: Steelyard, script: Callable[[str], str]
) -> None:
    steps = [{"name": "one", "brief": "Add.", "checks": [CHECK]}]
    contract = author.write(steps=steps, oracle={}, brief=None)
    (contract / "contract.yaml").write_text(
        (contract / "contract.yaml").read_text().replace("brief: null\n", "", 1)
    )
    line = steelyard("run", contract, "--agent", script("exit 3\n"), "--json").line
    assert failed(line), line
    assert line["acceptance"] == "failure"


def test_a_failure_beside_an_undecidable_check_stays_a_failure(tried: Tried) -> None:
    line = tried("true\n", CHECK, {"id": "never", "cmd": "sleep 60", "timeout_s": 1})
    assert failed(line), line
    assert {"acceptance_failure", "evaluation_error"} <= set(line["tags"])


def test_a_tool_that_the_change_removes_is_the_changes_failure(tried: Tried) -> None:
    """The shell says 127 as it does for a missing tool; the snapshot has the tool."""
    files = {"repo/tool": "#!/bin/sh\nsh add.sh 2 3\n"}
    check = {"id": "c", "cmd": 'chmod +x tool; [ "$(./tool)" = 5 ] || ./tool'}
    line = tried("rm tool\n", check, reference="reference.patch", files=files)
    assert failed(line), line


def test_a_tree_too_large_to_search_has_failed(tried: Tried) -> None:
    """The pattern is nowhere, and the change fills the tree until that cannot be decided."""
    grader = {"type": "files", "patterns": ["sum of both"], "required": True, "weight": 1.0}
    flood = "head -c 2000000 /dev/zero | tr '\\0' a > big; for n in $(seq 140); do ln big big$n; done\n"
    line = tried(FIX + flood, CHECK, graders=[grader], environment={"disk_mb": 400})
    assert "too large" in line["grades"][-1]["why"]
    assert (line["verdict"], line["reward"]) == ("fail", 0.0)


def test_an_agent_that_runs_out_of_time_has_failed_though_its_checks_cannot_decide(tried: Tried) -> None:
    never = {"id": "never", "cmd": "sleep 60", "timeout_s": 1}
    line = tried("sleep 600\n", never, budget={"wall_s": 2, "headroom": {"wall_s": 1}})
    assert failed(line), line
    assert line["patch_verdict"] == "error"


def test_a_patch_that_does_not_apply_is_a_failure_tagged_as_an_evaluation_error(
    author: Author, steelyard: Steelyard
) -> None:
    """No check runs on the bare snapshot as if it were the work, not even one that the snapshot would pass."""
    patch = author.folder / "bad.patch"
    contract = author.write(oracle={"checks": [{"id": "easy", "cmd": "true"}]})
    patch.write_text("--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n")
    result: CliResult = steelyard("grade", contract, "--patch", patch, "--json")
    line = result.line
    assert failed(line), line
    assert (result.code, line["gates"]["patch"], line["gates"]["acceptance"]) == (1, "fail", "fail")
    assert {"patch_invalid", "evaluation_error"} <= set(line["tags"])
    assert line["grades"][1]["why"] == "not run: the patch does not apply"
