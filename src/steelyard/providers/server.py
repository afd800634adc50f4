"""A server of aiohttp that ends -> no connection of it is left."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

    from aiohttp import web

_ROUNDS = 4  # of the loop, until a connection that was accepted in the last moment is known


async def end_server(runner: web.BaseRunner, listening: socket.socket) -> None:
    """Close it. A connection whose client reads no more is cut: its buffer would never be empty."""
    # asyncio forgets a connection that it accepts in the same round in which its server is closed.
    asyncio.get_running_loop().remove_reader(listening)
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)
    transports = list(_transports(runner))
    await runner.cleanup()
    for one in transports:
        one.abort()
    await asyncio.sleep(0)  # a connection that closes does so in the next round


def _transports(runner: web.BaseRunner) -> Iterator[asyncio.WriteTransport]:
    for connection in runner.server.connections if runner.server else []:
        if isinstance(connection.transport, asyncio.WriteTransport):
            yield connection.transport
