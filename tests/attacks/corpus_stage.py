"""One house of each kind for all tests of the corpus: contracts, setup layers and grounds are made once a session.

`house` is of bubblewrap sandboxes; with `house_of_each_kind as house` and cases by `in_each` it is also of containers.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from containers import container_engine, every_case, not_chosen
from corpus.case import Case
from corpus.house import SECRET, House, Kind

Houses = Callable[[Kind], House]


@pytest.fixture(scope="session")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Houses]:
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base  # one cache for all workers
    before = {name: os.environ.get(name) for name in ("STEELYARD_CACHE", "OPERATOR_API_KEY")}
    os.environ.update({"STEELYARD_CACHE": str(Path(shared) / "corpus-cache"), "OPERATOR_API_KEY": SECRET})
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


def in_each(cases: Sequence[Case], *, every: int, whole: str = "") -> list[Any]:
    """(house, case) for each case: all in bubblewrap sandboxes, and of each family one in `every` in containers too.

    Of the families in `whole` all: theirs are about what a sandbox is. `make attacks SANDBOX=docker` tries everything.
    """
    numbers: Counter[str] = Counter()
    made = [pytest.param("bubblewrap", case, id=f"bubblewrap-{case.id}") for case in cases]
    for case in cases:
        is_chosen = every_case or case.family in whole or numbers[case.family] % every == 0
        numbers[case.family] += 1
        marks = () if is_chosen else (not_chosen,)
        made.append(pytest.param("docker", case, id=f"docker-{case.id}", marks=marks))
    return made


@pytest.fixture
def house_of_each_kind(request: pytest.FixtureRequest, houses: Houses) -> House:
    """Skips the test where no engine answers."""
    if request.param == "docker":
        container_engine()
    return houses(request.param)
