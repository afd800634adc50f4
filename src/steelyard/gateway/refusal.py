"""Why the gateway itself does not answer a request, in a form that the clients of all providers can show."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from aiohttp import web


class GatewayDefect(Exception):
    """An error of the gateway itself: it costs one request, and is recorded."""

    def __init__(self, error: Exception, request: int | None = None) -> None:
        super().__init__(f"internal error in the gateway: {type(error).__name__}")
        self.request = request  # its number, if the request is on record


class Refusal(Exception):
    """Sent instead of an upstream's answer."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})

    @property
    def body(self) -> bytes:
        error = {"type": "steelyard_gateway", "code": self.status, "message": self.message}
        return orjson.dumps({"type": "error", "error": error})

    def response(self) -> web.Response:
        return web.Response(
            status=self.status, body=self.body, content_type="application/json", headers=self.headers
        )
