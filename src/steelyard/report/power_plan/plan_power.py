"""A `Design` -> `PowerPlan`: power by formula and by simulation, what is needed, a curve, and sanity checks.

    {"schema": "steelyard.power/1", "design": {"first": 0.5, "second": 0.6, "contracts": 40, ...}, "power": 0.41,
     "simulated": {"value": 0.42, "low": ..., "high": ...}, "contracts_needed": 98, "sanity": [...], "assumptions": [...]}

A power plan is an assumption and no result. It is stored so that a study can be held to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from steelyard.deferred.data_class import dataclass
from steelyard.report.study_summary.agent_numbers import counts_by_contract
from steelyard.report.study_summary.model import to_json
from steelyard.report.study_summary.trial_record import TrialRecord
from steelyard.stats.design.icc import icc_of_outcomes
from steelyard.stats.design.power import (
    Design,
    contracts_needed,
    design_effect,
    detectable_effect,
    power,
    power_curve,
    repeats_needed,
    simulated_power,
)
from steelyard.stats.estimate import Estimate

SCHEMA = "steelyard.power/1"
CLOSE = 0.03  # formula and simulation agree if they are this near beyond the error of the simulation
POINTS = 25  # of the curve


@dataclass(frozen=True, slots=True)
class Sanity:
    """One check of the calculation itself."""

    what: str
    holds: bool
    detail: str


@dataclass(frozen=True, slots=True)
class PowerPlan:
    design: Design
    wanted: float
    power: float
    simulated: Estimate
    agrees: bool  # formula and simulation
    design_effect: float
    detectable_effect: float | None
    contracts_needed: int | None
    repeats_needed: int | None
    curve: tuple[tuple[int, float], ...]
    sanity: tuple[Sanity, ...]
    icc: Estimate | None  # where the correlation was estimated from records
    assumptions: tuple[str, ...]
    schema: str = SCHEMA

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = to_json(self)
        return {"schema": data.pop("schema"), "kind": "assumption", **data}


def plan_power(
    design: Design, wanted: float = 0.8, icc: Estimate | None = None, studies: int = 4000
) -> PowerPlan:
    chance, simulated = power(design), simulated_power(design, studies)
    low, high = simulated.low or 0.0, simulated.high if simulated.high is not None else 1.0
    needed = contracts_needed(design, wanted)
    return PowerPlan(
        design=design,
        wanted=wanted,
        power=chance,
        simulated=simulated,
        agrees=low - CLOSE <= chance <= high + CLOSE,
        design_effect=design_effect(design.repeats, design.icc),
        detectable_effect=detectable_effect(design, wanted),
        contracts_needed=needed,
        repeats_needed=repeats_needed(design, wanted),
        curve=tuple(power_curve(design, _counts(design, needed))),
        sanity=tuple(sanity_checks(design)),
        icc=icc,
        assumptions=tuple(_assumptions(design, icc)),
    )


def _counts(design: Design, needed: int | None) -> list[int]:
    """Numbers of contracts from 2 to beyond what is planned and needed."""
    most = max(20, 2 * design.contracts, min(2 * (needed or 0), 20 * design.contracts))
    return sorted({max(2, round(most * at / POINTS)) for at in range(1, POINTS + 1)})


def sanity_checks(design: Design) -> list[Sanity]:
    """Power must grow with contracts, repeats and effect, and be alpha without an effect."""
    counts = [max(2, round(design.contracts * factor)) for factor in (0.5, 1, 1.5, 2, 3)]
    effects = [design.effect * factor for factor in (0.25, 0.5, 0.75, 1.0)]
    level = power(replace(design, second=design.first))
    return [
        _grows("contracts", [power(replace(design, contracts=count)) for count in counts]),
        _grows("repeats", [power(replace(design, repeats=count)) for count in (1, 2, 4, 8)]),
        _grows("effect", [power(replace(design, second=design.first + one)) for one in effects]),
        Sanity(
            "power without an effect is alpha",
            abs(level - design.alpha) < 1e-6 or level == 0.0,
            f"{level:.4f} and {design.alpha:g}",
        ),
    ]


def _grows(name: str, chances: Sequence[float]) -> Sanity:
    holds = all(after >= before - 1e-9 for before, after in pairwise(chances))
    return Sanity(f"power grows with {name}", holds, ", ".join(f"{one:.3f}" for one in chances))


def _assumptions(design: Design, icc: Estimate | None) -> list[str]:
    source = (
        f"estimated from {icc.n} trials of {icc.clusters} contracts: {icc.value:.2f} [{icc.low:.2f}, {icc.high:.2f}]"
        if icc is not None and icc.value is not None and icc.low is not None and icc.high is not None
        else "assumed"
    )
    return [
        f"success rates {design.first:g} and {design.second:g}",
        f"correlation of two repeats of a contract {design.icc:g} ({source})",
        f"the agents find the same contracts hard with share {design.pairing:g}",
        f"two-sided paired t-test over contracts at {design.alpha:g}",
        "every trial is decided: undecided trials lower the power",
    ]


def pilot_of(records: Sequence[TrialRecord]) -> tuple[float | None, Estimate]:
    """Success rate and correlation of the decided trials of one agent."""
    clusters = [one.decided for one in counts_by_contract(records).values() if one.decided.trials]
    trials = sum(one.trials for one in clusters)
    rate = sum(one.successes for one in clusters) / trials if trials else None
    return rate, icc_of_outcomes(clusters)
