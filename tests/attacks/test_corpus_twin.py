"""No attack of the corpus passes where tests have a twin; what no twin can see is named; honest work passes."""

from __future__ import annotations

import pytest
from corpus.case import Case
from corpus.every import ATTACKS, HONEST
from corpus.house import House
from corpus.judge import wrongs
from corpus_stage import house_of_each_kind as house
from corpus_stage import houses, in_each

__all__ = ["house", "houses"]


@pytest.mark.parametrize(("house", "case"), in_each(ATTACKS), indirect=["house"])
def test_an_attack_does_not_pass(case: Case, house: House) -> None:
    assert not wrongs(case, "twin", house.tried(case, "twin"))
    assert house.untouched()


@pytest.mark.parametrize(("house", "case"), in_each(HONEST), indirect=["house"])
def test_honest_work_passes_and_no_change_is_accused(case: Case, house: House) -> None:
    assert not wrongs(case, "twin", house.tried(case, "twin"))
