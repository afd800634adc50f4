"""Whether an allowed host answers, as this machine sees it."""

from __future__ import annotations

import socket
import threading

import pytest
from far_hosts import echo, serving, unused_port

from steelyard.sandboxes.base import AllowedHost
from steelyard.sandboxes.egress.reachability import unreachable

HOST = "host.internal"


def test_only_hosts_that_do_not_answer_are_named_with_the_reason() -> None:
    away = AllowedHost(HOST, unused_port())
    unknown = AllowedHost("nobody.invalid", 443)
    with serving(echo) as port:
        found = unreachable([AllowedHost(HOST, port), away, unknown, away])
    assert list(found) == [away, unknown]
    assert found[away] == "Connection refused"
    assert "nobody.invalid cannot be resolved" in found[unknown]


def test_a_name_that_leads_to_this_machine_is_not_there() -> None:
    with serving(echo) as port:
        (why,) = unreachable([AllowedHost("localhost", port)]).values()
    assert "which only host.internal may" in why


def test_a_host_that_answered_is_not_asked_again_and_one_that_did_not_is() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        allowed_host = AllowedHost(HOST, server.getsockname()[1])
        assert unreachable([allowed_host])
        server.listen()
        assert unreachable([allowed_host]) == {}
    assert unreachable([allowed_host]) == {}  # remembered


def test_without_allowed_hosts_none_is_tried() -> None:
    assert unreachable([]) == {}


def test_a_server_of_a_test_that_ends_early_stops() -> None:
    """Otherwise its thread polls a closed descriptor without a pause, and every later test of the process is slower."""
    before = set(threading.enumerate())

    def end_early() -> None:
        with serving(echo):
            pytest.skip("no engine")

    with pytest.raises(pytest.skip.Exception):
        end_early()
    for thread in set(threading.enumerate()) - before:
        thread.join(300)
        assert not thread.is_alive()
