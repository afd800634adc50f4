"""HTTP in front of a `Grader`.

    POST /grade         {"contract": "widgets-1412", "patch": "diff --git ..."}       -> the result line
    POST /grade/batch   {"items": [{"contract": ..., "patch": ...}, ...]}             -> lines {"item": 3, "result": {...}} as they end
    GET  /contracts     {"contracts": [{"id": ..., "digest": ...}]}
    GET  /health        {"status": "ok", "waiting": 3, "room": 61}

`contract` is an id or a digest of a contract that the service was started with; a request never names a path. At most `room`
gradings wait: beyond that the answer is 429 with Retry-After. The same contract and patch are graded once, however often
they are asked for. A grading that this machine cannot make (a full disk, no database) is 503 with Retry-After, or in a batch
{"item": 3, "error": "..."}. A defect of Steelyard is 500 with an `id`, in a batch {"item": 3, "error": "...", "id": "1f2e3d4c"}; the
standard error of the service has its traceback under that id.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import time
import traceback
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from steelyard.contract.contract import Contract
from steelyard.errors import SteelyardError
from steelyard.report.plain import one_line
from steelyard.service.access import Access
from steelyard.service.grader import Grader
from steelyard.store.database import UNREACHABLE

SCHEMA = "steelyard.service/1"
LONGEST_RETRY_S = 600
FAULT_RETRY_S = 30
MACHINE_FAULTS = (SteelyardError, MemoryError, *UNREACHABLE)  # anything else is a defect of Steelyard
_KEPT = 50
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class RequestRefused(Exception):
    """A request that is answered with a status and a reason."""

    def __init__(self, status: int, why: str, retry_s: int | None = None) -> None:
        super().__init__(why)
        self.status, self.why, self.retry_s = status, why, retry_s


@dataclass
class Service:
    grader: Grader
    contracts: dict[str, Contract]  # by id and by digest
    access: Access
    room: int = 64
    body_bytes: int = 64 << 20
    _waiting: int = field(default=0, init=False)
    _took_s: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT), init=False)

    @classmethod
    def of(cls, grader: Grader, contracts: Iterable[Contract], access: Access, **keys: int) -> Service:
        known: dict[str, Contract] = {}
        for contract in contracts:
            known[contract.id] = known[contract.digest] = contract
        return cls(grader, known, access, **keys)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=self.body_bytes, middlewares=[self._guard])
        app.router.add_post("/grade", self._grade)
        app.router.add_post("/grade/batch", self._batch)
        app.router.add_get("/contracts", self._list)
        app.router.add_get("/health", self._health)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = self.access.refuse(request.headers, has_body=request.method == "POST")
        if refusal is not None:
            return _json({"error": refusal.why}, refusal.status)
        try:
            return await handler(request)
        except RequestRefused as refused:
            headers = {} if refused.retry_s is None else {"Retry-After": str(refused.retry_s)}
            return _json({"error": refused.why}, refused.status, headers)
        except web.HTTPException as error:
            return _json({"error": error.reason}, error.status)
        except MACHINE_FAULTS as error:
            return _json({"error": _words(error)}, 503, {"Retry-After": str(FAULT_RETRY_S)})
        except Exception as defect:  # noqa: BLE001  # a client gets words, whatever failed here
            return _json(_logged(defect), 500)

    async def _health(self, request: web.Request) -> web.Response:
        del request
        return _json(
            {"schema": SCHEMA, "status": "ok", "waiting": self._waiting, "room": self.room - self._waiting}
        )

    async def _list(self, request: web.Request) -> web.Response:
        del request
        contracts = {one.digest: one.id for one in self.contracts.values()}
        return _json(
            {"schema": SCHEMA, "contracts": [{"id": name, "digest": key} for key, name in contracts.items()]}
        )

    async def _grade(self, request: web.Request) -> web.Response:
        contract, patch = self._item(await _body(request))
        self._take(1)
        return _json(await self._one(contract, patch))

    async def _batch(self, request: web.Request) -> web.StreamResponse:
        body = await _body(request)
        items = body.get("items") if isinstance(body, dict) else None
        if not isinstance(items, list) or not items:
            raise RequestRefused(400, "`items` is a list of {contract, patch}")
        if len(items) > self.room:
            raise RequestRefused(413, f"a batch has at most {self.room} items")
        pairs = [self._item(item) for item in items]
        self._take(len(pairs))
        tasks = [asyncio.ensure_future(self._grade_item(at, *pair)) for at, pair in enumerate(pairs)]
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        try:
            await response.prepare(request)
            for ended in asyncio.as_completed(tasks):
                await response.write(orjson.dumps(await ended) + b"\n")
        except ConnectionError:
            await asyncio.gather(*tasks, return_exceptions=True)  # the gradings are kept, and asked for again
        await response.write_eof()
        return response

    async def _grade_item(self, number: int, contract: Contract, patch: str) -> dict[str, Any]:
        try:
            return {"item": number, "result": await self._one(contract, patch)}
        except MACHINE_FAULTS as error:
            return {"item": number, "error": _words(error)}
        except Exception as defect:  # noqa: BLE001  # the other items have results
            return {"item": number, **_logged(defect)}

    async def _one(self, contract: Contract, patch: str) -> dict[str, Any]:
        """`_take` has made room for it."""
        began = time.monotonic()
        try:
            return await self.grader.grade(contract, patch.encode("utf-8", "surrogatepass"))
        finally:
            self._waiting -= 1
            self._took_s.append((time.monotonic() - began) / max(1, self._waiting + 1))

    def _take(self, count: int) -> None:
        if self._waiting + count > self.room:
            raise RequestRefused(
                429, f"{self._waiting} gradings wait; there is room for {self.room}", self._retry_s(count)
            )
        self._waiting += count

    def _retry_s(self, count: int) -> int:
        """About when there will be room, from what gradings took lately."""
        usual = sum(self._took_s) / len(self._took_s) if self._took_s else 1.0
        excess = self._waiting + count - self.room
        return max(1, min(LONGEST_RETRY_S, math.ceil(usual * excess)))

    def _item(self, item: Any) -> tuple[Contract, str]:
        if not isinstance(item, dict):
            raise RequestRefused(400, "an item is {contract, patch}")
        name, patch = item.get("contract"), item.get("patch")
        if not isinstance(name, str) or not isinstance(patch, str):
            raise RequestRefused(400, "`contract` and `patch` are text")
        if name not in self.contracts:
            raise RequestRefused(
                404, "this service has no contract of that id or digest; GET /contracts lists them"
            )
        return self.contracts[name], patch


async def _body(request: web.Request) -> Any:
    try:
        return orjson.loads(await request.read())
    except ValueError:
        raise RequestRefused(400, "the body is not JSON") from None


def _words(error: Exception) -> str:
    return f"this patch was not graded: {one_line(str(error) or repr(error), 300)}"


def _logged(defect: Exception) -> dict[str, str]:
    """What a client gets for a defect of Steelyard; the traceback goes to standard error, under the same id."""
    name = os.urandom(4).hex()
    trace = "".join(traceback.format_exception(defect))
    sys.stderr.write(f"steelyard: internal error {name} while a request was answered\n{trace}")
    sys.stderr.flush()
    words = f"internal error {name} in Steelyard; the standard error of the service says how it came about"
    return {"error": words, "id": name}


def _json(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(
        body=orjson.dumps(data), status=status, content_type="application/json", headers=headers or {}
    )
