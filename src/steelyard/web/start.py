"""A folder of runs -> a running viewer: listen, print the address, open the browser, serve until Ctrl-C.

The address contains the token. A browser that is started with it as an argument would show it to every user of the machine
(`ps`), so the browser gets a file instead, which only this user can read and which leads to the address.
"""

from __future__ import annotations

import asyncio
import errno
import html
import os
import secrets
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from steelyard.errors import InfraFault, OperatorFault
from steelyard.web.access import Access
from steelyard.web.access_log import open_log
from steelyard.web.server import serve
from steelyard.web.site import Site


class ListenOptions(NamedTuple):
    """Where to listen; without a port the default one, or a free one where that is taken. `browser`: start it too."""

    port: int | None
    default_port: int
    host: str
    browser: bool
    log: Path | None = None  # of requests


def start_viewer(site: Site, listening: ListenOptions) -> int:
    """Returns when the server is interrupted."""
    port = listening.port
    if port is not None and not 0 <= port <= 65535:
        raise OperatorFault(f"--port {port}: a port is a number from 0 to 65535")
    if listening.log is not None:
        open_log(listening.log)
    site.records.refresh()
    opened: list[Path] = []

    def on_ready(access: Access) -> None:
        sys.stdout.write(
            f"steelyard view: {access.home}\nCtrl-C ends it. Everyone who has this address can read these records.\n"
        )
        sys.stdout.flush()
        if listening.browser:
            opened.extend(open_browser(access.home))

    try:
        for number in (port,) if port is not None else (listening.default_port, 0):
            with suppress(_PortTaken):
                access = Access(number, listening.host, log=listening.log)
                _serve(site, access, on_ready, is_last=port is not None or number == 0)
                return 0
    except KeyboardInterrupt:
        sys.stdout.write("\n")
    finally:
        for path in opened:
            path.unlink(missing_ok=True)
    return 0


class _PortTaken(Exception):
    """The port has another server."""


def _serve(site: Site, access: Access, on_ready: Callable[[Access], None], *, is_last: bool) -> None:
    try:
        asyncio.run(serve(site, access, on_ready))
    except OSError as error:
        if error.errno == errno.EADDRINUSE and not is_last:
            raise _PortTaken from error
        why = (error.strerror or str(error)).partition(" (while ")[0]  # which repeats address and port
        raise InfraFault(f"cannot listen on {access.address} port {access.port}: {why}") from error


def open_browser(address: str) -> list[Path]:
    """Start the user's browser on a private file that leads to the address; returns the file, or nothing."""
    import webbrowser  # noqa: PLC0415  # looks for browsers when it is imported

    if not os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY") and sys.platform != "darwin":
        return []
    path = Path(tempfile.gettempdir()) / f"steelyard-view-{secrets.token_hex(16)}.html"
    escaped = html.escape(address, quote=True)
    text = f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={escaped}"><a href="{escaped}">Steelyard</a>\n'
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w") as file:
        file.write(text)
    with suppress(webbrowser.Error, OSError):
        webbrowser.open(path.as_uri())
    return [path]
