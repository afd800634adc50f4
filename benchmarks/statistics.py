"""Statistics: the cluster bootstrap against bare resampling, and the summary of a large study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measure import Measured, measure, ratio, timed
from benchmarks.workshop import Workshop
from steelyard.report.study_summary.read_results import ResultSet
from steelyard.report.study_summary.summarise import summarise_study
from steelyard.stats.bootstrap import Resampling, cluster_bootstrap

CONTRACTS, REPEATS, RESAMPLES = 1000, 10, 10_000
BLOCK = 1000  # of the bare resampling: all indices at once are 80 MB
VERDICTS = ("pass", "fail", "error")


def bootstrap(workshop: Workshop) -> Iterator[Measured]:
    """A BCa interval of the success rate."""
    generator = np.random.default_rng(1)
    won = generator.binomial(REPEATS, generator.beta(1, 1, CONTRACTS)).astype(float)
    rows = np.column_stack([won, np.full(CONTRACTS, float(REPEATS))])
    variants = {
        "BCa": timed(lambda: _use(cluster_bootstrap(rows, how=Resampling(RESAMPLES)).value)),
        "bare resampling": timed(lambda: _use(_bare(rows))),
    }
    rounds = measure(variants, workshop.rounds(7), warm_up=1)
    what = (
        f"{RESAMPLES:,} cluster-bootstrap resamples of {CONTRACTS:,} contracts x {REPEATS} repeats, with the BCa interval, "
        "against bare numpy resampling"
    )
    yield Measured.of("bootstrap", what, rounds, ratio("BCa", "bare resampling"), target=3)


def _use(value: float | None) -> None:
    assert value is not None


def _bare(rows: np.ndarray) -> float:
    """Draw contracts, sum, divide: nothing else."""
    generator, (won, trials) = np.random.default_rng(1), rows.T.copy()
    rates = []
    for _ in range(RESAMPLES // BLOCK):
        chosen = generator.integers(0, CONTRACTS, (BLOCK, CONTRACTS))
        rates.append(won[chosen].sum(axis=1) / trials[chosen].sum(axis=1))
    return float(np.mean(np.concatenate(rates)))


def summary(workshop: Workshop) -> Iterator[Measured]:
    """Every number of a report over 10,000 result lines, against reading them once."""
    generator = np.random.default_rng(2)
    lines: tuple[dict[str, Any], ...] = tuple(
        {
            "contract": {"id": f"c{number}", "digest": f"{number:064d}"},
            "agent": agent,
            "verdict": VERDICTS[int(generator.choice(3, p=[0.5, 0.45, 0.05]))],
            "termination": "completed",
            "gates": {"patch": "pass", "acceptance": "pass"},
            "tags": [],
            "cost": {"usd": float(generator.random())},
            "durations": {"wall_s": float(generator.random()), "working_s": float(generator.random())},
        }
        for number in range(CONTRACTS)
        for agent in ("one", "two")
        for _ in range(5)
    )
    results = ResultSet("lines", lines, (None,) * len(lines))
    rounds = measure(
        {"summary": timed(lambda: _use(summarise_study(results).trials))}, workshop.rounds(3), warm_up=1
    )
    what = "the summary of 10,000 results of two agents: rates, comparison, cost, times, disclosures"
    yield Measured.of("summary", what, rounds, lambda one: 1000 * one["summary"], unit="ms")


ROWS = {"bootstrap": bootstrap, "summary": summary}
