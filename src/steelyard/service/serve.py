"""An application -> a server on an address or a socket, until a signal ends it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from steelyard.errors import OperatorFault


def serve(
    app: web.Application, *, host: str, port: int, socket: Path | None, on_ready: Callable[[str], None]
) -> None:
    """Returns never; a signal raises KeyboardInterrupt. `on_ready` is called with the address."""
    asyncio.run(_serve(app, host, port, socket, on_ready))


async def _serve(
    app: web.Application, host: str, port: int, socket: Path | None, on_ready: Callable[[str], None]
) -> None:
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    before = os.umask(0o177)  # the socket is for this user alone from its first moment
    try:
        site = web.TCPSite(runner, host, port) if socket is None else web.UnixSite(runner, str(socket))
        await site.start()
    except OSError as error:
        await runner.cleanup()
        raise OperatorFault(f"cannot serve on {socket or f'{host}:{port}'}: {error.strerror}") from error
    finally:
        os.umask(before)
    try:
        on_ready(str(socket) if socket is not None else f"http://{_address(runner)}")
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def _address(runner: web.AppRunner) -> str:
    host, port, *_ = runner.addresses[0]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
