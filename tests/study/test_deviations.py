"""A report names every way in which a run departed from the planned protocol."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.plan.trial import PROTOCOL_SEED
from steelyard.study.deviations import protocol_of

PLAIN: dict[str, Any] = {"seeds": {"protocol": PROTOCOL_SEED}, "configuration": {"oracle": "twin"}}
ALWAYS = {"what": "framework", "planned": "numpy", "observed": None}


def deviations(manifest: dict[str, Any], outcomes: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = protocol_of({**PLAIN, **manifest}, outcomes or {})["deviations"]
    assert found[0] == ALWAYS
    return found[1:]


def test_a_run_as_planned_has_only_the_framework() -> None:
    assert deviations({}) == []


@pytest.mark.parametrize(
    ("manifest", "deviation"),
    [
        ({"seeds": {}}, {"what": "seed", "planned": PROTOCOL_SEED, "observed": None}),
        (
            {"trial": {"attempt": 2, "retries": [{"attempt": 2, "why": "the launcher died", "wait_s": 1.0}]}},
            {"what": "attempt", "planned": 1, "observed": 2, "why": ["the launcher died"]},
        ),
        (
            {"environment": {"limits": {"disk": {"enforced": "none", "value": 64, "unit": "MiB"}}}},
            {"what": "limit", "limit": "disk", "planned": "64 MiB", "observed": None},
        ),
        (
            {
                "agent": {"in_sandbox": True},
                "configuration": {"budget": {"usd": 1, "wall_s": 9}, "enforced_caps": ["wall_s"]},
            },
            {"what": "budget", "planned": ["usd"], "observed": None},
        ),
        (
            {
                "agent": {"in_sandbox": True},
                "configuration": {
                    "budget": {"usd": 1, "wall_s": 9},
                    "enforced_caps": ["wall_s"],
                    "stated_caps": ["wall_s"],
                },
            },
            {"what": "default budget", "planned": ["usd"], "observed": None},
        ),
        ({"configuration": {"bench": "live"}}, {"what": "bench", "planned": "fresh", "observed": "live"}),
    ],
)
def test_a_departure_is_named(manifest: dict[str, Any], deviation: dict[str, Any]) -> None:
    assert deviations(manifest) == [deviation]


def test_a_weaker_oracle_is_named_for_each_check_that_did_not_fail() -> None:
    outcomes = {
        "unit": {"reported": {}, "oracle": "in_process", "outcome": "pass"},
        "red": {"reported": {}, "oracle": "in_process", "outcome": "fail"},
        "lint": {"reported": None, "oracle": None},
        "more": {"reported": {}, "oracle": "twin"},
    }
    assert deviations({}, outcomes) == [
        {"what": "oracle", "check": "unit", "planned": "twin", "observed": "in_process"}
    ]
