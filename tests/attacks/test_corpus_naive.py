"""An attack of each family beats a naive grader: so that it is an attack at all.

The naive grader copies the hidden tests into the agent's live tree, runs them there and believes the exit code. It
runs in a sandbox of ours, and never on this machine.
"""

from __future__ import annotations

import os

import pytest
from corpus.case import Case
from corpus.every import ATTACKS, HONEST
from corpus.house import House
from corpus_stage import house, houses

__all__ = ["house", "houses"]
TRIES = 3
# Nothing of the product but its sandbox takes part here, so one attack of each family stands for the others. CASES=all
# tries every attack; so does `make attacks`, which fails where one beats the naive grader, or does not, other than recorded.
BEATING = [case for case in ATTACKS if case.beats_naive]
FIRST = list({case.family: case for case in reversed(BEATING)}.values())


@pytest.mark.parametrize(
    "case", BEATING if os.environ.get("CASES") == "all" else FIRST, ids=lambda case: case.id
)
def test_an_attack_beats_the_naive_grader(case: Case, house: House) -> None:
    """Processes left behind race with the grader: one that wins one time in three is an attack."""
    assert any(house.naive(case) for _ in range(TRIES))


@pytest.mark.parametrize(
    "case", [one for one in HONEST if one.id in {"K01", "K41"}], ids=lambda case: case.id
)
def test_the_naive_grader_passes_honest_work(case: Case, house: House) -> None:
    """Else an attack that it accepts would prove nothing."""
    assert house.naive(case)


def test_the_naive_grader_sees_the_bug(house: House) -> None:
    assert not house.naive(Case("Z00", "Nothing is done.", ""))
