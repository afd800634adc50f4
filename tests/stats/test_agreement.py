# mypy: disable-error-code="operator, arg-type, misc"
"""Cohen's kappa against statsmodels, Krippendorff's alpha against its definition; both against published tables."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa as cohens_kappa_of_statsmodels

from steelyard.stats.agreement import Table, cohens_kappa, krippendorff_alpha
from steelyard.stats.interval import Z95

COUNTS = st.integers(0, 500)
TABLES = st.builds(Table, COUNTS, COUNTS, COUNTS, COUNTS)

# Textbook examples of kappa.
KNOWN = [
    (Table(20, 5, 10, 15), 0.4),
    (Table(45, 15, 25, 15), 0.13043478260869554),
    (Table(25, 35, 5, 35), 0.25925925925925924),
    (Table(88, 3, 4, 5), 0.5501285347043704),
    (Table(30, 0, 0, 20), 1.0),
]


@pytest.mark.parametrize(("table", "kappa"), KNOWN)
def test_kappa_is_the_published_one(table: Table, kappa: float) -> None:
    assert cohens_kappa(table).value == pytest.approx(kappa, abs=1e-9)


@given(st.builds(Table, *[st.integers(1, 500)] * 4))
def test_kappa_and_its_interval_are_those_of_statsmodels(table: Table) -> None:
    known = cohens_kappa_of_statsmodels([[table.both, table.only_one], [table.only_other, table.neither]])
    found, half = cohens_kappa(table), Z95 * known.std_kappa
    assert found.value == pytest.approx(known.kappa, abs=1e-9)
    expected = max(-1, known.kappa - half), min(1, known.kappa + half)
    assert found.interval == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("table", "word"),
    [
        (Table(0, 0, 0, 0), "nothing was rated"),
        (Table(9, 0, 0, 0), "one answer only"),
        (Table(0, 0, 0, 1), "one answer only"),
    ],
)
def test_where_only_one_answer_was_ever_given_kappa_has_words(table: Table, word: str) -> None:
    found = cohens_kappa(table)
    assert (found.value, found.interval, word in found.why) == (None, None, True)


@given(TABLES)
def test_the_interval_holds_kappa_and_stays_in_range(table: Table) -> None:
    found = cohens_kappa(table)
    if found.interval is not None:
        assert -1 <= found.low <= found.value + 1e-9 <= found.high + 2e-9 <= 1 + 3e-9


@given(TABLES)
def test_it_does_not_matter_who_is_asked_first_or_what_is_called_yes(table: Table) -> None:
    a, b, c, d = table
    one = cohens_kappa(table)
    for other in map(cohens_kappa, (Table(a, c, b, d), Table(d, c, b, a))):
        assert (one.value is None) == (other.value is None)
        if one.value is not None:
            assert (other.value, *other.interval) == pytest.approx((one.value, *one.interval), abs=1e-9)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_answers_that_have_nothing_to_do_with_each_other_agree_by_chance_alone(
    a: int, b: int, c: int, d: int
) -> None:
    found = cohens_kappa(Table(a * c, a * d, b * c, b * d))
    assert found.value is None or found.value == pytest.approx(0, abs=1e-9)


# The examples of Krippendorff (2011): two raters with two names, two with five names, four with gaps.
PUBLISHED = [
    (("0100000010", "1110010000"), 0.095, 10),
    (("aabbdcccedda", "babbbccceddd"), 0.692, 12),
    (("123321412...", "1233224125.3", ".3332342251.", "12332441251."), 0.743, 11),
]


@pytest.mark.parametrize(("raters", "alpha", "units"), PUBLISHED)
def test_alpha_is_the_published_one(raters: tuple[str, ...], alpha: float, units: int) -> None:
    answers = [[None if answer == "." else answer for answer in unit] for unit in zip(*raters, strict=True)]
    found = krippendorff_alpha(answers)
    assert found.value == pytest.approx(alpha, abs=5e-4)
    assert found.low <= found.value <= found.high
    assert found.n == units


UNITS = st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), max_size=4), max_size=30)


@settings(max_examples=50)
@given(UNITS)
def test_alpha_follows_from_the_matrix_of_coincidences(units: list[list[str | None]]) -> None:
    """o(c, k): pairs of answers of a unit with m answers, each worth 1 / (m - 1). alpha = 1 - (n - 1) sum o / sum n(c) n(k)."""
    coincidences: defaultdict[tuple[str, str], float] = defaultdict(float)
    for unit in units:
        given_ = [answer for answer in unit if answer is not None]
        for pair in permutations(given_, 2):
            coincidences[pair] += 1 / (len(given_) - 1)
    totals: defaultdict[str, float] = defaultdict(float)
    for (one, _), count in coincidences.items():
        totals[one] += count
    observed = sum(count for (one, two), count in coincidences.items() if one != two)
    expected = sum(totals[one] * totals[two] for one in totals for two in totals if one != two)
    found = krippendorff_alpha(units, resamples=20)
    if expected == 0:
        assert found.value is None
    else:
        alpha = 1 - (sum(totals.values()) - 1) * observed / expected
        assert found.value == pytest.approx(alpha, abs=1e-9)


@pytest.mark.parametrize(
    ("units", "word"),
    [
        ([], "nothing has two answers"),
        ([["a"]], "nothing has two answers"),
        ([["a", None]], "nothing has two answers"),
        ([["a", "a"]] * 5, "one answer is all"),
    ],
)
def test_alpha_has_words_where_nothing_can_be_compared(units: list[list[str | None]], word: str) -> None:
    found = krippendorff_alpha(units)
    assert (found.value, found.interval, word in found.why) == (None, None, True)


def test_perfect_agreement_has_alpha_1_and_the_same_seed_the_same_interval() -> None:
    units = [["a", "a"]] * 9 + [["b", "b"]] * 9
    found = krippendorff_alpha(units)
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)
    mixed = [["a", "b"], *units]
    assert krippendorff_alpha(mixed) == krippendorff_alpha(mixed)


@settings(max_examples=30)
@given(UNITS)
def test_alpha_is_never_above_1_and_lies_in_its_interval(units: list[list[str | None]]) -> None:
    found = krippendorff_alpha(units, resamples=50)
    assert found.value is None or (math.isfinite(found.value) and found.low <= found.value <= found.high <= 1)
