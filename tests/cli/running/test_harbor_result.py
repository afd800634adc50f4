"""`run --harbor-result`: a trial as Harbor leaves one, for tools that read those."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from authoring import ROOT, Author, CliResult, Steelyard

TASKS = ROOT / "tests/harbor_tasks"
# The keys of Harbor 0.25's TrialResult.
KEYS = {
    *("id", "task_name", "trial_name", "trial_uri", "task_id", "source", "task_checksum", "config", "agent_info"),
    *("agent_result", "verifier_result", "verifier_environment_mode", "exception_info", "started_at", "finished_at"),
    *("environment_setup", "agent_setup", "agent_execution", "verifier", "step_results"),
}  # fmt: skip


def run(steelyard: Steelyard, out: Path, task: str, *agents: str) -> list[Path]:
    words = [word for agent in agents for word in ("--agent", agent)]
    printed: CliResult = steelyard(
        "run", TASKS / task, *words, "--sandbox", "bubblewrap", "--harbor-result", out, "--json"
    )
    return [out / line["run"] for line in printed.lines]


def result(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


def test_a_trial_has_harbors_keys_rewards_times_and_artifacts(steelyard: Steelyard, tmp_path: Path) -> None:
    solved, idle = run(steelyard, tmp_path / "jobs", "many-rewards", "reference", "noop")
    found = result(solved)
    assert set(found) == KEYS
    assert (found["task_name"], found["agent_info"]["name"]) == ("ann/many-rewards", "oracle")
    assert found["verifier_result"] == {"rewards": {"reward": 1.0, "style": 1}}
    assert found["exception_info"] is None
    assert found["task_id"] == {"path": str(TASKS / "many-rewards")}
    times = [found["started_at"], *found["agent_execution"].values(), *found["verifier"].values()]
    assert sorted(times) == times == [one for one in times if datetime.fromisoformat(one).tzinfo]
    assert json.loads((solved / "artifacts/app/report.json").read_text()) == {"total": 21}
    assert (solved / "artifacts/code/total.py").read_text().endswith("open(sys.argv[1]))))\n")
    statuses = [one["status"] for one in json.loads((solved / "artifacts/manifest.json").read_text())]
    assert statuses == ["ok", "ok", "empty"]
    assert json.loads((solved / "config.json").read_text()) == found["config"]
    assert (result(idle)["agent_info"]["name"], result(idle)["verifier_result"]["rewards"]["reward"]) == (
        "nop",
        0,
    )


def test_the_verifiers_output_is_named_beside_its_reward(steelyard: Steelyard, tmp_path: Path) -> None:
    """It may quote hidden tests, so the folder says where the operator finds it."""
    (solved,) = run(steelyard, tmp_path, "hello-file", "reference")
    shown = (solved / "verifier/test-stderr.txt").read_text()
    assert "test_the_file_says_hello" not in shown
    assert "outcome.json" in shown
    assert json.loads((solved / "verifier/reward.json").read_text()) == {"reward": 1.0}


def test_steps_are_reported_one_by_one(steelyard: Steelyard, tmp_path: Path) -> None:
    solved, idle = run(steelyard, tmp_path, "two-steps", "reference", "noop")
    assert [one["step_name"] for one in result(solved)["step_results"]] == ["first", "second"]
    (only,) = result(idle)["step_results"]
    assert only == {"step_name": "first", "verifier_result": {"rewards": {"reward": 0.0}}}


def test_an_agent_that_crashes_is_an_exception_with_the_reward_of_what_it_left(
    steelyard: Steelyard, tmp_path: Path
) -> None:
    (crashed,) = run(steelyard, tmp_path, "hello-file", "command:exit 3")
    found = result(crashed)
    assert found["exception_info"]["exception_type"] == "NonZeroAgentExitCodeError"
    assert found["verifier_result"]["rewards"] == {"reward": 0.0}
    assert "exit code 3" in (crashed / "exception.txt").read_text()


def test_a_verifier_that_wrote_nothing_has_no_rewards(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    checks = {"checks": [{"id": "verify", "type": "verifier", "script": "tests/test.sh", "timeout_s": 60}]}
    contract = author.write({"tests/test.sh": "true\n"}, oracle=checks, reward="verifier")
    printed = steelyard("run", contract, "--agent", "noop", "--harbor-result", tmp_path / "jobs", "--json")
    found = result(tmp_path / "jobs" / printed.line["run"])
    assert found["verifier_result"] is None
    assert found["exception_info"]["exception_type"] == "VerifierOutputParseError"


def test_a_destination_that_leads_out_stays_inside(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    artifacts = [{"source": "add.sh", "destination": "../../out"}, {"source": "/workspace/add.sh", "destination": "manifest.json"}]  # fmt: skip
    contract = author.write(metadata={"harbor": {"artifacts": artifacts}})
    printed = steelyard(
        "run", contract, "--agent", "reference", "--harbor-result", tmp_path / "jobs", "--json"
    )
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "jobs/out").exists()
    manifest = json.loads((tmp_path / "jobs" / printed.line["run"] / "artifacts/manifest.json").read_text())
    assert [one["status"] for one in manifest] == ["empty", "empty", "empty"]
