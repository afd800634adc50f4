"""One request of an agent -> the upstream's answer, byte for byte."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import ClientError, ClientTimeout, web
from yarl import URL

from steelyard.gateway.refusal import Refusal
from steelyard.gateway.route import Route
from steelyard.providers.endpoints import Endpoint

MOST_REQUEST_BYTES = 32 << 20
BODY_S = 120.0
_SENT = ("content-type", "accept", "anthropic-version", "anthropic-beta", "openai-beta", "user-agent")
_RETURNED = ("content-type", "retry-after", "request-id", "x-request-id")


async def exchange(route: Route, endpoint: Endpoint, request: web.BaseRequest) -> web.StreamResponse:
    body = await read_body(request)
    upstream = route.upstreams[endpoint.provider]
    url = upstream.url + endpoint.path + (f"?{endpoint.query}" if endpoint.query else "")
    headers = {**kept_headers(request.headers, _SENT), **upstream.key_headers, "accept-encoding": "identity"}
    session = route.server.session
    assert session is not None
    try:
        async with session.request(
            request.method,
            URL(url, encoded=True),
            data=body or None,
            headers=headers,
            allow_redirects=False,
            timeout=ClientTimeout(total=None, sock_connect=30, sock_read=900),
        ) as answer:
            response = web.StreamResponse(
                status=answer.status, headers=kept_headers(answer.headers, _RETURNED)
            )
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
            await response.write_eof()
            return response
    except (ClientError, TimeoutError) as error:
        raise Refusal(502, f"the upstream of {endpoint.provider} failed: {type(error).__name__}") from error


async def read_body(request: web.BaseRequest) -> bytes:
    """Raises Refusal for one that is compressed, too large or too slow."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "the gateway takes no compressed request")
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for chunk in request.content.iter_any():
                data += chunk
                if len(data) > MOST_REQUEST_BYTES:
                    raise Refusal(413, f"the request has more than {MOST_REQUEST_BYTES >> 20} MiB")
    except TimeoutError as error:
        raise Refusal(408, f"the request did not arrive in {BODY_S:.0f} seconds") from error
    return bytes(data)


def kept_headers(headers: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: headers[name] for name in names if name in headers}
