"""How often 95% intervals contain the truth, by simulation -> Markdown tables.   usage: coverage.py [STUDIES] [SEED] [TITLE]

Contracts have success probabilities from a beta distribution, so that two repeats of a contract have the correlation `icc`;
with icc 0 all contracts are alike. A study is drawn as the number of contracts with 0, 1, 2, ... successes, which is all that
an interval depends on. Intervals are computed for all studies of a cell at once; some of each cell are held against the
function that reports use, to 1e-9. STUDIES are in each cell of the success rate; other tables have fewer. The Monte Carlo
error (one standard error) of a coverage near 95% is 0.03 points for 400,000 studies, 0.07 for 100,000 and 0.2 for 10,000.
TITLE is part of the title of a table: only such tables are made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from steelyard.stats.bootstrap import Resampling, cluster_bootstrap
from steelyard.stats.cluster_interval import (
    FEW,
    KURTOSIS_WEIGHT,
    MOST_DEGREES,
    MOST_WORTH,
    MOST_WORTH_EVEN,
    ROUNDING,
    Z90,
    least_worth,
)
from steelyard.stats.clusters import Cluster, cluster_robust_rate, rate_over_contracts
from steelyard.stats.compare.difference import paired_difference
from steelyard.stats.compare.pairs import Pair
from steelyard.stats.design.icc import icc_of_outcomes
from steelyard.stats.design.icc_interval import (
    CANDIDATES,
    LEAST,
    SizeGroup,
    drawn_ratios,
    likelihood_ratios,
    mid_p,
)
from steelyard.stats.estimate import Estimate
from steelyard.stats.interval import Z95, wilson_ends
from steelyard.stats.passk import at_least_one, pass_at_k
from steelyard.stats.skewed_mean import MOST_SKEWNESS, SKEWNESS_SHARE

CONTRACTS = (20, 50, 100, 200)
CORRELATIONS = (0.0, 0.2, 0.6)
RATES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
PAIRS = ((0.05, 0.1), (0.1, 0.3), (0.2, 0.25), (0.3, 0.4), (0.5, 0.5), (0.8, 0.95), (0.02, 0.02), (0.1, 0.1))  # fmt: skip
REPEATS = 5
BLOCK = 2000  # studies at once
CHECKED = 20  # studies of a cell that are held against the function of reports


def covers(found: Estimate, truth: float) -> bool:
    return (
        found.low is not None and found.high is not None and found.low - 1e-12 <= truth <= found.high + 1e-12
    )


def coverage_of_rate(
    studies: int, seed: int, cell: Cell, estimate: Callable[[list[Cluster]], Estimate] | None = None
) -> float:
    """In percent; of `rate_over_contracts`, if no other estimate is named."""
    distinct, times = _drawn(studies, seed, cell)
    if estimate is None:
        ends = ends_of_tables(distinct)
        _check(distinct, ends, rate_over_contracts)
        return _share(times, ends, cell.rate)
    found = [covers(estimate(_clusters_of(table)), cell.rate) for table in distinct]
    return 100 * float(times @ np.array(found)) / studies


def _share(times: np.ndarray, ends: Ends, truth: float) -> float:
    hits = (ends.low - 1e-12 <= truth) & (truth <= ends.high + 1e-12)
    return 100 * float(times @ hits) / float(times.sum())


def _drawn(studies: int, seed: int, cell: Cell) -> tuple[np.ndarray, np.ndarray]:
    """Distinct tables, how many contracts have 0, 1, 2, ... successes, and how many studies have each."""
    generator = np.random.default_rng(
        [seed, int(cell.icc * 10), cell.contracts, int(cell.rate * 100), cell.repeats]
    )
    tables = generator.multinomial(cell.contracts, cell.chances(), studies)
    rows = np.ascontiguousarray(tables.astype(np.uint16)).view(f"V{2 * tables.shape[1]}").ravel()
    _, first, times = np.unique(rows, return_index=True, return_counts=True)
    return tables[first], times


def _clusters_of(table: np.ndarray) -> list[Cluster]:
    return [Cluster(wins, len(table) - 1) for wins, many in enumerate(table) for _ in range(many)]


class Ends(NamedTuple):
    low: np.ndarray
    high: np.ndarray


def _check(tables: np.ndarray, ends: Ends, estimate: Callable[[list[Cluster]], Estimate]) -> None:
    for row in range(0, len(tables), max(1, len(tables) // CHECKED)):
        found = estimate(_clusters_of(tables[row]))
        if not np.allclose((ends.low[row], ends.high[row]), found.interval or (), atol=1e-9):
            raise SystemExit(
                f"{tables[row]}: {ends.low[row]}, {ends.high[row]} is not {found.interval} of {found.method}"
            )


def ends_of_tables(tables: np.ndarray) -> Ends:
    """Rows of contracts by number of successes -> the ends that `cluster_interval.interval_ends` has for each row."""
    mirrored = tables @ np.arange(tables.shape[1]) * 2 > tables.sum(1) * (tables.shape[1] - 1)
    low, high = _near_zero(np.where(mirrored[:, None], tables[:, ::-1], tables))
    return Ends(np.where(mirrored, 1 - high, low), np.where(mirrored, 1 - low, high))


def _near_zero(tables: np.ndarray) -> Ends:
    repeats, contracts = tables.shape[1] - 1, int(tables[0].sum())
    size = _sizes(tables, np.arange(repeats + 1) / repeats, (MOST_WORTH_EVEN, MOST_WORTH))
    low, high = _wilson(size, Z95, least_worth([1.0] * contracts))
    _, least_high = wilson_ends(0.0, contracts)
    if contracts >= FEW:
        cautious = size._replace(worth=np.minimum(size.worth, MOST_WORTH * contracts * repeats))
        low = np.maximum(low, np.minimum(_wilson(cautious, Z90).low, least_high))
    return Ends(low, np.maximum(high, least_high))


class Sizes(NamedTuple):
    """Of each study: the mean over contracts, the trials that the study is worth, and the degrees of freedom."""

    mean: np.ndarray
    worth: np.ndarray
    degrees: np.ndarray


def _sizes(tables: np.ndarray, values: np.ndarray, most: tuple[float, float], k: int = 1) -> Sizes:
    """A contract with so many successes has the value at that place; `most` is in sets of k trials: even, uneven."""
    contracts, repeats = int(tables[0].sum()), tables.shape[1] - 1
    trials = contracts * repeats
    mean = tables @ values / contracts
    squares = (values - mean[:, None]) ** 2
    second, fourth = ((tables * squares**power).sum(1) / contracts for power in (1, 2))
    alike = second <= 1e-24
    second = np.where(alike, 1.0, second)
    excess = fourth / second**2 - (contracts - 3) / (contracts - 1)
    largest = contracts - 1.0 if contracts < FEW else MOST_DEGREES
    degrees = np.clip(2 * contracts / np.where(excess <= 0, 1e-9, excess), min(2.0, contracts - 1.0), largest)
    variance = second / contracts * (contracts / (contracts - 1) if contracts < FEW else 1)
    worth = np.minimum(
        np.where(degrees >= contracts - 1 - ROUNDING, *most) * trials / k, mean * (1 - mean) / variance
    )
    blended = 1 / (KURTOSIS_WEIGHT / degrees + (1 - KURTOSIS_WEIGHT) / (contracts - 1))
    degrees = np.where(alike, contracts - 1, np.maximum(degrees, blended))
    none_or_all = alike & ((mean <= 0) | (mean >= 1))
    return Sizes(
        mean,
        np.where(none_or_all, contracts, np.where(alike, trials, worth)),
        np.where(none_or_all, np.inf, degrees),
    )


def _wilson(size: Sizes, z: float, least: float = 0.0) -> Ends:
    rate, finite = size.mean, np.isfinite(size.degrees)
    quantile = np.where(finite, special.stdtrit(np.where(finite, size.degrees, 1), special.ndtr(z)), z)
    trials = np.maximum(least, size.worth * (z / quantile) ** 2)
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z * np.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / scale
    return Ends(
        np.where(rate <= 0, 0, np.maximum(0, centre - half)),
        np.where(rate >= 1, 1, np.minimum(1, centre + half)),
    )


class Cell(NamedTuple):
    icc: float
    contracts: int
    rate: float
    repeats: int = REPEATS
    mixture: str = "beta"

    def chances(self) -> np.ndarray:
        """Of 0, 1, 2, ... successes of a contract: its probability has mean `rate`, and repeats have the correlation `icc`."""
        wins = np.arange(self.repeats + 1)
        if self.icc == 0:
            found = stats.binom.pmf(wins, self.repeats, self.rate)
        elif self.mixture == "two kinds":  # contracts are easy or hard, as far apart as the correlation asks
            spread = np.sqrt(self.icc * self.rate * (1 - self.rate))
            kinds = [stats.binom.pmf(wins, self.repeats, self.rate + off) for off in (-spread, spread)]
            found = (kinds[0] + kinds[1]) / 2
        else:
            size = 1 / self.icc - 1
            found = stats.betabinom.pmf(wins, self.repeats, self.rate * size, (1 - self.rate) * size)
        return np.asarray(found / found.sum())


def rates_table(
    studies: int, seed: int, estimate: Callable[[list[Cluster]], Estimate] | None = None
) -> Iterator[str]:
    """Coverage of the success rate, in percent."""
    yield f"| icc | contracts | {' | '.join(f'rate {rate:g}' for rate in RATES)} |"
    yield "|" + " --- |" * (len(RATES) + 2)
    for icc in CORRELATIONS:
        for contracts in CONTRACTS:
            cells = [
                f"{coverage_of_rate(studies, seed, Cell(icc, contracts, rate), estimate):.1f}"
                for rate in RATES
            ]
            yield f"| {icc} | {contracts} | {' | '.join(cells)} |"


def designs_table(studies: int, seed: int) -> Iterator[str]:
    """Coverage of the success rate for other designs: fewer contracts, other repeats, another mixture."""
    yield "| design | icc | rate 0.02 | rate 0.1 | rate 0.3 | rate 0.5 |"
    yield "|" + " --- |" * 6
    designs = [(5, 5), (10, 5), *((contracts, repeats) for repeats in (3, 10) for contracts in CONTRACTS)]
    for contracts, repeats in designs:
        for icc in CORRELATIONS:
            cells = [Cell(icc, contracts, rate, repeats) for rate in RATES[:4]]
            yield f"| {contracts} contracts, {repeats} repeats | {icc} | {_percentages(studies, seed, cells)} |"
    for contracts in (20, 100):
        cells = [Cell(0.2, contracts, rate, REPEATS, "two kinds") for rate in (0.3, 0.5)]
        yield f"| {contracts} contracts, 5 repeats, easy and hard contracts only | 0.2 | - | - | {_percentages(studies, seed, cells)} |"


def _percentages(studies: int, seed: int, cells: list[Cell]) -> str:
    return " | ".join(f"{coverage_of_rate(studies, seed, cell):.1f}" for cell in cells)


def differences_table(studies: int, seed: int) -> Iterator[str]:
    """Coverage of the paired difference; both agents find the same contracts hard (comonotone chances)."""
    yield f"| icc | contracts | {' | '.join(f'{one:g} and {two:g}' for one, two in PAIRS)} |"
    yield "|" + " --- |" * (len(PAIRS) + 2)
    for icc in CORRELATIONS:
        for contracts in CONTRACTS:
            cells = []
            for rates in PAIRS:
                generator = np.random.default_rng(
                    [seed, int(icc * 10), contracts, *(int(100 * one) for one in rates)]
                )
                hits = [
                    _covered_differences(generator, rates, icc, contracts, min(BLOCK, studies - start))
                    for start in range(0, studies, BLOCK)
                ]
                cells.append(f"{100 * sum(hits) / studies:.1f}")
            yield f"| {icc} | {contracts} | {' | '.join(cells)} |"


def _covered_differences(
    generator: np.random.Generator, rates: tuple[float, float], icc: float, contracts: int, studies: int
) -> int:
    """How many of the studies have an interval with the true difference; some are held against `paired_difference`."""
    ranks = generator.random((studies, contracts))
    size = 1 / icc - 1 if icc else 0.0
    one, two = (
        generator.binomial(
            3,
            special.betaincinv(rate * size, (1 - rate) * size, ranks) if icc else np.full(ranks.shape, rate),
        )
        for rate in rates
    )
    low, high = ends_of_differences((two - one) / 3)
    for row in generator.integers(studies, size=2):
        pairs = [
            Pair(Cluster(int(left), 3), Cluster(int(right), 3))
            for left, right in zip(one[row], two[row], strict=True)
        ]
        found = paired_difference(pairs)
        if not np.allclose((low[row], high[row]), found.interval or (), atol=1e-9):
            raise SystemExit(f"{pairs}: {low[row]}, {high[row]} is not {found.interval}")
    truth = rates[1] - rates[0]
    return int(((low - 1e-12 <= truth) & (truth <= high + 1e-12)).sum())


def ends_of_differences(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of contracts' differences -> the ends that `paired_difference` has for each row."""
    contracts = differences.shape[1]
    mean = differences.mean(1)
    off = differences - mean[:, None]
    second, third, fourth = ((off**power).mean(1) for power in (2, 3, 4))
    alike = second * contracts <= 1e-24
    second = np.where(alike, 1.0, second)
    excess = fourth / second**2 - (contracts - 3) / (contracts - 1)
    degrees = np.where(
        excess <= 0,
        contracts - 1,
        np.clip(2 * contracts / np.where(excess <= 0, 1, excess), 2, contracts - 1),
    )
    skewness = np.clip(SKEWNESS_SHARE * third / second**1.5, -MOST_SKEWNESS, MOST_SKEWNESS)
    slope = skewness / (3 * np.sqrt(contracts))
    straight = abs(slope) < 1e-9

    def untransformed(value: np.ndarray) -> np.ndarray:
        shifted = value - skewness / (6 * np.sqrt(contracts))
        return np.where(
            straight, value, (np.cbrt(1 + 3 * slope * shifted) - 1) / np.where(straight, 1, slope)
        )

    error, quantile = np.sqrt(second / (contracts - 1)), special.stdtrit(degrees, 0.975)
    share = 1 - 0.025 ** (1 / contracts)
    low = np.where(alike, mean - share * (mean + 1), mean - error * untransformed(quantile))
    high = np.where(alike, mean + share * (1 - mean), mean - error * untransformed(-quantile))
    return np.maximum(-1, low), np.minimum(1, high)


def pass_at_k_table(studies: int, seed: int) -> Iterator[str]:
    """Coverage of pass@3 of 5 repeats."""
    rates = (0.02, 0.1, 0.3, 0.5, 0.7)
    yield f"| icc | contracts | {' | '.join(f'rate {rate:g}' for rate in rates)} |"
    yield "|" + " --- |" * (len(rates) + 2)
    for icc in CORRELATIONS:
        for contracts in CONTRACTS:
            cells = [_coverage_of_pass(studies, seed, Cell(icc, contracts, rate)) for rate in rates]
            yield f"| {icc} | {contracts} | {' | '.join(cells)} |"


def _coverage_of_pass(studies: int, seed: int, cell: Cell) -> str:
    tables, times = _drawn(studies, seed, cell)
    values = np.array([at_least_one(wins, cell.repeats, 3) for wins in range(cell.repeats + 1)])
    sizes = _sizes(tables, values, (MOST_WORTH_EVEN, MOST_WORTH_EVEN), 3)
    ends = _wilson(sizes, Z95, least_worth([1.0] * cell.contracts))
    _check(tables, ends, lambda clusters: pass_at_k(clusters, 3))
    return f"{_share(times, ends, float(cell.chances() @ values)):.1f}"


def correlations_table(studies: int, seed: int) -> Iterator[str]:
    """Coverage of the correlation itself, among studies that have an estimate; in brackets how many percent have none."""
    rates = (0.02, 0.1, 0.3, 0.5)
    yield f"| icc | contracts | repeats | {' | '.join(f'rate {rate:g}' for rate in rates)} |"
    yield "|" + " --- |" * (len(rates) + 3)
    for icc in CORRELATIONS:
        for contracts in CONTRACTS:
            for repeats in (2, 5, 10):
                cells = [
                    _coverage_of_icc(studies, seed, Cell(icc, contracts, rate, repeats)) for rate in rates
                ]
                yield f"| {icc} | {contracts} | {repeats} | {' | '.join(cells)} |"
    kinds: list[tuple[float, list[float]]] = [(0.2, [0.3, 0.5]), (0.6, [0.5])]
    for icc, possible in kinds:
        for contracts in (20, 100):
            cells = [
                _coverage_of_icc(studies, seed, Cell(icc, contracts, rate, REPEATS, "two kinds"))
                for rate in possible
            ]
            shown = ["-"] * (4 - len(cells)) + cells
            yield f"| {icc}, easy and hard contracts only | {contracts} | {REPEATS} | {' | '.join(shown)} |"


def _coverage_of_icc(studies: int, seed: int, cell: Cell) -> str:
    """A study covers if its interval does not reject the true correlation, which is one of the candidates.

    Studies with the same number of successes share their simulation, as in `likelihood_ratio_ends`. Some are held against
    the interval itself.
    """
    tables, times = _drawn(studies, seed, cell)
    won = tables @ np.arange(cell.repeats + 1)
    known = np.minimum(won, cell.contracts * cell.repeats - won) >= LEAST
    tables, times, won = tables[known], times[known], won[known]
    none = studies - int(times.sum())
    if not len(tables):
        return "-"
    at = int(np.flatnonzero(np.isclose(CANDIDATES, cell.icc))[0])
    observed = likelihood_ratios([SizeGroup(cell.repeats, tables.astype(float))])[:, at]
    hits = np.zeros(len(tables), dtype=bool)
    design = [SizeGroup(cell.repeats, tables[:1].astype(float))]
    for total in np.unique(won):
        rows = won == total
        drawn = drawn_ratios(design, total / (cell.contracts * cell.repeats), at)
        hits[rows] = [mid_p(drawn, one) > 0.05 for one in observed[rows]]
    for row in range(0, len(tables), max(1, len(tables) // 3)):
        if covers(icc_of_outcomes(_clusters_of(tables[row])), cell.icc) != hits[row]:
            sys.stderr.write(f"{cell}: {tables[row]} is {hits[row]} by its P value and not by its interval\n")
    rest = f" ({100 * none / studies:.0f})" if none * 200 >= studies else ""
    return f"{100 * float(times @ hits) / times.sum():.1f}{rest}"


def sandwich_table(studies: int, seed: int) -> Iterator[str]:
    return rates_table(studies, seed, cluster_robust_rate)


def bootstrap_table(studies: int, seed: int) -> Iterator[str]:
    return rates_table(studies, seed, _bootstrap)


def _bootstrap(made: list[Cluster]) -> Estimate:
    return cluster_bootstrap([(one.successes, one.trials) for one in made], how=Resampling(999))


TABLES: tuple[tuple[str, int, Callable[[int, int], Iterator[str]]], ...] = (
    # title; the studies of a cell are STUDIES divided by this
    (f"Success rate (`rate_over_contracts`), {REPEATS} repeats", 1, rates_table),
    ("Success rate, other designs", 4, designs_table),
    ("Paired difference (`paired_difference`), 3 repeats", 40, differences_table),
    (f"pass@3 of {REPEATS} repeats (`pass_at_k`)", 4, pass_at_k_table),
    ("Intra-contract correlation (`icc_of_outcomes`)", 40, correlations_table),
    (f"For comparison: plain sandwich interval, {REPEATS} repeats", 200, sandwich_table),
    (f"For comparison: BCa bootstrap, 999 resamples, {REPEATS} repeats", 800, bootstrap_table),
)


def main(studies: int = 400_000, seed: int = 20260307, only: str = "") -> None:
    for title, part, table in TABLES:
        if only not in title:
            continue
        many = max(1, studies // part)
        error = 100 * (0.95 * 0.05 / many) ** 0.5
        sys.stdout.write(
            f"### {title}\n\n{many:,} studies in each cell; a coverage of 95 has a standard error of {error:.2f}.\n\n"
        )
        for row in table(many, seed):
            sys.stdout.write(f"{row}\n")
            sys.stdout.flush()
        sys.stdout.write("\n")


if __name__ == "__main__":
    words = sys.argv[1:]
    main(
        int(words[0]) if words else 400_000,
        int(words[1]) if len(words) > 1 else 20260307,
        " ".join(words[2:]),
    )
