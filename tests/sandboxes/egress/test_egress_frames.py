"""The controller's egress proxy against a scripted init: what it does with frames that no honest init sends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from far_hosts import echo, serving, silence, unused_port

from steelyard.sandboxes.base import AllowedHost, Connection
from steelyard.sandboxes.egress.proxy import EgressProxy
from steelyard.sandboxes.fake import Answer, FakeInit
from steelyard.sandboxes.init.frames import STREAM_WINDOW, Frame, pack_count
from steelyard.sandboxes.init.wire import Wire

HOST = "host.internal"


@dataclass
class Desk:
    """An init that sends what a test asks for, and the proxy that reads it."""

    port: int
    connections: list[Connection] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.init = FakeInit(lambda _: Answer())
        self.wire = Wire(self.init.controller)
        self.wire.hello(b"", 10)
        self.allowed_hosts = EgressProxy(self.wire, (AllowedHost(HOST, self.port),), self.connections.append)
        self.allowed_hosts.open()

    def begin(self, stream: int, allowed_host: int = 0) -> None:
        self.init.send(b"c", stream, pack_count(allowed_host))

    def until(self, done: Callable[[list[Frame]], bool]) -> list[Frame]:
        """What the controller has said about streams, once it is enough."""
        for _ in range(1000):
            result = [frame for frame in self.init.received if frame.type in b"baer"]
            if done(result):
                return result
            self.wire.ping(1)
        raise AssertionError(result)


@pytest.fixture
def desk() -> Iterator[Desk]:
    with serving(echo) as port:
        made = Desk(port)
        yield made
        made.allowed_hosts.shut()
        made.wire.close()


def test_what_a_client_says_is_taken_and_answered_and_ended(desk: Desk) -> None:
    desk.begin(7)
    desk.init.send(b"b", 7, b"hello")
    desk.until(lambda result: Frame(b"b", 7, b"hello") in result)
    desk.init.send(b"a", 7, pack_count(5))
    desk.init.send(b"b", 7)
    result = desk.until(lambda result: result[-1:] == [Frame(b"e", 7, b"")])
    assert Frame(b"a", 7, pack_count(5)) in result
    assert [(one.out_bytes, one.in_bytes, one.failed) for one in desk.connections] == [(5, 5, None)]


def test_a_host_that_is_not_there_is_reset() -> None:
    desk = Desk(unused_port())
    desk.begin(1)
    desk.until(lambda result: result == [Frame(b"r", 1, b"")])
    desk.allowed_hosts.shut()
    assert [one.failed for one in desk.connections] == ["Connection refused"]
    desk.wire.close()


def test_what_comes_after_the_end_of_a_stream_is_thrown_away(desk: Desk) -> None:
    desk.begin(1)
    desk.init.send(b"r", 1)
    desk.until(lambda result: result == [Frame(b"r", 1, b"")])
    for kind, payload in ((b"b", b"late"), (b"a", pack_count(4)), (b"r", b"")):
        desk.init.send(kind, 1, payload)
    assert desk.wire.ping(10)
    assert not desk.wire.gone


def twice(desk: Desk) -> None:
    desk.begin(1)
    desk.begin(1)


def nowhere(desk: Desk) -> None:
    desk.begin(1, allowed_host=1)


def malformed(desk: Desk) -> None:
    desk.init.send(b"c", 1, b"x" * 3)


def too_much(desk: Desk) -> None:
    desk.begin(1)
    desk.init.send(b"b", 1, b"z" * (STREAM_WINDOW + 1))


def too_many(desk: Desk) -> None:
    for number in range(200):
        desk.begin(number + 1)


@pytest.mark.parametrize("lie", [twice, nowhere, malformed, too_much, too_many])
def test_an_init_out_of_step_is_left_and_nothing_grows(lie: Callable[[Desk], None]) -> None:
    """A stream that exists already, a host that is not allowed, more bytes or streams than were agreed."""
    with serving(silence) as port:
        desk = Desk(port)
        lie(desk)
        assert not desk.wire.ping(20)
        assert desk.wire.gone
        desk.allowed_hosts.shut()
        desk.wire.close()


def test_a_sandbox_that_dies_ends_its_streams(desk: Desk) -> None:
    desk.begin(1)
    desk.init.send(b"b", 1, b"x")
    desk.until(lambda result: Frame(b"b", 1, b"x") in result)
    desk.init.die()
    desk.allowed_hosts.shut()
    assert [one.failed is None for one in desk.connections] == [False]
