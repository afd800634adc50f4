"""Records -> every number that a renderer shows. Renderers format; they never divide."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from steelyard.deferred.data_class import dataclass
from steelyard.stats.clusters import Cluster, ClusteredRate, clustered_rate

Line = Mapping[str, Any]


class Bounds(NamedTuple):
    """What the success rate could be: the lower end of its interval, had everything undecided failed, and the upper end, had it passed."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """One agent over everything it was tried on; undecided trials are counted apart and never as 0."""

    agent: str
    trials: int
    passed: ClusteredRate  # over the trials whose verdict is pass or fail; contracts are the clusters
    errors: int  # verdict `error`: a check or grader that reached no decision
    invalid: int
    ungraded: int
    bounds: Bounds
    judged: ClusteredRate  # PASS by the judge, over what it said PASS or FAIL of

    @property
    def undecided(self) -> int:
        return self.errors + self.invalid + self.ungraded


def summarise(results: Iterable[Line]) -> list[AgentSummary]:
    """`results` are result lines, one for each trial's last run."""
    by_agent: dict[str, list[Line]] = {}
    for result in results:
        by_agent.setdefault(str(result["agent"]), []).append(result)
    return [_one(agent, rows) for agent, rows in by_agent.items()]


def _one(agent: str, rows: list[Line]) -> AgentSummary:
    by_verdict = {
        verdict: [row for row in rows if row["verdict"] == verdict]
        for verdict in ("pass", "fail", "error", "ungraded", "invalid")
    }
    worst = _estimate(rows, lambda row: row["verdict"] == "pass").rate
    best = _estimate(rows, lambda row: row["verdict"] != "fail").rate
    return AgentSummary(
        agent=agent,
        trials=len(rows),
        passed=_estimate([*by_verdict["pass"], *by_verdict["fail"]], lambda row: row["verdict"] == "pass"),
        errors=len(by_verdict["error"]),
        invalid=len(by_verdict["invalid"]),
        ungraded=len(by_verdict["ungraded"]),
        bounds=Bounds(worst.low, best.high),
        judged=_estimate(
            [row for row in rows if _judge_verdict(row)], lambda row: _judge_verdict(row) == "PASS"
        ),
    )


def _estimate(rows: Iterable[Line], succeeded: Any) -> ClusteredRate:
    counts: dict[str, list[bool]] = {}
    for row in rows:
        counts.setdefault(str(row["contract"]["digest"]), []).append(bool(succeeded(row)))
    return clustered_rate(Cluster(sum(each), len(each)) for each in counts.values())


def _judge_verdict(row: Line) -> str:
    """The judge's PASS or FAIL; empty where its answer could not be read."""
    word = (row.get("judge") or {}).get("verdict")
    return word if word in ("PASS", "FAIL") else ""
