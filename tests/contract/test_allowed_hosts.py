"""`host:port` in a contract: which hosts can be allowed, and the message for anything else."""

from __future__ import annotations

from typing import Any

import pytest
from contract_folders import Writer
from hypothesis import given
from hypothesis import strategies as st

from steelyard.contract.allowed_hosts import check_host

REFUSED = [
    ("example.org:0", "0 is not a port"),
    ("example.org:70000", "70000 is not a port"),
    ("example.org:0443", "0443 is not a port"),
    ("*.example.org:443", "has a wildcard; name each"),
    ("Example.org:443", "in lower case: example.org:443"),
    ("bücher.example:443", "in its ASCII form: xn--bcher-kva.example"),
    ("10.0.0.1:443", "is an address"),
    ("127.1:443", "is an address"),
    ("0x7f000001:443", "is an address"),
    ("localhost:8000", "for this machine write host.internal:8000"),
    ("api.localhost:8000", "for this machine write host.internal:8000"),
    ("sandbox:8000", "is the sandbox itself"),
    ("-a.example:443", "is not a host name"),
    ("a..example:443", "is not a host name"),
    (f"{'a' * 64}.example:443", "is not a host name"),
]


@pytest.mark.parametrize(
    ("allowed_host", "why"), REFUSED, ids=[allowed_host[:30] for allowed_host, _ in REFUSED]
)
def test_what_cannot_be_an_allowed_host_is_refused_with_the_fix(
    writer: Writer, allowed_host: str, why: str
) -> None:
    writer.write(environment={"network": [allowed_host]})
    problem = writer.problem()
    assert problem.field == "environment.network[0]"
    assert why in problem.message


@pytest.mark.parametrize("text", ["example.org", "http://example.org:80", "[::1]:443", "example.org:https"])
def test_what_is_not_host_and_port_is_refused(writer: Writer, text: str) -> None:
    writer.write(oracle={"checks": [{"id": "accept", "cmd": "x"}], "network": [text]})
    assert "expected host:port" in writer.problem().message


@pytest.mark.parametrize(
    ("allowed_hosts", "why"),
    [
        ([], "must not be empty; write `none`"),
        (["a.example:1", "a.example:1"], "a.example:1 is listed twice"),
        ([f"a.example:{port}" for port in range(1, 66)], "has more than 64"),
    ],
)
def test_a_list_has_each_host_once_and_at_most_64(writer: Writer, allowed_hosts: list[str], why: str) -> None:
    writer.write(setup_network=allowed_hosts)
    assert why in writer.problem().message


HOSTS = ["api.example:443"]
CHECKS = {"checks": [{"id": "accept", "cmd": "x"}]}


@pytest.mark.parametrize(
    ("keys", "field", "why"),
    [
        ({"environment": {"sandbox": "local", "network": HOSTS}}, "environment.network", "local sandbox"),
        ({"environment": {"sandbox": "local"}, "setup_network": HOSTS}, "setup_network", "local sandbox"),
        (
            {"environment": {"sandbox": "docker", "build": "image"}, "setup_network": HOSTS},
            "setup_network",
            "an image build cannot be limited to a list of hosts",
        ),
        ({"bench": "live", "environment": {"network": HOSTS}}, "oracle.network", "a live bench"),
        ({"bench": "live", "oracle": {**CHECKS, "network": HOSTS}}, "oracle.network", "a live bench"),
    ],
)
def test_allowed_hosts_where_there_can_be_none_are_refused_by_name(
    writer: Writer, keys: dict[str, Any], field: str, why: str
) -> None:
    writer.write({"image/Dockerfile": "FROM scratch\n"}, **keys)
    assert [why in problem.message for problem in writer.problems() if problem.field == field] == [True]


LABELS = st.from_regex(r"[a-z]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)


@given(st.lists(LABELS, min_size=1, max_size=5), st.integers(1, 65535))
def test_every_plain_name_and_port_is_accepted(labels: list[str], port: int) -> None:
    host = ".".join([*labels, "example"])
    assert check_host(f"{host}:{port}") == f"{host}:{port}"
