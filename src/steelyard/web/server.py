"""Pages -> an HTTP server on one address: `view` prints its address and serves until it is interrupted.

Each request is checked (host, token, form), answered by a plain function in a thread, and sent with headers that keep
everything else out. Pages read files and the index; one slow page does not hold up the others.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlencode

from aiohttp import web

from steelyard.errors import InfraFault, SteelyardError
from steelyard.providers.server import end_server
from steelyard.report.html.element import join, tag
from steelyard.report.plain import one_line
from steelyard.web.access import HEADERS, Access
from steelyard.web.access_log import log_request
from steelyard.web.layout import document, empty
from steelyard.web.message import TEXT, NotThere, Request, Response, page
from steelyard.web.site import Site

MOST_BODY = 256 << 10
COOKIE_S = 30 * 24 * 3600


def make_app(site: Site, access: Access) -> web.Application:
    """The application; nothing listens yet."""
    app = web.Application(client_max_size=MOST_BODY)
    server = _Server(site, access)
    app.router.add_route("*", "/{path:.*}", server.handle)
    return app


class _Server:
    def __init__(self, site: Site, access: Access) -> None:
        self._site, self._access = site, access

    async def handle(self, request: web.Request) -> web.StreamResponse:
        started = time.perf_counter()
        response = await self._logged(request, await self._response(request))
        spent_ms = (time.perf_counter() - started) * 1000
        headers = {**HEADERS, **response.headers, "Server-Timing": f"page;dur={spent_ms:.1f}"}
        headers["Content-Type"] = response.kind
        return await _send(request, response, headers)

    async def _logged(self, request: web.Request, response: Response) -> Response:
        log, path = self._access.log, request.rel_url.raw_path
        if log is None or path.startswith("/static/"):
            return response
        try:
            await asyncio.to_thread(
                log_request, log, request.remote or "", request.method, path, response.status
            )
        except InfraFault as fault:
            return _plain(f"This server shows nothing that it cannot log: {fault}.", 503)
        return response

    async def _response(self, request: web.Request) -> Response:
        if refused := self._refuse(request):
            return refused
        form: dict[str, str] = {}
        if request.method == "POST":
            try:
                form = {key: value for key, value in (await request.post()).items() if isinstance(value, str)}
            except (web.HTTPException, ValueError):
                return _plain("That form is too large or cannot be read.", 413)
            if why := self._access.refuse_post(request.headers, form):
                return _error("Not accepted", f"{why[:1].upper()}{why[1:]}.", 403)
        asked = Request(
            path=request.rel_url.raw_path,
            query=dict(request.query),
            form=form,
            lists={key: tuple(request.query.getall(key)) for key in request.query},
            csrf=self._access.csrf,
        )
        return await asyncio.to_thread(self._page, asked, "POST" if request.method == "POST" else "GET")

    def _refuse(self, request: web.Request) -> Response | None:
        """Why a request is answered by no page, or nothing."""
        if not self._access.is_known_host(request.headers.get("Host", "")):
            return _plain("This server does not answer to that name.", 421)
        if request.method not in ("GET", "HEAD", "POST"):
            return _plain("This server reads, and takes forms.", 405)
        # Style and scripts are the same for everyone, and the page that asks for a token needs them.
        return None if request.path.startswith("/static/") else self._without_token(request)

    def _without_token(self, request: web.Request) -> Response | None:
        """Nothing for a request with the token; a token in the address becomes a cookie, and leaves the address."""
        if given := request.query.get("token"):
            if not self._access.is_token(given):
                return _plain(
                    "That token is not of this server. Use the address that `steelyard view` printed.", 403
                )
            rest = [(key, value) for key, value in request.query.items() if key != "token"]
            address = request.path + (f"?{urlencode(rest)}" if rest else "")
            cookie = f"{self._access.cookie}={self._access.token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={COOKIE_S}"
            return Response(_leading_to(_local(address)), headers={"Set-Cookie": cookie})
        bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if any(self._access.is_token(one) for one in (request.cookies.get(self._access.cookie, ""), bearer)):
            return None
        return _plain("This server needs its token: use the address that `steelyard view` printed.", 403)

    def _page(self, request: Request, method: str) -> Response:
        try:
            return self._site.answer(request, method)
        except NotThere as missing:
            return _error("Not found", str(missing), 404)
        except InfraFault as fault:
            return _error(
                "This page cannot be shown now", f"{one_line(str(fault), 300)}. Reload it in a while.", 503
            )
        except SteelyardError as fault:
            return _error("This page cannot be shown", f"{fault}", 400)
        except Exception:  # noqa: BLE001  # a defect of one page must not end the server, nor show its insides
            sys.stderr.write(f"steelyard: a page failed: {request.path!r}\n{traceback.format_exc()}")
            return _error(
                "This page cannot be shown",
                "It failed; the terminal of `steelyard view` says how. Other pages still work.",
                500,
            )


def _local(address: str) -> str:
    """An address on this server: `//elsewhere` would be another one."""
    return "/" + address.lstrip("/\\")


def _leading_to(address: str) -> bytes:
    """A page of this server that leads on: after a redirect from elsewhere the browser would not send a strict cookie."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="refresh", content=f"0;url={address}"),
        tag("title", "Steelyard"),
        tag("link", rel="icon", href="/static/icon.svg"),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', tag('a', 'Steelyard', href=address)), lang='en')}\n".encode()


def _plain(text: str, status: int) -> Response:
    return Response(f"{text}\n".encode(), TEXT, status)


def _error(title: str, text: str, status: int) -> Response:
    way_back = tag("a", "All runs of this store", href="/")
    return page(document(title, empty(title, join(text, " ", way_back if status == 404 else None))), status)


async def _send(request: web.Request, response: Response, headers: dict[str, str]) -> web.StreamResponse:
    if isinstance(response.body, bytes):
        return web.Response(body=response.body, status=response.status, headers=headers)
    stream = web.StreamResponse(status=response.status, headers=headers)
    await stream.prepare(request)
    pieces = response.body
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        await stream.write(piece)
    await stream.write_eof()
    return stream


async def serve(
    site: Site, access: Access, on_ready: Callable[[Access], None], stop: asyncio.Event | None = None
) -> None:
    """Serve until `stop` is set or the task is cancelled. With port 0 the system chooses; `on_ready` gets the real one."""
    listening = socket.create_server(
        (access.address, access.port), family=socket.AF_INET6 if ":" in access.address else socket.AF_INET
    )
    access = replace(access, port=listening.getsockname()[1])
    runner = web.AppRunner(make_app(site, access), access_log=None)
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        on_ready(access)
        await (stop or asyncio.Event()).wait()
    finally:
        await end_server(runner, listening)
