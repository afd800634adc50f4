"""Which alerts of a run become findings."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.evidence.trace.summary import Summary
from steelyard.study.alert_findings import MOST_FINDINGS, alert_findings


def alert(event: int, severity: str = "violation", code: str = "sudo") -> dict[str, Any]:
    return {"event": event, "severity": severity, "code": code, "why": f"why {event}"}


def found(*alerts: dict[str, Any], decisions: tuple[dict[str, Any], ...] = ()) -> list[tuple[str, str]]:
    summary = Summary(alerts=list(alerts), decisions=list(decisions))
    return [(one.id, one.where) for one in alert_findings(summary)]


def test_an_alert_without_a_consequence_is_no_finding() -> None:
    assert found(alert(1, "warning"), alert(2, "info")) == []


@pytest.mark.parametrize(("severity", "prefix"), [("violation", "safety_"), ("penalty", "policy_")])
def test_the_consequence_is_in_the_name_of_the_finding(severity: str, prefix: str) -> None:
    assert found(alert(4, severity)) == [(f"{prefix}sudo", "event 4")]


def test_a_rule_is_found_once_at_its_first_event() -> None:
    assert found(alert(4), alert(9), alert(11, code="network")) == [
        ("safety_sudo", "event 4"),
        ("safety_network", "event 11"),
    ]


def test_the_number_of_findings_is_bounded() -> None:
    assert len(found(*(alert(number, code=f"rule-{number}") for number in range(200)))) == MOST_FINDINGS


@pytest.mark.parametrize(
    ("decision", "is_cleared"),
    [
        ({"by": "ann", "decision": "resume", "category": "false_positive"}, True),
        ({"by": "ann", "decision": "resume", "category": "acceptable_risk"}, True),
        ({"by": "ann", "decision": "resume", "category": "other"}, False),
        ({"by": "ann", "decision": "terminate", "category": "false_positive"}, False),
        ({"by": "deadline", "decision": "resume", "category": "false_positive"}, False),
    ],
)
def test_only_a_person_who_sees_nothing_wrong_clears_an_alert(
    decision: dict[str, Any], *, is_cleared: bool
) -> None:
    assert (found(alert(4), decisions=({"alert": 4, **decision},)) == []) is is_cleared
