"""Records -> every number that a renderer shows. Renderers format; they never divide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.stats.interval import Rate, wilson


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """One agent over everything it was tried on; invalid and ungraded runs are counted apart and are nobody's zero."""

    agent: str
    trials: int
    passed: Rate  # over scorable trials that were graded
    acceptance_errors: int
    invalid: int
    ungraded: int
    judged: Rate  # PASS by the judge, over what it said PASS or FAIL of


def summarise(results: Iterable[Mapping[str, Any]]) -> list[AgentSummary]:
    """`results` are result lines, one for each trial's last run."""
    by_agent: dict[str, list[Mapping[str, Any]]] = {}
    for result in results:
        by_agent.setdefault(str(result["agent"]), []).append(result)
    return [_one(agent, rows) for agent, rows in by_agent.items()]


def _one(agent: str, rows: list[Mapping[str, Any]]) -> AgentSummary:
    scorable = [row for row in rows if row["status"] == "scorable"]
    graded = [
        row for row in scorable if row["verdict"] != "ungraded"
    ]  # unknown is neither a pass nor a failure
    return AgentSummary(
        agent=agent,
        trials=len(rows),
        passed=wilson(sum(row["verdict"] == "pass" for row in graded), len(graded)),
        acceptance_errors=sum(row["acceptance"] == "acceptance_error" for row in scorable),
        invalid=len(rows) - len(scorable),
        ungraded=len(scorable) - len(graded),
        judged=wilson(sum(said == "PASS" for said in _said(rows)), len(_said(rows))),
    )


def _said(rows: list[Mapping[str, Any]]) -> list[str]:
    """What the judge said, where it said something; what could not be read is no FAIL."""
    words = [(row.get("judge") or {}).get("verdict") for row in rows]
    return [word for word in words if word in ("PASS", "FAIL")]
