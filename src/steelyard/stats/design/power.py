"""Rates, correlation, contracts and repeats -> the chance that a study tells two agents apart (pure).

The model. Agent a on contract i: with probability sqrt(icc) a repeat has the outcome that is common to the contract, else
one of its own; all outcomes succeed with probability p_a. Two repeats then have the correlation icc. The common outcomes
of the two agents are one draw with probability `pairing`, else independent. So for contract differences of k repeats

    var(mean_a) = p_a (1 - p_a) (1 + (k - 1) icc) / k                the design effect (Kish 1965)
    cov         = icc * pairing * (min(p_1, p_2) - p_1 p_2)
    var(D)      = (var(mean_1) + var(mean_2) - 2 cov) / m

and the power of the two-sided paired t-test over m contracts is that of the noncentral t distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from steelyard.stats.bootstrap import SEED
from steelyard.stats.estimate import Estimate
from steelyard.stats.proportion import wilson_rate

MOST_CONTRACTS = 1_000_000
MOST_REPEATS = 1_000


@dataclass(frozen=True, slots=True)
class Design:
    """What a study is planned to be, and what is assumed of it."""

    first: float  # success rate of the agent compared with
    second: float
    contracts: int
    repeats: int = 1
    icc: float = 0.2  # correlation of two repeats of one agent on one contract
    pairing: float = 0.5  # how far the two agents find the same contracts hard; 0 is the cautious choice
    alpha: float = 0.05

    def __post_init__(self) -> None:
        for name in ("first", "second", "icc", "pairing"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is between 0 and 1, not {getattr(self, name)}")
        if not 0 < self.alpha < 1:
            raise ValueError(f"alpha is between 0 and 1, not {self.alpha}")
        if self.contracts < 2 or self.repeats < 1:
            raise ValueError("a design has at least 2 contracts and 1 repeat")

    @property
    def effect(self) -> float:
        return self.second - self.first

    @property
    def trials(self) -> int:
        """Of both agents."""
        return 2 * self.contracts * self.repeats

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def design_effect(repeats: int, icc: float) -> float:
    """How many times more trials are needed than if repeats were independent (Kish 1965): 1 + (k - 1) * icc."""
    return 1 + (repeats - 1) * icc


def difference_variance(design: Design) -> float:
    """Of one contract's difference between the agents."""
    rates = (design.first, design.second)
    own = sum(p * (1 - p) for p in rates) * design_effect(design.repeats, design.icc) / design.repeats
    common = min(rates) - rates[0] * rates[1]
    return own - 2 * design.icc * design.pairing * common


def power(design: Design) -> float:
    """The chance that the paired t-test rejects equality, in either direction."""
    variance = difference_variance(design)
    if variance <= 1e-15:
        return 0.0 if design.effect == 0 else 1.0
    degrees = design.contracts - 1
    shift = abs(design.effect) / math.sqrt(variance / design.contracts)
    limit = float(special.stdtrit(degrees, 1 - design.alpha / 2))
    missed = _noncentral_t(degrees, shift, limit) - _noncentral_t(degrees, shift, -limit)
    return min(1.0, max(0.0, 1 - missed))


def _noncentral_t(degrees: int, shift: float, at: float) -> float:
    """The distribution function; scipy gives NaN for some tails below 1e-9, which are 0."""
    chance = float(special.nctdtr(degrees, shift, at))
    return 0.0 if math.isnan(chance) else chance


def simulated_power(design: Design, studies: int = 4000, seed: int = SEED) -> Estimate:
    """The share of simulated studies in which the paired t-test rejects, with Wilson's interval for the simulation."""
    generator = np.random.default_rng(seed)
    limit = float(special.stdtrit(design.contracts - 1, 1 - design.alpha / 2))
    rejected, block = 0, max(1, 2_000_000 // (design.contracts * design.repeats))
    for start in range(0, studies, block):
        differences = _simulate(design, min(block, studies - start), generator)
        mean = differences.mean(axis=1)
        error = differences.std(axis=1, ddof=1) / math.sqrt(design.contracts)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(np.where(error > 0, mean / error, np.where(mean != 0, np.inf, 0.0)))
        rejected += int((t > limit).sum())
    found = wilson_rate(rejected, studies)
    return replace(found, method=f"simulation of {studies} studies, seed {seed}", clusters=design.contracts)


def _simulate(design: Design, studies: int, generator: np.random.Generator) -> np.ndarray:
    """Study x contract: the difference of the two agents' rates."""
    shape = (studies, design.contracts)
    shared, own = generator.random(shape), generator.random(shape)
    is_one_draw = generator.random(shape) < design.pairing
    uniforms = (shared, np.where(is_one_draw, shared, own))
    rates = []
    for p, uniform in zip((design.first, design.second), uniforms, strict=True):
        copies = generator.binomial(design.repeats, math.sqrt(design.icc), shape)
        successes = copies * (uniform < p) + generator.binomial(design.repeats - copies, p)
        rates.append(successes / design.repeats)
    difference: np.ndarray = rates[1] - rates[0]
    return difference


def detectable_effect(design: Design, wanted: float = 0.8) -> float | None:
    """The smallest improvement over `first` that has the wanted power; None if not even a rate of 1 has it."""
    if power(replace(design, second=1.0)) < wanted:
        return None
    low, high = design.first, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if power(replace(design, second=middle)) >= wanted else (middle, high)
    return high - design.first


def contracts_needed(design: Design, wanted: float = 0.8) -> int | None:
    """The smallest number of contracts that has the wanted power; None if a million are too few."""
    return _smallest(lambda count: power(replace(design, contracts=count)) >= wanted, 2, MOST_CONTRACTS)


def repeats_needed(design: Design, wanted: float = 0.8) -> int | None:
    """The smallest number of repeats that has the wanted power; None where no number helps: contracts are missing."""
    return _smallest(lambda count: power(replace(design, repeats=count)) >= wanted, 1, MOST_REPEATS)


def _smallest(is_enough: Any, least: int, most: int) -> int | None:
    """By bisection; power grows with both numbers."""
    if not is_enough(most):
        return None
    low, high = least - 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle >= least and is_enough(middle) else (middle, high)
    return high


def power_curve(design: Design, contracts: Sequence[int]) -> list[tuple[int, float]]:
    """(contracts, power) for each number of contracts."""
    return [(count, power(replace(design, contracts=count))) for count in contracts]


def contracts_to_decide(
    value: float, deviation: float, contracts: int, alpha: float = 0.05, degrees_share: float = 1.0
) -> int | None:
    """How many more contracts until an interval around `value` excludes 0, if value and deviation stay as they are.

    The smallest m with |D| > t(share * (m - 1)) * s / sqrt(m), less what there is; None where D is 0 or a million are too
    few. `degrees_share` is the part of m - 1 that the interval has as degrees of freedom.
    """
    if value == 0:
        return None

    def is_decided(count: int) -> bool:
        half = (
            float(special.stdtrit(max(1.0, degrees_share * (count - 1)), 1 - alpha / 2))
            * deviation
            / math.sqrt(count)
        )
        return abs(value) > half

    needed = _smallest(is_decided, 2, MOST_CONTRACTS)
    return None if needed is None else max(0, needed - contracts)
