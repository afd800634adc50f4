"""A `Design` -> `PowerPlan`: power by formula and by simulation, what is needed, a curve, and sanity checks.

    {"schema": "steelyard.power/1", "design": {"first": 0.5, "second": 0.6, "contracts": 40, ...}, "power": 0.41,
     "simulated": {"value": 0.42, "low": ..., "high": ...}, "contracts_needed": 98, "sanity": [...], "assumptions": [...]}

A power plan is an assumption and no result. It is stored so that a study can be held to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from steelyard.deferred.data_class import dataclass
from steelyard.report.study_summary.agent_numbers import counts_by_contract
from steelyard.report.study_summary.model import to_json
from steelyard.report.study_summary.trial_record import TrialRecord
from steelyard.stats.clusters import rate_over_contracts
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
    rate: Estimate | None  # where the success rate was
    cautious_power: float | None  # at the upper end of the estimated correlation
    assumptions: tuple[str, ...]
    schema: str = SCHEMA

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = to_json(self)
        return {"schema": data.pop("schema"), "kind": "assumption", **data}


class Pilot(NamedTuple):
    """What earlier records show of one agent."""

    rate: Estimate
    icc: Estimate


def plan_power(
    design: Design, wanted: float = 0.8, pilot: Pilot | None = None, studies: int = 4000
) -> PowerPlan:
    icc, rate = (None, None) if pilot is None else (pilot.icc, pilot.rate)
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
        rate=rate,
        cautious_power=_cautious(design, icc),
        assumptions=tuple(_assumptions(design, icc, rate)),
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


def _cautious(design: Design, icc: Estimate | None) -> float | None:
    """The power if the correlation is the largest that the records allow; None where the design does not use them."""
    if icc is None or icc.high is None or icc.value is None or design.icc >= icc.high:
        return None
    return power(replace(design, icc=min(1.0, icc.high)))


def _source(used: float, found: Estimate | None) -> str:
    """Where a number of the design is from: written by the operator, or estimated, with its interval and its trials."""
    if found is None or found.value is None or found.low is None or found.high is None:
        return "assumed"
    shown = f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}] in {found.n} trials of {found.clusters} contracts"
    return f"estimated: {shown}" if abs(used - found.value) < 1e-9 else f"assumed; the records show {shown}"


def _assumptions(design: Design, icc: Estimate | None, rate: Estimate | None) -> list[str]:
    return [
        f"success rates {design.first:.4g} ({_source(design.first, rate)}) and {design.second:.4g}",
        f"correlation of two repeats of a contract {design.icc:.4g} ({_source(design.icc, icc)})",
        f"the agents find the same contracts hard with share {design.pairing:g}",
        f"two-sided paired t-test over contracts at {design.alpha:g}",
        "every trial is decided: undecided trials lower the power",
    ]


def pilot_of(records: Sequence[TrialRecord]) -> Pilot:
    """Success rate and correlation of the decided trials of one agent."""
    clusters = [one.decided for one in counts_by_contract(records).values() if one.decided.trials]
    return Pilot(rate_over_contracts(clusters), icc_of_outcomes(clusters))
