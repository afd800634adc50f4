"""Automatic labels against people's -> false-positive and false-negative rates, for each failure mode (pure).

A false positive is a correct patch that was rejected; a false negative is a defect that was accepted. Failure modes are
never pooled: an average over modes hides the one that the automatic label cannot see.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from steelyard.stats.estimate import Estimate, unknown
from steelyard.stats.proportion import clopper_pearson


class LabelledOutcome(NamedTuple):
    """One run: the failure mode in question, whether the harness accepted it, and whether people found it correct."""

    mode: str
    accepted: bool
    correct: bool


class LabelErrors(NamedTuple):
    mode: str
    false_positive: Estimate  # over the runs that people found correct
    false_negative: Estimate  # over the runs that people found defective


def label_errors(labelled: Iterable[LabelledOutcome]) -> list[LabelErrors]:
    """One row for each failure mode, by name; exact intervals. Without labels there is no row: not measured."""
    by_mode: dict[str, list[LabelledOutcome]] = {}
    for one in labelled:
        by_mode.setdefault(one.mode, []).append(one)
    return [_label_errors(mode, by_mode[mode]) for mode in sorted(by_mode)]


def _label_errors(mode: str, rows: list[LabelledOutcome]) -> LabelErrors:
    correct = [one for one in rows if one.correct]
    defective = [one for one in rows if not one.correct]
    return LabelErrors(
        mode,
        _share(sum(not one.accepted for one in correct), len(correct), "no run was labelled correct"),
        _share(sum(one.accepted for one in defective), len(defective), "no run was labelled defective"),
    )


def _share(wrong: int, of: int, why: str) -> Estimate:
    return clopper_pearson(wrong, of) if of else unknown(why, method="Clopper-Pearson")
