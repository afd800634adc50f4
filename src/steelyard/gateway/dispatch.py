"""A request at the gateway -> the route of its run, or a refusal.

The agent that sends it is hostile. A path that is not in the table of endpoints, a body that is too large, compressed
or slow, and a key of another run are refused before anything is forwarded; a refusal quotes nothing but the path.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiohttp import web

from steelyard.errors import InfraFault
from steelyard.gateway.caps import CapReached
from steelyard.gateway.exchange import exchange
from steelyard.gateway.refusal import GatewayDefect, Refusal
from steelyard.providers.endpoints import Endpoint, endpoint_of

if TYPE_CHECKING:
    from steelyard.gateway.route import Route
    from steelyard.gateway.server import GatewayServer

MOST_REQUESTS = 100_000  # of one run; those that cost nothing are recorded too, and no other cap ends them


async def dispatch(server: GatewayServer, request: web.BaseRequest) -> web.StreamResponse:
    route = server.route(placeholder_of(request))
    if route is None:
        return Refusal(401, "the key of this request is not the placeholder of a run").response()
    try:
        return await _answer(route, request)
    except Refusal as refusal:
        return refusal.response()
    except ConnectionError:
        return Refusal(400, "the client has gone").response()
    except (InfraFault, OSError) as fault:  # the record cannot be written: what follows could not be believed
        route.fail(f"the record of a model's answer could not be written: {fault}")
        return Refusal(500, "the gateway failed").response()


async def _answer(route: Route, request: web.BaseRequest) -> web.StreamResponse:
    """A defect of the gateway costs one request and does not stop the run: an agent that finds one could void its run."""
    try:
        endpoint = _endpoint(route, request)
        task = asyncio.current_task()
        if task is not None:
            route.enter(task)
        return await exchange(route, endpoint, request)
    except (Refusal, InfraFault, OSError):
        raise
    except GatewayDefect as defect:
        raise _recorded(route, defect) from defect
    except Exception as error:
        raise _recorded(route, GatewayDefect(error)) from error


def _recorded(route: Route, defect: GatewayDefect) -> Refusal:
    route.recorder.defect(defect.request, str(defect))
    return Refusal(500, str(defect))


def _endpoint(route: Route, request: web.BaseRequest) -> Endpoint:
    """Raises Refusal."""
    path, _, query = request.raw_path.partition("?")
    endpoint = endpoint_of(request.method, path, query, request.headers)
    if endpoint is None:
        raise Refusal(404, f"the gateway does not serve {request.method} {path[:200]}")
    if endpoint.provider not in route.upstreams:
        raise Refusal(404, f"this run has no models of {endpoint.provider}")
    if route.recorder.count >= MOST_REQUESTS:
        route.reach(CapReached("model_call_cap", "gateway_requests", MOST_REQUESTS, MOST_REQUESTS))
    if route.closed or route.failure or route.cap is not None:
        raise Refusal(403, "the run has ended, or its budget is used up")
    return endpoint


def placeholder_of(request: web.BaseRequest) -> str:
    """Where the clients of the providers put their key."""
    headers = request.headers
    bearer = headers.get("authorization", "")
    return (
        headers.get("x-api-key")
        or headers.get("x-goog-api-key")
        or (bearer[7:] if bearer[:7].lower() == "bearer " else "")
        or request.query.get("key", "")
    )
