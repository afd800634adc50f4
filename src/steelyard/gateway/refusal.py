"""Why the gateway itself does not answer a request, in a form that the clients of all providers can show."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from aiohttp import web


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
