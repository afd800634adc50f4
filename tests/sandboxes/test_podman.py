"""A trial by Podman's compatible socket, whichever engine the other tests have; skipped where it cannot be had."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from own_engine import OwnEngine, own_engine, podman

from authoring import FIX, Author, Steelyard


@pytest.fixture
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnEngine]:
    folder = tmp_path_factory.mktemp("p")
    with own_engine(folder, podman(folder)) as made:
        yield made


def test_a_contract_is_tried_and_graded_by_podman(
    own: OwnEngine, author: Author, steelyard: Steelyard
) -> None:
    limits = {"memory_mb": {"guaranteed": 64, "limit": 256}, "disk_mb": 8, "processes": 64}
    contract = author.write(environment={**limits, "sandbox": "docker", "image": own.image()})
    assert own.engine.version.name == "podman"
    said = steelyard("run", contract, "--agent", f"command:{FIX}", "--json", env=own.env)
    assert said.line["verdict"] == "pass", said
    assert said.line["assurance"]["isolation"] == "container"
    assert own.containers() == []
