"""Result lines of studies that never ran."""

from __future__ import annotations

import random
from typing import Any

from steelyard.report.study_summary.model import StudySummary
from steelyard.report.study_summary.read_results import ResultSet
from steelyard.report.study_summary.run_context import RunContext
from steelyard.report.study_summary.summarise import summarise_study


def line(verdict: str, agent: str = "x", contract: str = "a", **more: Any) -> dict[str, Any]:
    status = "invalid" if verdict == "invalid" else "scorable"
    gate = "pass" if verdict == "pass" else "fail"
    return {
        "schema": "steelyard.result/1",
        "run": f"r-{agent}-{contract}",
        "contract": {"id": contract, "digest": contract * 8},
        "agent": agent,
        "verdict": verdict,
        "status": status,
        "termination": "completed",
        "gates": None if verdict == "invalid" else {"patch": "pass", "acceptance": gate},
        "tags": [] if verdict == "pass" else ["acceptance_failure"],
        "cost": {"usd": 0.5},
        "durations": {"wall_s": 10.0, "working_s": 6.0, "acceptance_s": 3.0},
        "folder": None,
        **more,
    }


def results(
    *lines: dict[str, Any], contexts: list[RunContext | None] | None = None, **more: Any
) -> ResultSet:
    return ResultSet("lines", lines, tuple(contexts or [None] * len(lines)), **more)


def summary(*lines: dict[str, Any], **more: Any) -> StudySummary:
    return summarise_study(results(*lines, **more))


def study(
    first: float, second: float, contracts: int = 30, repeats: int = 3, seed: int = 1
) -> list[dict[str, Any]]:
    generator = random.Random(seed)
    return [
        line("pass" if generator.random() < rate else "fail", agent, f"c{number}", repeat=repeat)
        for number in range(contracts)
        for agent, rate in (("one", first), ("two", second))
        for repeat in range(repeats)
    ]


def context(**more: Any) -> RunContext:
    return RunContext(conditions={"budget": "b1", "graders": "g1"}, agent_version="v1", **more)
