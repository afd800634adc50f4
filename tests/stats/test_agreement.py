"""Cohen's kappa and its interval, against published tables and another implementation's numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.stats.agreement import Table, cohens_kappa, krippendorff_alpha

COUNTS = st.integers(0, 500)
TABLES = st.builds(Table, COUNTS, COUNTS, COUNTS, COUNTS)

# (table, kappa, its standard error as statsmodels 0.14 has it). The first three are the textbook examples of kappa.
KNOWN = [
    (Table(20, 5, 10, 15), 0.4, 0.12699606293110033),
    (Table(45, 15, 25, 15), 0.13043478260869554, 0.0986615376234396),
    (Table(25, 35, 5, 35), 0.25925925925925924, 0.07715973174444572),
    (Table(88, 3, 4, 5), 0.5501285347043704, 0.15109266940806063),
    (Table(30, 0, 0, 20), 1.0, 0.0),
]


@pytest.mark.parametrize(("table", "kappa", "error"), KNOWN)
def test_kappa_and_its_error_are_the_known_ones(table: Table, kappa: float, error: float) -> None:
    found = cohens_kappa(table, z=1.0)
    assert found.kappa == pytest.approx(kappa)
    assert found.high - kappa == pytest.approx(min(error, 1 - kappa), abs=1e-12)
    assert kappa - found.low == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("table", [Table(0, 0, 0, 0), Table(9, 0, 0, 0), Table(0, 0, 0, 1)])
def test_where_only_one_answer_was_ever_given_nothing_is_known(table: Table) -> None:
    assert cohens_kappa(table) == (None, -1.0, 1.0)


@given(TABLES)
def test_the_interval_holds_kappa_and_stays_in_range(table: Table) -> None:
    kappa, low, high = cohens_kappa(table)
    assert -1 <= low <= high <= 1
    if kappa is not None:
        assert low - 1e-9 <= kappa <= high + 1e-9


@given(TABLES)
def test_it_does_not_matter_who_is_asked_first_or_what_is_called_yes(table: Table) -> None:
    a, b, c, d = table
    for other in (Table(a, c, b, d), Table(d, c, b, a)):
        same = zip(cohens_kappa(table), cohens_kappa(other), strict=True)
        assert all(
            x is y or (x is not None and y is not None and math.isclose(x, y, abs_tol=1e-9)) for x, y in same
        )


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_answers_that_have_nothing_to_do_with_each_other_agree_by_chance_alone(
    a: int, b: int, c: int, d: int
) -> None:
    found = cohens_kappa(Table(a * c, a * d, b * c, b * d))
    assert found.kappa is None or found.kappa == pytest.approx(0, abs=1e-9)


# Krippendorff's own example (2011): four raters, twelve units, gaps; nominal alpha 0.743.
RATERS = (
    "123321412...",
    "12332241 25.3".replace(" ", ""),
    ".333234225 1.".replace(" ", ""),
    "1233244125 1.".replace(" ", ""),
)


def test_alpha_of_the_published_example_is_the_published_one() -> None:
    units = [[None if answer == "." else answer for answer in unit] for unit in zip(*RATERS, strict=True)]
    found = krippendorff_alpha(units)
    assert found.alpha == pytest.approx(0.743, abs=5e-4)
    assert found.low <= 0.743 <= found.high
    assert found.units == 11


@pytest.mark.parametrize("units", [[], [["a"]], [["a", None]], [["a", "a"]] * 5])
def test_alpha_is_unknown_where_nothing_can_be_compared(units: list[list[str | None]]) -> None:
    assert krippendorff_alpha(units)[:3] == (None, -1.0, 1.0)


def test_perfect_agreement_has_alpha_1_and_the_same_seed_the_same_interval() -> None:
    units = [["a", "a"]] * 9 + [["b", "b"]] * 9
    assert krippendorff_alpha(units)[:3] == (1.0, 1.0, 1.0)
    mixed = [["a", "b"], *units]
    assert krippendorff_alpha(mixed) == krippendorff_alpha(mixed)


@settings(max_examples=30)
@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=4), max_size=30))
def test_alpha_is_never_above_1_and_lies_in_its_interval(units: list[list[str | None]]) -> None:
    found = krippendorff_alpha(units, resamples=50)
    assert found.alpha is None or (math.isfinite(found.alpha) and found.low <= found.alpha <= found.high <= 1)
