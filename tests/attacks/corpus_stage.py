"""One house of each kind for all tests of the corpus: contracts, setup layers and environments are made once a session.

`house` is of bubblewrap sandboxes; with `house_of_each_kind as house` and cases by `in_each` it is also of containers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from containers import container_engine
from corpus.case import Case
from corpus.every import is_tried_in_containers
from corpus.house import SECRET, House, Kind

from workers import shared

Houses = Callable[[Kind], House]


@pytest.fixture(scope="session")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Houses]:
    before = {name: os.environ.get(name) for name in ("STEELYARD_CACHE", "OPERATOR_API_KEY")}
    os.environ.update(
        {"STEELYARD_CACHE": str(shared(tmp_path_factory) / "corpus-cache"), "OPERATOR_API_KEY": SECRET}
    )
    opened: dict[Kind, House] = {}

    def house(kind: Kind) -> House:
        if kind not in opened:
            opened[kind] = House(tmp_path_factory.mktemp(f"corpus-{kind}"), kind).open()
        return opened[kind]

    yield house
    assert all(one.untouched() for one in opened.values())
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture
def house(houses: Houses) -> House:
    return houses("bubblewrap")


def in_each(cases: Sequence[Case], *, is_split: bool = False) -> list[Any]:
    """(house, case) for each case, in bubblewrap sandboxes; also in containers where the backend takes part."""
    every = os.environ.get("CONTAINERS") == "all"
    in_containers = [case for case in cases if every or is_tried_in_containers(case, is_split=is_split)]
    return [
        pytest.param(kind, case, id=f"{kind}-{case.id}")
        for kind, tried in (("bubblewrap", cases), ("docker", in_containers))
        for case in tried
    ]


@pytest.fixture
def house_of_each_kind(request: pytest.FixtureRequest, houses: Houses) -> House:
    """Skips the test where no engine answers."""
    if request.param == "docker":
        container_engine()
    return houses(request.param)
