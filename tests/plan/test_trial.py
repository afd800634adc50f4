"""Trials have stable identities, and a plan makes them one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import cast

import pytest

from steelyard.contract.contract import Contract
from steelyard.plan.trial import Plan, Trial, plan_trials


@dataclass(frozen=True)
class Named:
    """A contract as far as a plan looks at it."""

    digest: str


def contract(digest: str) -> Contract:
    return cast("Contract", Named(digest))


def test_the_id_of_a_trial_is_the_same_on_every_machine() -> None:
    assert Trial(contract("d" * 64), "script:fix.sh", 2).id == "t0209285b25f39785"


@pytest.mark.parametrize(
    "other",
    [Trial(contract("b"), "noop"), Trial(contract("a"), "reference"), Trial(contract("a"), "noop", 2)],
)
def test_contract_agent_and_repeat_are_in_the_id(other: Trial) -> None:
    assert other.id != Trial(contract("a"), "noop").id


def test_a_part_cannot_be_mistaken_for_its_neighbour() -> None:
    assert Trial(contract("a"), "b,1", 1).id != Trial(contract("a"), "b", 11).id


def test_two_agents_get_the_same_seed() -> None:
    assert Trial(contract("a"), "noop").seed == Trial(contract("a"), "reference").seed


def test_repeats_get_their_own_seeds() -> None:
    assert len({Trial(contract("a"), "noop", repeat).seed for repeat in range(1, 20)}) == 19


def test_every_agent_gets_every_contract_as_often() -> None:
    plan = plan_trials([contract("a"), contract("b")], ["noop", "reference"], 2)
    assert [(one.contract.digest, one.agent, one.repeat) for one in plan] == [
        (digest, agent, repeat)
        for digest in ("a", "b")
        for agent in ("noop", "reference")
        for repeat in (1, 2)
    ]
    assert len(plan) == 8


def test_a_plan_can_be_read_again() -> None:
    plan = Plan([contract("a")], ["noop"], 3)
    assert list(plan) == list(plan)


def test_an_agent_that_is_named_twice_gets_further_repeats() -> None:
    plan = Plan([contract("a"), contract("a")], ["noop", "noop"], 2)
    assert [one.repeat for one in plan] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert len({one.id for one in plan}) == len(plan)


def test_a_plan_of_a_million_trials_makes_only_those_that_are_taken() -> None:
    trials: Iterator[Trial] = iter(Plan([contract("a")], ["noop"], 1_000_000))
    assert [one.repeat for one in islice(trials, 2)] == [1, 2]
