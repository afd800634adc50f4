"""`report.json` is what happened: alerts, interventions, deviations, counts and usage, with null for what is not known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from authoring import FIX, Author, Steelyard, events, payloads
from steelyard.execution.capture import BATCH_ENTRIES, SINGLE_ENTRIES

SMALL = {"memory_mb": {"guaranteed": 32, "limit": 64}, "disk_mb": 16, "processes": 64}
# Twenty processes that hold 30 MB each until one of them is killed; each alone is below every limit.
GREEDY = """
for i in $(seq 20); do tail > /dev/null < <(head -c 30M /dev/zero; exec sleep 600) & done
wait -n; exit 0
"""


def report(line: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(line["folder"], "report.json").read_text())
    return found


def types_of(line: dict[str, Any], seqs: list[int]) -> list[str]:
    """The types of the events that an alert follows from."""
    log = Path(line["folder"], "events.jsonl").read_text().splitlines()
    shown = {one["seq"]: one["type"] for one in map(json.loads, log)}
    return [shown[seq] for seq in seqs]


def test_an_agent_that_ran_out_of_time_leaves_an_alert_and_an_intervention(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    contract = author.write(budget={"wall_s": 2, "headroom": {"wall_s": 1}})
    line = steelyard("run", contract, "--agent", script("sleep 60"), "--json").line
    shown = report(line)
    (alert,), (intervention,) = shown["alerts"], shown["interventions"]
    assert (alert["code"], alert["stage"], alert["threshold"]) == ("wall_time", "write", {"wall_s": 1})
    assert alert["signals"]["spent_s"] >= 1
    assert types_of(line, alert["events"]) == ["stage.enter", "brief"]
    assert (intervention["action"], intervention["alert"]) == ("terminate", alert["event"])
    assert shown["termination"]["by"] == intervention["by"] == line["stopped_by"] == "budget wall_s"
    ended = shown["termination"]
    assert (ended["code"], ended["class"], ended["alert"]) == ("wall_time", "resource", alert["event"])
    assert ended["event"] == alert["event"]


def test_what_led_to_a_failure_is_told_as_an_interpretation(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    line = steelyard("run", author.write(), "--agent", script("echo wrong > add.sh"), "--json").line
    causes = report(line)["causes"]
    assert causes["label"] == "interpretation"
    assert all(types_of(line, one["events"]) for one in causes["sentences"])


def test_an_alert_about_time_names_the_stage_that_it_came_in(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    policy = {"stages": ["inspect", "write"], "require": ["enforced_stages"]}
    contract = author.write(policy=policy, budget={"wall_s": 2, "headroom": {"wall_s": 1}})
    (alert,) = steelyard("run", contract, "--agent", script("sleep 60"), "--json").line["alerts"]
    assert (alert["stage"], alert["severity"]) == ("inspect", "resource")
    assert "wall-clock budget" in alert["why"]


def test_a_process_killed_for_its_memory_is_an_intervention_though_the_agent_went_on(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    line = steelyard("run", author.write(environment=SMALL), "--agent", script(GREEDY), "--json").line
    if json.loads(Path(line["folder"], "manifest.json").read_text())["environment"]["limits"]["memory"][
        "enforced"
    ] not in {"cgroup", "polled"}:
        pytest.skip("nothing limits memory here")
    shown = report(line)
    assert [one["code"] for one in shown["alerts"]] == ["memory"]
    assert types_of(line, shown["alerts"][0]["events"])[0] == "stage.enter"
    assert [one["action"] for one in shown["interventions"]] == ["kill"]
    assert shown["termination"]["code"] == "completed"
    assert shown["termination"]["alert"] is None


def test_a_check_that_its_time_limit_ended_is_an_intervention(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    check = {"id": "slow", "cmd": "sleep 60", "timeout_s": 1}
    contract = author.write(oracle={"checks": [check], "reference": "reference.patch"})
    line = steelyard("run", contract, "--agent", script(FIX), "--json").line
    shown = report(line)
    (alert,), (intervention,) = shown["alerts"], shown["interventions"]
    assert (alert["code"], alert["check"], alert["stage"]) == ("check_time", "slow", "acceptance")
    assert types_of(line, alert["events"]) == ["check.start", "check.run"]
    assert (intervention["action"], intervention["alert"]) == ("kill", alert["event"])


def test_a_check_that_fills_its_disk_is_an_alert_of_the_acceptance(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    check = {"id": "greedy", "cmd": "head -c 32M /dev/zero > big", "timeout_s": 60}
    oracle = {"checks": [check], "reference": "reference.patch"}
    contract = author.write(oracle=oracle, environment=SMALL)
    line = steelyard("run", contract, "--agent", script(FIX), "--json").line
    (alert,), (intervention,) = report(line)["alerts"], report(line)["interventions"]
    assert (alert["code"], alert["check"], alert["stage"]) == ("disk", "greedy", "acceptance")
    assert alert["threshold"] == {"disk_mb": SMALL["disk_mb"]}
    assert (intervention["action"], intervention["alert"]) == ("refuse", alert["event"])


def test_an_undisturbed_run_has_neither(author: Author, steelyard: Steelyard, script: Any) -> None:
    line = steelyard("run", author.write(), "--agent", script(FIX), "--json").line
    shown = report(line)
    assert (shown["alerts"], shown["interventions"]) == ([], [])
    (left,) = events(line, "stage.leave")
    assert shown["termination"] == {
        "code": "completed",
        "class": "completed",
        "rationale": "the agent finished",
        "by": None,
        "alert": None,
        "event": left["seq"],
    }


def test_what_an_agent_did_inside_its_one_process_is_not_known(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    shown = report(steelyard("run", author.write(), "--agent", script(FIX), "--json").line)
    assert (shown["counts"]["tool_calls"], shown["counts"]["test_cycles"]) == (None, None)
    assert shown["counts"]["agent_processes"] == 1
    assert (shown["usage"]["tool_calls"], shown["usage"]["test_cycles"]) == (None, None)
    assert shown["counts"]["requests"] == 0  # without a network nothing can be asked
    assert (shown["usage"]["tokens_in"], shown["usage"]["tokens_out"]) == (0, 0)
    assert (shown["cost"]["usd"], shown["cost"]["method"]) == (0.0, "no network")


def test_requests_and_tokens_are_not_known_where_a_host_can_be_reached(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    environment = {"network": ["model.example:443"], "disk_mb": 64}
    shown = report(
        steelyard("run", author.write(environment=environment), "--agent", script(FIX), "--json").line
    )
    assert shown["counts"]["requests"] is None
    assert (shown["usage"]["tokens_in"], shown["usage"]["tokens_out"]) == (None, None)
    assert (shown["cost"]["usd"], shown["cost"]["method"]) == (None, None)


def test_an_agent_without_a_process_did_nothing_that_could_be_missed(
    author: Author, steelyard: Steelyard
) -> None:
    shown = report(steelyard("run", author.write(), "--agent", "reference", "--json").line)
    assert (shown["counts"]["tool_calls"], shown["counts"]["agent_processes"]) == ({}, 0)
    assert shown["usage"]["tool_calls"] == 0


def test_departures_from_the_protocol_are_listed(author: Author, steelyard: Steelyard, script: Any) -> None:
    result = steelyard("run", author.write(bench="live"), "--agent", script(FIX), "--json")
    protocol = report(result.line)["protocol"]
    found = {one["what"]: (one["planned"], one["observed"]) for one in protocol["deviations"]}
    assert found["framework"] == ("numpy", None)
    assert found["bench"] == ("fresh", "live")
    assert "tool_calls" in found["default budget"][0]
    assert "seed" not in found


def test_every_changed_path_is_in_an_event(author: Author, steelyard: Steelyard, script: Any) -> None:
    count = SINGLE_ENTRIES + 2 * BATCH_ENTRIES + 1
    many = f"mkdir many; cd many; seq 1 {count} | xargs touch\n"
    environment = {"disk_mb": 256}
    line = steelyard("run", author.write(environment=environment), "--agent", script(many), "--json").line
    single = [one["path"] for one in payloads(line, "workspace.change")]
    shared = payloads(line, "workspace.changes")
    paths = single + [row[0] for one in shared for row in one["rows"]]
    changed = json.loads(Path(line["folder"], "change.json").read_text())["entries"]
    assert sorted(set(paths) - {"many"}) == sorted(entry["path"] for entry in changed)
    assert {f"many/{number}" for number in range(1, count + 1)} <= set(paths)
    assert len(single) == SINGLE_ENTRIES
    shown = report(line)
    assert shown["counts"]["edits"] == count
    assert len(shown["changed_files"]) + shown["changed_files_left_out"] == count
    assert steelyard("verify", line["run"]).code == 0
