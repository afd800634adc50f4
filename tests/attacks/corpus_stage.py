"""One house for all tests of the corpus: contracts, setup layers and grounds are made once a session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from corpus.house import SECRET, House


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base  # one cache for all workers
    before = {name: os.environ.get(name) for name in ("STEELYARD_CACHE", "OPERATOR_API_KEY")}
    os.environ.update({"STEELYARD_CACHE": str(Path(shared) / "corpus-cache"), "OPERATOR_API_KEY": SECRET})
    opened = House(tmp_path_factory.mktemp("corpus")).open()
    yield opened
    assert opened.untouched()
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})
