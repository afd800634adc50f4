"""Two agents' successes on each contract -> the pairs that a comparison is made of (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from steelyard.stats.clusters import Cluster


class Pair(NamedTuple):
    """One contract that both agents were tried on."""

    first: Cluster
    second: Cluster

    @property
    def difference(self) -> Fraction:
        """The second agent's rate less the first's, exactly."""
        return Fraction(self.second.successes, self.second.trials) - Fraction(
            self.first.successes, self.first.trials
        )


def pair_contracts(first: Mapping[str, Cluster], second: Mapping[str, Cluster]) -> list[Pair]:
    """The contracts that both agents have decided trials on, in order of their names."""
    shared = [name for name in sorted(first) if name in second]
    return [Pair(first[name], second[name]) for name in shared if first[name].trials and second[name].trials]


def trials_of(pairs: Iterable[Pair]) -> int:
    return sum(one.trials for pair in pairs for one in pair)
