"""`--require-assurance`: what is worth less is not reported as a pass."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.errors import OperatorFault
from steelyard.verdict.required import parse_required

LABEL: dict[str, Any] = {
    "isolation": "bubblewrap",
    "tree": "fresh",
    "oracle": "twin",
    "control_coverage": 0.6,
    "runner": "reporter",
    "network": "none",
}


def result(**label: Any) -> dict[str, Any]:
    return {"status": "scorable", "verdict": "pass", "reward": 1.0, "assurance": {**LABEL, **label}}


@pytest.mark.parametrize(
    "text",
    [
        "twin",
        "in_process",
        "oracle=twin",
        "oracle=twin,isolation=bubblewrap,tree=fresh,control_coverage=0.5,runner=reporter,network=none",
        "control_coverage=0.6",
        " twin , tree=fresh ",
        "isolation=container",
    ],
)
def test_a_verdict_that_is_worth_as_much_stays(text: str) -> None:
    assert parse_required(text).applied(result()) == {**result(), "refused": None}


@pytest.mark.parametrize(
    ("text", "label", "missing"),
    [
        ("twin", {"oracle": "in_process"}, "oracle in_process < twin"),
        ("split", {}, "oracle twin < split"),
        ("isolation=vm", {}, "isolation bubblewrap < vm"),
        ("isolation=bubblewrap", {"isolation": "none"}, "isolation none < bubblewrap"),
        ("tree=fresh", {"tree": "live"}, "tree live < fresh"),
        ("control_coverage=0.7", {}, "control_coverage 0.6 < 0.7"),
        ("runner=report_file", {"runner": "candidate"}, "runner candidate < report_file"),
        ("network=none", {"network": "host"}, "network host < none"),
        ("network=none", {"network": "allow_list"}, "network allow_list < none"),
        ("network=allow_list", {"network": "host"}, "network host < allow_list"),
        ("oracle=in_process", {"oracle": "something new"}, "oracle something new < in_process"),
    ],
)
def test_a_pass_that_is_worth_less_is_ungraded_and_says_why(
    text: str, label: dict[str, Any], missing: str
) -> None:
    refused = parse_required(text).applied(result(**label))
    assert (refused["verdict"], refused["reward"], refused["refused"]) == (
        "ungraded",
        None,
        f"assurance: {missing}",
    )


def test_a_failure_keeps_its_zero_whatever_it_is_worth() -> None:
    failure = {**result(oracle="in_process"), "verdict": "fail", "reward": 0.0}
    assert parse_required("split").applied(failure) == {**failure, "refused": None}


def test_the_partial_reward_of_a_failure_that_is_worth_less_is_zero_and_not_null() -> None:
    refused = parse_required("split").applied({**result(), "verdict": "fail", "reward": 0.4})
    assert (refused["verdict"], refused["reward"]) == ("fail", 0.0)
    assert refused["refused"] == "assurance: oracle twin < split"


def test_a_result_without_a_reward_is_not_refused_on_top() -> None:
    ungraded = {**result(oracle="in_process"), "verdict": "ungraded", "reward": None}
    assert parse_required("twin").applied(ungraded) == {**ungraded, "refused": None}


def test_a_run_that_does_not_count_is_not_refused_on_top() -> None:
    invalid = {**result(oracle="in_process"), "status": "invalid", "verdict": "invalid"}
    assert parse_required("twin").applied(invalid)["refused"] is None


def test_where_the_candidate_was_split_off_no_control_is_asked_for() -> None:
    label = {"oracle": "split", "control_coverage": 0.0}
    assert parse_required("twin,control_coverage=0.5").applied(result(**label))["refused"] is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "needs something"),
        ("twins", "oracle is one of in_process, twin, split"),
        ("oracle=", "oracle is one of"),
        ("colour=red", "there is no 'colour'"),
        ("control_coverage=2", "a number in 0..1"),
        ("control_coverage=nan", "a number in 0..1"),
        ("control_coverage=half", "a number in 0..1"),
        ("limits=cgroup", "there is no 'limits'"),
    ],
)
def test_a_wrong_word_is_the_operators_fault(text: str, says: str) -> None:
    with pytest.raises(OperatorFault, match=says):
        parse_required(text)
