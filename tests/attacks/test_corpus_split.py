"""Nothing passes where tests and candidate are in different sandboxes, selective cheats included; honest work does.

Only the families that cheat from inside the tested process: the others do not get that far, in any mode. Of these, and of
honest work, the cases in which it makes a difference that the oracle is split; `make attacks` tries them all.
"""

from __future__ import annotations

import pytest
from corpus.case import Case
from corpus.every import ATTACKS, HONEST, is_tried_in_split
from corpus.house import House
from corpus.judge import wrongs
from corpus_stage import house_of_each_kind as house
from corpus_stage import houses, in_each

__all__ = ["house", "houses"]
HONEST_HERE = [case for case in HONEST if is_tried_in_split(case)]
INSIDE = [case for case in ATTACKS if case.family in "BNX" and is_tried_in_split(case)]


@pytest.mark.parametrize(("house", "case"), in_each(INSIDE, is_split=True), indirect=["house"])
def test_an_attack_does_not_pass(case: Case, house: House) -> None:
    assert not wrongs(case, "split", house.tried(case, "split"))
    assert house.untouched()


@pytest.mark.parametrize(("house", "case"), in_each(HONEST_HERE, is_split=True), indirect=["house"])
def test_honest_work_passes_and_no_change_is_accused(case: Case, house: House) -> None:
    assert not wrongs(case, "split", house.tried(case, "split"))
