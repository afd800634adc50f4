"""One HTTP server for all runs of this process, on the loopback of this machine, in a thread with a loop of its own.

    agent -> host.internal:PORT in its sandbox -> allow-list -> 127.0.0.1:PORT here -> route of the run -> upstream

A request names its run by the placeholder key that the run was given. A request without one is refused: other users of
this machine can reach the port too. When the thread dies, every run that has a route ends as infrastructure, and the next run that
needs a gateway starts a new server.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from steelyard.errors import InfraFault
from steelyard.gateway import dispatch
from steelyard.providers.server import end_server

if TYPE_CHECKING:
    from aiohttp import ClientSession, web

    from steelyard.gateway.route import Route

START_S = 60.0
POLL_S = 0.1
LINE_BYTES = 16 << 10  # of a request line, and of one header
_T = TypeVar("_T")
# What an agent sends is nothing for the operator's terminal
_SILENT = logging.getLogger("steelyard.gateway.silent")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False


class GatewayServer:
    """Listens from `start` on. `add` and `remove` may be called from any thread."""

    def __init__(self) -> None:
        self.port = 0
        self.loop = asyncio.new_event_loop()
        self.session: ClientSession | None = None  # of requests to upstreams
        self._routes: dict[str, Route] = {}
        self._lock = threading.Lock()
        self._started = threading.Event()
        self._why_not = ""
        self._is_serving = False
        self._listening: socket.socket
        self._thread = threading.Thread(target=self._serve, name="steelyard-gateway", daemon=True)

    def start(self) -> None:
        """Raises InfraFault when the server cannot listen."""
        self._thread.start()
        if not self._started.wait(START_S) or not self.port:
            raise InfraFault(f"the model gateway could not start: {self._why_not or 'no answer'}")

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def add(self, route: Route) -> None:
        with self._lock:
            self._routes[route.key] = route
        if not self.is_alive:
            route.fail("the model gateway has stopped")

    def remove(self, route: Route) -> None:
        with self._lock:
            self._routes.pop(route.key, None)

    def route(self, key: str) -> Route | None:
        """The run that was given this placeholder."""
        return self._routes.get(key)

    def run(self, work: Coroutine[Any, Any, _T], timeout_s: float) -> _T | None:
        """Wait for `work` on the server's loop, from another thread; None when the loop is dead or does not answer."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop) if self._is_serving else None
        ends = time.monotonic() + timeout_s
        while future is not None and self._is_serving and time.monotonic() < ends:
            with suppress(TimeoutError):
                return future.result(POLL_S)
        if future is not None:
            future.cancel()
        with suppress(ValueError, RuntimeError):  # it has begun
            work.close()
        if threading.current_thread() is not self._thread and not self._is_serving:
            self._thread.join(timeout_s)  # what was under way is recorded by then
        return None

    def stop(self) -> None:
        """End the thread; its routes fail."""
        with suppress(RuntimeError):  # it has ended already
            self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(START_S)

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        # Connections that break are recorded where they matter
        self.loop.set_exception_handler(lambda *_: None)
        try:
            runner = self.loop.run_until_complete(self._listen())
            self.loop.call_soon(self._started.set)
            try:
                self._is_serving = True
                self.loop.run_forever()
            finally:
                self._is_serving = False
                self.loop.run_until_complete(self._leave(runner))
        except Exception as defect:  # noqa: BLE001  # every run that has a route is stopped below
            self._why_not = f"{type(defect).__name__}: {defect}"
        finally:
            self._started.set()
            with self._lock:
                routes = list(self._routes.values())
            for route in routes:
                route.fail(f"the model gateway has stopped {self._why_not}".rstrip())
            with suppress(RuntimeError):
                self.loop.close()

    async def _listen(self) -> web.ServerRunner:
        from aiohttp import ClientSession, DummyCookieJar, TCPConnector, web  # noqa: PLC0415  # only where an agent speaks to models

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            return await dispatch.dispatch(self, request)

        self.session = ClientSession(
            connector=TCPConnector(limit=0),
            cookie_jar=DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("User-Agent", "Accept-Encoding"),
        )
        server = web.Server(
            handle,
            access_log=None,
            logger=_SILENT,
            auto_decompress=False,
            handler_cancellation=True,
            max_line_size=LINE_BYTES,
            max_field_size=LINE_BYTES,
        )
        runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await runner.setup()
        self._listening = socket.create_server(("127.0.0.1", 0))
        await web.SockSite(runner, self._listening).start()
        self.port = self._listening.getsockname()[1]
        return runner

    async def _leave(self, runner: web.ServerRunner) -> None:
        await end_server(runner, self._listening)
        if self.session is not None:
            await self.session.close()
        await asyncio.sleep(0)  # a connection that closes does so in the next round of the loop


_current: list[GatewayServer] = []
_starting = threading.Lock()


def gateway_server() -> GatewayServer:
    """The server of this process, started by the first run that needs it."""
    with _starting:
        if not _current or not _current[0].is_alive:
            server = GatewayServer()
            server.start()
            _current[:] = [server]
        return _current[0]
