"""The way of one run's requests to its models: where they go, what they may use, and where they are recorded.

`close` ends it: requests under way are cut off and recorded, later ones are refused.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from steelyard.gateway.server import GatewayServer
from steelyard.gateway.upstreams import Upstream

CLOSE_S = 30.0


@dataclass(eq=False)
class Route:
    """Made by the run's thread, used on the loop of the server."""

    key: str = field(repr=False)
    server: GatewayServer
    upstreams: Mapping[str, Upstream]
    on_failure: Callable[[], None] = lambda: None  # called once, by any thread, when the gateway itself fails
    failure: str = ""  # why the gateway could not do its work
    closed: bool = False
    _tasks: set[asyncio.Task[object]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self) -> None:
        self.server.add(self)

    def fail(self, why: str) -> None:
        """The machine or the gateway let the run down; the run does not count."""
        with self._lock:
            if self.failure or self.closed:
                return
            self.failure = why
        self.on_failure()

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

    async def _cancel(self) -> None:
        self.closed = True
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
