"""Trials by Podman's compatible socket, whichever engine the other tests have; skipped where it cannot be had."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from far_hosts import echo, serving
from own_engine import OwnEngine, own_engine, podman

from authoring import FIX, Author, Steelyard, payloads

LIMITS = {"memory_mb": {"guaranteed": 64, "limit": 256}, "disk_mb": 8, "processes": 64, "sandbox": "docker"}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnEngine]:
    folder = tmp_path_factory.mktemp("p")
    with own_engine(folder, podman(folder)) as made:
        yield made


def test_a_contract_is_tried_and_graded_by_podman(
    own: OwnEngine, author: Author, steelyard: Steelyard
) -> None:
    contract = author.write(environment={**LIMITS, "image": own.image()})
    assert own.engine.version.name == "podman"
    result = steelyard("run", contract, "--agent", f"command:{FIX}", "--json", env=own.env)
    assert result.line["verdict"] == "pass", result
    assert result.line["assurance"]["isolation"] == "container"
    assert own.containers() == []


def test_the_work_of_root_anywhere_in_the_system_is_graded_by_podman(
    own: OwnEngine, author: Author, steelyard: Steelyard
) -> None:
    verifier = 'read answer < /srv/answer; [ "$answer" = 42 ] && echo 1 || echo 0; true'
    contract = author.write(
        {"tests/test.sh": f"({verifier}) > /logs/verifier/reward.txt\n"},
        repository=None,
        environment={**LIMITS, "image": own.image(), "scope": "system", "workdir": "/srv"},
        oracle={"checks": [{"id": "verify", "type": "verifier", "script": "tests/test.sh", "timeout_s": 60}]},
        reward="verifier",
    )
    agents = [f"command:echo {answer} > /srv/answer" for answer in (42, 41)]
    result = steelyard("run", contract, "--agent", agents[0], "--agent", agents[1], "--json", env=own.env)
    assert [one["reward"] for one in result.lines] == [1.0, 0.0], result


def test_an_allowed_host_is_reached_in_podman_too(
    own: OwnEngine, author: Author, steelyard: Steelyard
) -> None:
    """The name, and a port that only root may listen on elsewhere."""
    with serving(echo) as port:
        allowed_hosts = [f"host.internal:{port}", "nowhere.invalid:443"]
        contract = author.write(environment={**LIMITS, "image": own.image(), "network": allowed_hosts})
        talk = f'exec 3<>/dev/tcp/host.internal/{port}; echo hi >&3; read -r said <&3; [ "$said" = hi ]'
        result = steelyard(
            "run", contract, "--agent", f"command:bash -c '{talk}' && {FIX}", "--json", env=own.env
        )
    assert result.line["verdict"] == "pass", result
    (one,) = payloads(result.line, "network.connection")
    assert (one["to"], one["in_bytes"]) == (allowed_hosts[0], 3)
