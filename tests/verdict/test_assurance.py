"""The label is that of the weakest acceptance check that earned anything."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.contract.catalogue import GraderEntry
from steelyard.graders.grade import Grade, WeightedGrade
from steelyard.verdict.assurance import Assurance, assure

MANIFEST: dict[str, Any] = {
    "environment": {
        "isolation": "bubblewrap",
        "network": "none",
        "limits": {"cpu": {"value": 2, "enforced": "cgroup"}},
    },
    "configuration": {"bench": "fresh", "oracle": "split"},
}


def checked(
    oracle: str = "twin", *, passed: int = 4, counted: int = 4, channel: str = "reporter", **more: Any
) -> WeightedGrade:
    """A check of tests as its sealed outcome tells it."""
    controls = {"counted": counted, "problem": more.pop("problem", "")} if oracle == "twin" else None
    executed = {
        "outcome": "pass",
        "oracle": oracle,
        "reported": {
            "channel": channel,
            "own_runner": more.pop("own_runner", False),
            "counts": {"passed": passed},
        },
        "controls": controls,
    }
    return WeightedGrade(entry(**more), Grade.of(True, "fine"), executed)


def command(outcome: str = "pass", **more: Any) -> WeightedGrade:
    return WeightedGrade(
        entry(**more), Grade.of(True, "fine"), {"outcome": outcome, "reported": None, "controls": None}
    )


def entry(**more: Any) -> GraderEntry:
    return GraderEntry(
        **{
            "name": "x",
            "type": "tests",
            "grader": None,
            "under": "acceptance",
            "required": True,
            "weight": 1.0,
            **more,
        }
    )


def label(*grades: WeightedGrade) -> Assurance:
    return assure(MANIFEST, grades, 0)


def test_what_really_ran_is_on_the_label_and_not_what_was_asked_for() -> None:
    made = label(checked("in_process"))
    assert (made.oracle, made.isolation, made.tree, made.network) == (
        "in_process",
        "bubblewrap",
        "fresh",
        "none",
    )


def test_the_weakest_oracle_counts() -> None:
    assert label(checked("split"), checked("twin")).oracle == "twin"
    assert label(checked("split"), checked("twin"), command()).oracle == "in_process"
    assert label(checked("split")).oracle == "split"


def test_coverage_is_over_all_passed_tests() -> None:
    assert label(checked(passed=4, counted=4), checked(passed=12, counted=4)).control_coverage == 0.5


def test_a_command_is_one_test_without_a_control() -> None:
    assert label(checked(passed=3, counted=3), command()).control_coverage == 0.75


def test_controls_that_did_not_end_cover_nothing() -> None:
    assert label(checked("twin", problem="it vanished")).control_coverage == 0.0


def test_the_weakest_runner_counts() -> None:
    assert label(checked()).runner == "reporter"
    assert label(checked(), checked(channel="report_file")).runner == "report_file"
    assert label(checked(), command()).runner == "exit_code"
    assert label(checked(), command(), checked(own_runner=True)).runner == "candidate"


def verifier(outcome: str) -> WeightedGrade:
    executed = {"outcome": outcome, "reported": None, "controls": None, "verified": {"reward": 1.0}}
    return WeightedGrade(entry(type="verifier"), Grade.of(True, "fine"), executed)


def test_a_reward_is_by_the_verifier_and_not_by_an_exit_code() -> None:
    assert [label(verifier(outcome)).runner for outcome in ("pass", "fail")] == ["verifier"] * 2
    assert label(checked(), verifier("pass")).runner == "verifier"
    assert label(command(), verifier("pass")).runner == "exit_code"


def test_build_checks_and_what_earns_nothing_do_not_weaken_the_label() -> None:
    made = label(
        checked(), command(under="build"), command(under="static"), command(required=False, weight=0.0)
    )
    assert (made.oracle, made.control_coverage, made.runner) == ("twin", 1.0, "reporter")


def test_a_check_that_passed_nothing_has_nothing_to_forge() -> None:
    assert label(checked(), checked("in_process", passed=0)).oracle == "twin"
    assert label(checked(), command("fail")).oracle == "twin"


def test_the_runner_of_a_suite_in_which_nothing_passed_is_the_one_that_reported_it() -> None:
    assert label(checked(passed=0)).runner == "reporter"
    assert label(checked(passed=0, channel="report_file")).runner == "report_file"
    assert label(checked(passed=0), command("fail")).runner == "exit_code"


def test_without_any_acceptance_check_the_label_is_the_weakest() -> None:
    assert (label().oracle, label().control_coverage, label().runner) == ("in_process", 0.0, "exit_code")


@pytest.mark.parametrize(
    ("agent", "checks", "network", "allowed_hosts"),
    [
        ("none", "none", "none", {}),
        (["a.example:1"], "none", "allow_list", {"agent": ["a.example:1"]}),
        ("none", ["b.example:2"], "allow_list", {"checks": ["b.example:2"]}),
        ("host", ["b.example:2"], "host", {"checks": ["b.example:2"]}),
    ],
)
def test_an_allowed_host_of_agents_or_checks_is_on_the_label(
    agent: Any, checks: Any, network: str, allowed_hosts: dict[str, list[str]]
) -> None:
    manifest = {
        "environment": {**MANIFEST["environment"], "network": agent},
        "configuration": {**MANIFEST["configuration"], "oracle_network": checks},
    }
    label = assure(manifest, [checked()], 0).to_json()
    assert (label["network"], label.get("allowed_hosts", {})) == (network, allowed_hosts)
