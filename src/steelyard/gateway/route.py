"""The way of one run's requests to its models: where they go, what they may use, and where they are recorded.

`close` ends it: requests under way are cut off and recorded, later ones are refused.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

from steelyard.deferred.data_class import dataclass
from steelyard.gateway.caps import CapReached, ModelBudget
from steelyard.gateway.cassette import CassettePlayer, CassetteWriter
from steelyard.gateway.records import Recorder
from steelyard.gateway.server import GatewayServer
from steelyard.gateway.upstream import answer
from steelyard.gateway.upstream.upstreams import Upstream
from steelyard.gateway.upstream.waiting import UpstreamRetryPolicy, WaitClock
from steelyard.providers.prices import Prices
from steelyard.providers.requests import ModelRequest

if TYPE_CHECKING:
    from aiohttp import web


CLOSE_S = 30.0


@dataclass(eq=False)
class Route:
    """Made by the run's thread, used on the loop of the server."""

    key: str = field(repr=False)
    server: GatewayServer
    upstreams: Mapping[str, Upstream]
    recorder: Recorder
    budget: ModelBudget = field(default_factory=ModelBudget)
    prices: Prices = field(default_factory=Prices)
    retry: UpstreamRetryPolicy = field(default_factory=UpstreamRetryPolicy)
    writer: CassetteWriter | None = None  # of `--record`
    player: CassettePlayer | None = None  # of `--replay`: it answers, and no upstream is asked
    on_failure: Callable[[], None] = lambda: None  # called once, by any thread, when the gateway itself fails
    on_cap: Callable[[CapReached], None] = lambda _: None  # called once, on the server's loop
    most_held_bytes: int = 128 << 20  # of requests under way
    held_bytes: int = 0
    succeeded: bool = False  # a model has answered
    failure: str = ""  # why the gateway could not do its work
    is_lasting: bool = False  # the failure, in every attempt
    cap: CapReached | None = None
    closed: bool = False
    clock: WaitClock = field(default_factory=WaitClock)
    _tasks: set[asyncio.Task[object]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self) -> None:
        self.server.add(self)

    def fail(self, why: str, *, is_lasting: bool = False) -> None:
        """The machine or the gateway let the run down; the run does not count. A lasting failure comes back in every attempt."""
        with self._lock:
            if self.failure or self.closed:
                return
            self.failure, self.is_lasting = why, is_lasting
        self.on_failure()

    def blame_upstream(self, why: str, *, is_lasting: bool = False) -> None:
        """An upstream that never answered is no failure of the agent. One that did may have been brought down by it."""
        if not self.succeeded:
            self.fail(why, is_lasting=is_lasting)

    async def probe(self, provider: str) -> int | None:
        """How an upstream answers a request of the gateway's own; None if it does not. Nothing is billed for it."""
        assert self.server.session is not None
        return await answer.probe(self.server.session, self.upstreams[provider])

    def reach(self, cap: CapReached) -> None:
        """A cap ends the run."""
        if self.cap is None:
            self.cap = cap
            self.on_cap(cap)

    def close(self) -> None:
        """No request is under way when this returns, and each is on record."""
        if self.closed:
            return
        self.server.run(self._cancel(), CLOSE_S)
        with self._lock:
            self.closed = True
        self.server.remove(self)

    def enter(self, task: asyncio.Task[object]) -> None:
        """A request begins."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def answer_to(
        self,
        parsed: ModelRequest,
        request: web.BaseRequest,
        body: bytes,
        number: int,
        on_attempt: answer.OnAttempt,
    ) -> AbstractAsyncContextManager[answer.Answer]:
        """The upstream's answer to a request that is on record, or the cassette's."""
        if self.player is not None:
            return _replay(self.player, parsed)

        def log_wait(wait: dict[str, Any]) -> None:
            self.recorder.wait(number, wait)

        assert self.server.session is not None
        sender = answer.Sender(self.server.session, self.retry, self.clock, log_wait, on_attempt)
        upstream = self.upstreams[parsed.endpoint.provider]
        return sender.send(upstream, parsed.endpoint, request.method, body, request.headers)

    async def _cancel(self) -> None:
        self.closed = True
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def _replay(player: CassettePlayer, request: ModelRequest) -> AsyncIterator[answer.Answer]:
    """The recorded answer, as an upstream would give it."""
    recorded = player.find(request)

    async def rest() -> AsyncIterator[bytes]:
        for part in recorded.parts[1:]:
            yield part

    yield answer.Answer(
        recorded.status, recorded.headers, recorded.parts[0] if recorded.parts else b"", rest()
    )
