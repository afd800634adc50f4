"""How the result of a run can be had again, by its record."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.evidence.replay_ways import replay_ways
from steelyard.evidence.trace.summary import Summary

GATEWAY = ["model gateway (anthropic)"]


def manifest(network: Any, cassette: str | None = None, oracle: Any = "none", bench: str = "replay") -> Any:
    return {
        "environment": {"network": network},
        "gateway": {"mode": "live", "cassette": cassette},
        "configuration": {"oracle_network": oracle, "bench": bench},
    }


@pytest.mark.parametrize(
    ("record", "gaps", "expected"),
    [
        (manifest("none"), 0, ["changes", "agent"]),
        (manifest("none"), None, ["agent"]),
        (manifest(GATEWAY), 0, ["changes"]),
        (manifest(GATEWAY), 3, []),
        (manifest(GATEWAY, "tape"), 3, ["cassette"]),
        (manifest([*GATEWAY, "example.org:443"], "tape"), 3, []),
        (manifest("none", oracle=["example.org:443"]), 0, []),
        (manifest("none", bench="live"), 0, ["agent"]),
    ],
)
def test_a_way_needs_everything_that_it_depends_on_in_the_record(
    record: Any, gaps: int | None, expected: list[str]
) -> None:
    assert [way.kind for way in replay_ways(record, Summary(gaps=gaps))] == expected
