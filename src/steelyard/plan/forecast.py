"""Earlier runs and the caps of contracts -> what a study will cost and how long it will take, with an interval.

    {"trials": 120, "usd": {"expected": 31.2, "low": 24.0, "high": 40.1, "most": 600.0},
     "hours": {"expected": 4.1, "low": 3.5, "high": 5.2, "most": 60.0}, "jobs": 2,
     "known": {"usd": 120, "hours": 120}, "from": "240 earlier runs"}

Each trial is drawn 1,000 times from earlier runs: of the same agent on the same contract, else of the same agent, which is
how much trials of one agent vary. A trial without such runs has no expectation; only its caps bound it, and so the study has no
expectation either: `known` says of how many trials something is known. `low` and `high` enclose 95 of 100 drawn totals. `most` is
what the caps allow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from steelyard.deferred.data_class import dataclass
from steelyard.plan.order import Slot

DRAWS = 1000


class Earlier(NamedTuple):
    """What one earlier run took."""

    usd: float | None
    wall_s: float | None


class Cap(NamedTuple):
    """What one trial may take: nothing of money for an agent that reaches no model."""

    usd: float
    wall_s: float


@dataclass(frozen=True)
class History:
    """Earlier runs by the agent's name and the contract's id."""

    runs: Mapping[tuple[str, str], Sequence[Earlier]] = field(default_factory=dict)

    def of(self, slot: Slot) -> Sequence[Earlier]:
        same = self.runs.get((slot.agent, slot.task), ())
        return same or [one for (agent, _), runs in self.runs.items() if agent == slot.agent for one in runs]

    def __len__(self) -> int:
        return sum(map(len, self.runs.values()))


def forecast(
    slots: Sequence[Slot], history: History, caps: Mapping[tuple[str, str], Cap], *, jobs: int, seed: int
) -> dict[str, Any]:
    """`caps` has what each agent (by name) may take on each contract (by id)."""
    import numpy as np  # noqa: PLC0415  # only where a plan is made

    draw = np.random.default_rng(seed)
    kinds: dict[tuple[str, str], int] = {}
    for slot in slots:
        kinds[slot.agent, slot.task] = kinds.get((slot.agent, slot.task), 0) + 1
    totals = {"usd": np.zeros(DRAWS), "wall_s": np.zeros(DRAWS)}
    known = {"usd": 0, "wall_s": 0}
    most = {"usd": 0.0, "wall_s": 0.0}
    by_kind = {(slot.agent, slot.task): slot for slot in slots}
    for (agent, task), count in kinds.items():
        cap = caps[agent, task]
        earlier = history.of(by_kind[agent, task])
        for name in ("usd", "wall_s"):
            most[name] += count * getattr(cap, name)
            values = [value for one in earlier if (value := getattr(one, name)) is not None]
            if name == "usd" and cap.usd == 0:
                values = [0.0]
            if values:
                known[name] += count
                totals[name] += draw.choice(values, size=(DRAWS, count)).sum(axis=1)
    hours = 3600.0 * max(1, jobs)
    return {
        "trials": len(slots),
        "usd": _spread(totals["usd"], most["usd"], is_known=known["usd"] == len(slots)),
        "hours": _spread(
            totals["wall_s"] / hours, most["wall_s"] / hours, is_known=known["wall_s"] == len(slots)
        ),
        "jobs": jobs,
        "known": {"usd": known["usd"], "hours": known["wall_s"]},
        "from": f"{len(history)} earlier runs",
    }


def _spread(totals: Any, most: float, *, is_known: bool) -> dict[str, float | None]:
    if not is_known:
        return {"expected": None, "low": None, "high": None, "most": round(most, 4)}
    ordered = sorted(float(one) for one in totals)
    return {
        "expected": round(sum(ordered) / len(ordered), 4),
        "low": round(ordered[int(0.025 * len(ordered))], 4),
        "high": round(ordered[int(0.975 * len(ordered))], 4),
        "most": round(most, 4),
    }
