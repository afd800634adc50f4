"""One request of an agent: checked, reserved, recorded, forwarded, metered while it streams back, settled.

    read -> parse -> reserve -> model.request -> upstream or cassette -> relay -> charge -> model.response, cost

The answer goes to the client byte for byte. What is changed in a request is named in its event: tools that run at the
provider are taken out, a stream is asked for its usage, and near a cap the limit of an answer is lowered.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
from aiohttp import web

from steelyard.deferred.data_class import dataclass
from steelyard.errors import InfraFault
from steelyard.gateway.caps import CapReached, RequestNeed, Reservation
from steelyard.gateway.cassette import CassetteMiss
from steelyard.gateway.projection import Projection
from steelyard.gateway.records import KeptBytes
from steelyard.gateway.refusal import GatewayDefect, Refusal
from steelyard.gateway.stream_filter import UsageFilter
from steelyard.gateway.upstream.answer import Answer, UpstreamFailure
from steelyard.gateway.upstream.waiting import OVERLOADED
from steelyard.providers.answer import BYTES_IN_TOKEN, AnswerMeter
from steelyard.providers.endpoints import Endpoint
from steelyard.providers.hosted_tools import without_hosted_tools
from steelyard.providers.prices import Cost
from steelyard.providers.remote_content import remote_content
from steelyard.providers.requests import ModelRequest, parse_request, with_output_limit, with_usage
from steelyard.providers.usage import Usage

if TYPE_CHECKING:
    from steelyard.gateway.route import Route

MOST_REQUEST_BYTES = 32 << 20
MOST_VALUES = 1_500_000  # of a request
VALUE_BYTES = 64  # that a small value takes, parsed
MOST_RESPONSE_BYTES = 64 << 20
LARGE_BYTES = 256 << 10
BODY_S = 120.0
RETURNED = ("content-type", "retry-after", "request-id", "x-request-id", "x-should-retry")
REFUSED_KEY = frozenset({401, 403})


async def exchange(route: Route, endpoint: Endpoint, request: web.BaseRequest) -> web.StreamResponse:
    body = await read_body(route, request)
    parsed_bytes = VALUE_BYTES * values_in(body)
    route.held_bytes += parsed_bytes
    try:
        _check_parsed(route, parsed_bytes)
        return await Exchange(route, endpoint, request, body).run()
    finally:
        route.held_bytes -= len(body) + parsed_bytes


async def read_body(route: Route, request: web.BaseRequest) -> bytes:
    """Raises Refusal for one that is compressed, too large or too slow."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "the gateway takes no compressed request")
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for chunk in request.content.iter_any():
                data += chunk
                route.held_bytes += len(chunk)
                _check_size(route, len(data))
    except TimeoutError as error:
        route.held_bytes -= len(data)
        raise Refusal(408, f"the request did not arrive in {BODY_S:.0f} seconds") from error
    except BaseException:
        route.held_bytes -= len(data)
        raise
    return bytes(data)


def values_in(body: bytes) -> int:
    """At most so many values are in a JSON text; commas and brackets in its strings count too."""
    return sum(map(body.count, (b",", b"[", b"{")))


def _check_parsed(route: Route, parsed_bytes: int) -> None:
    """`[[],[],...` takes twenty times its size in memory. Raises Refusal."""
    if parsed_bytes > VALUE_BYTES * MOST_VALUES:
        raise Refusal(413, f"the request has more than {MOST_VALUES:,} values")
    if parsed_bytes and route.held_bytes > route.most_held_bytes:
        raise Refusal(503, "the requests of this run that are under way are too large together")


def _check_size(route: Route, size: int) -> None:
    if size > MOST_REQUEST_BYTES:
        raise Refusal(413, f"the request has more than {MOST_REQUEST_BYTES >> 20} MiB")
    if route.held_bytes > route.most_held_bytes:
        raise Refusal(503, "the requests of this run that are under way are too large together")


class ForwardRequest(NamedTuple):
    """A request that may be forwarded."""

    parsed: ModelRequest
    changed: list[str]  # what differs in the body that is forwarded
    body: bytes


@dataclass
class Exchange:
    """The state of one request."""

    route: Route
    endpoint: Endpoint
    request: web.BaseRequest
    body: bytes
    number: int = 0
    parsed: ModelRequest | None = None
    reservation: Reservation | None = None
    kept: KeptBytes = field(default_factory=KeptBytes)
    meter: AnswerMeter | None = None
    answer: Answer | None = None
    projection: Projection | None = None  # of a stream that is metered
    cut: str | None = None  # why the answer was ended by the gateway
    begun_ns: int = 0
    is_asked: bool = False  # the upstream has the request, and may be at work on it

    async def run(self) -> web.StreamResponse:
        """Raises Refusal, and GatewayDefect for an error of our own."""
        try:
            is_large = len(self.body) > LARGE_BYTES
            prepared = await asyncio.to_thread(self._prepare) if is_large else self._prepare()
            parsed, changed, body = prepared
            self.parsed = parsed
            if self.endpoint.is_metered:
                self.reservation = await self._reserve(parsed)
            if self.reservation is not None and self.reservation.is_cut and not parsed.is_stream:
                body = with_output_limit(self._reparse(body), self.reservation.output)
                changed.append("max_tokens")
            self.number = self.route.recorder.request(parsed, changed)
            self.begun_ns = time.monotonic_ns()
            return await self._answered(body, strips_usage="stream_options" in changed)
        except (Refusal, InfraFault, OSError):
            raise
        except Exception as error:
            raise GatewayDefect(error, self.number or None) from error
        finally:
            if self.reservation is not None:  # nothing was settled: an attempt that failed costs nothing
                self.route.budget.charge(self.reservation, None, None)

    def _prepare(self) -> ForwardRequest:
        """Raises Refusal. Of a large request it takes a second, in which the loop serves other runs."""
        parsed = self._parse()
        changed: list[str] = []
        return ForwardRequest(parsed, changed, self._safe_body(parsed, changed))

    def _parse(self) -> ModelRequest:
        if self.request.method == "GET":
            return ModelRequest(self.endpoint, b"", {})
        try:
            parsed = parse_request(self.endpoint, self.body)
        except ValueError as error:
            raise Refusal(400, "the body is not a JSON object") from error
        if self.endpoint.is_metered and not parsed.model:
            raise Refusal(400, "the request names no model")
        if parsed.data.get("background") is True:
            raise Refusal(400, "an answer in the background cannot be metered")
        if remote := remote_content(parsed.data):
            raise Refusal(400, f"the provider would fetch content from an address: {remote}")
        return parsed

    def _safe_body(self, parsed: ModelRequest, changed: list[str]) -> bytes:
        """What is forwarded; the client's own bytes unless something has to be changed in them."""
        if not self.endpoint.is_metered:
            return self.body
        stripped = without_hosted_tools(self.endpoint.wire, parsed.data)
        if stripped.removed:
            changed += [f"removed {name}" for name in stripped.removed]
            parsed = replace(parsed, data=stripped.data, body=orjson.dumps(stripped.data))
        elif parsed.is_ambiguous:
            changed.append("serialised")
            parsed = replace(parsed, body=orjson.dumps(parsed.data))
        added = with_usage(parsed)
        if added is not None:
            changed.append("stream_options")
        return parsed.body if added is None else added

    def _reparse(self, body: bytes) -> ModelRequest:
        return parse_request(self.endpoint, body)

    async def _reserve(self, parsed: ModelRequest) -> Reservation:
        need = RequestNeed(len(self.body), parsed.max_output, self._cost)
        try:
            return await self.route.budget.reserve(need)
        except CapReached as cap:
            self.route.reach(cap)
            raise Refusal(403, f"the budget of the run is used up: {cap}") from cap

    def _cost(self, usage: Usage, chars: int) -> Cost:
        assert self.parsed is not None
        return self.route.prices.cost(self.endpoint.provider, self.parsed.model, usage, chars)

    async def _answered(self, body: bytes, *, strips_usage: bool) -> web.StreamResponse:
        try:
            async with self._source(body) as answer:
                self.answer = answer
                await self._check_key(answer)
                return await self._relay(answer, UsageFilter() if strips_usage else None)
        except UpstreamFailure as failure:
            return await self._failed(failure)
        except asyncio.CancelledError:
            if self.meter is None:
                self._record_error("cancelled", "the client has gone, or the run has ended", None)
                self._charge_abandoned()
            raise
        except CassetteMiss as miss:
            self._record_error("cassette", str(miss), None)
            where = self.route.player.folder if self.route.player is not None else "the cassette"
            self.route.fail(f"replay: a request was not recorded in {where}: {miss}", is_lasting=True)
            raise Refusal(400, f"this request was not recorded: {miss}") from miss
        except Refusal as refusal:
            self._record_error("refused", refusal.message, refusal.status)
            raise

    def _source(self, body: bytes) -> AbstractAsyncContextManager[Answer]:
        assert self.parsed is not None
        return self.route.answer_to(self.parsed, self.request, body, self.number, self._on_attempt)

    def _on_attempt(self, *, is_asked: bool) -> None:
        self.is_asked = is_asked

    def _charge_abandoned(self) -> None:
        """The client left before an answer came. The upstream bills its work all the same, so the cap is charged."""
        if self.reservation is None or not self.is_asked or self.route.closed:
            return
        usage = self._most_usage(self.reservation)
        cost = self._cost(usage, usage.tokens_out * BYTES_IN_TOKEN)
        self.route.recorder.cost(self.number, cost.to_json())
        self.route.budget.charge(self.reservation, usage, cost)
        if cap := self.route.budget.reached():
            self.route.reach(cap)

    def _most_usage(self, reservation: Reservation) -> Usage:
        """A stream ends with its client; an answer in one piece is generated to its end, up to what was reserved."""
        out = 0 if self._is_stream else reservation.output
        return Usage(reservation.tokens - reservation.output, out, estimated=True)

    async def _check_key(self, answer: Answer) -> None:
        """What a server says about a key that it refuses may quote the key, and is not for the agent.

        403 may also mean that the key is good and does not allow the model that the agent chose.
        """
        if answer.status not in REFUSED_KEY:
            return
        provider = self.endpoint.provider
        names = " or ".join(self.route.upstreams[provider].provider.key_names)
        refused = f"the upstream of {provider} refused the key in {names} (HTTP {answer.status})"
        if not self.route.succeeded and not (
            answer.status == 403 and await self.route.probe(provider) == 200
        ):
            self.route.blame_upstream(refused, is_lasting=True)
        raise Refusal(answer.status, f"the upstream of {provider} refused the request (HTTP {answer.status})")

    async def _relay(self, answer: Answer, usage_filter: UsageFilter | None) -> web.StreamResponse:
        kind = answer.headers.get("content-type", "")
        meter = self.meter = AnswerMeter(
            self.endpoint.wire,
            is_stream="event-stream" in kind,
            keeps_parts=self.route.recorder.rules is not None,
        )
        response = web.StreamResponse(
            status=answer.status,
            headers={name: answer.headers[name] for name in RETURNED if name in answer.headers},
        )
        failure: UpstreamFailure | None = None
        is_gone = True  # the client, unless what follows comes to its end
        try:
            await response.prepare(self.request)
            async for chunk in self._meter(answer, meter):
                await response.write(chunk if usage_filter is None else usage_filter.feed(chunk))
            if usage_filter is not None and (rest := usage_filter.end()):
                await response.write(rest)
            is_gone = False
        except UpstreamFailure as raised:
            failure, is_gone = raised, False
        except ConnectionError:
            return response  # the client has gone; what it received is recorded below
        finally:
            meter.end()
            self._settle(answer, failure, is_gone=is_gone)
        if failure is not None or self.cut is not None:
            self._break_off()
        else:
            await response.write_eof()
        return response

    async def _meter(self, answer: Answer, meter: AnswerMeter) -> AsyncIterator[bytes]:
        """The chunks that the client gets, up to the cap."""
        reservation = self.reservation
        if reservation is not None and meter.is_stream:
            self.projection = Projection(self._cost, reservation.tokens - reservation.output)
        async for chunk in answer.chunks():
            self.kept.add(chunk)
            meter.feed(chunk)
            if self.kept.size > MOST_RESPONSE_BYTES:
                self.cut = f"more than {MOST_RESPONSE_BYTES >> 20} MiB"
            elif reservation is not None and self.projection is not None:
                left = self.route.budget.overshoot(reservation, self.projection.feed(meter))
                self.cut = f"more than the {left} that the budget had left" if left else None
            if self.cut is not None:
                return
            yield chunk

    def _break_off(self) -> None:
        """The client must not take half an answer for a whole one."""
        transport = self.request.transport
        if transport is not None:
            transport.abort()

    @property
    def _is_stream(self) -> bool:
        return self.parsed is not None and self.parsed.is_stream

    def _settle(self, answer: Answer, failure: UpstreamFailure | None, *, is_gone: bool) -> None:
        """Once for each answer: what it used, what that costs, and the events that say so."""
        is_whole = failure is None and self.cut is None and not is_gone
        if is_whole and self.route.writer is not None and answer.status not in OVERLOADED:
            assert self.parsed is not None
            why = self.route.writer.keep(self.parsed, answer.status, answer.headers, self.kept)
            if why:
                self._record_error("cassette", why, answer.status, with_body=False)
        if answer.status != 200:
            failed = failure or UpstreamFailure("status", f"HTTP {answer.status}")
            self._record_error(failed.kind, str(failed), answer.status)
            return
        self.route.succeeded = True
        meter = self.meter
        assert meter is not None
        usage, cost = Usage(), None
        if self.endpoint.is_metered:
            counted = meter.usage if is_whole else None
            usage = meter.estimated_usage(len(self.body)) if counted is None else counted
            if is_gone and meter.usage is None and self.reservation and not self._is_stream:
                usage = self._most_usage(self.reservation)
            cost = self._cost(usage, meter.output_chars)
        ended = failure.kind if failure else "cut" if self.cut else "client_gone" if is_gone else None
        self.route.recorder.response(
            self.number,
            self.kept,
            self._facts(answer, usage, cost, complete=is_whole, ended=ended),
            meter.parts,
        )
        if ended is not None:
            why_not = str(failure or self.cut or "the client closed the connection")
            self._record_error(ended, why_not, answer.status, with_body=False)
        if cost is not None and self.reservation is not None:
            self.route.recorder.cost(self.number, cost.to_json())
            self.route.budget.charge(self.reservation, usage, cost)
            if cap := self.route.budget.reached():
                self.route.reach(cap)

    def _facts(
        self, answer: Answer, usage: Usage, cost: Cost | None, *, complete: bool, ended: str | None
    ) -> dict[str, Any]:
        meter = self.meter
        assert meter is not None
        return {
            "status": answer.status,
            "metered": self.endpoint.is_metered,
            "usage": usage.to_json(),
            "cost": None if cost is None else cost.to_json(),
            "projected": None if self.projection is None else self.projection.to_json(),
            "model": meter.model or None,
            "stop_reason": meter.stop_reason,
            "tool_calls_requested": meter.tool_calls,
            "malformed_events": meter.malformed,
            "stream_error": meter.error or None,
            "complete": complete,
            "ended": ended,
            "cut": self.cut,
            "first_byte_ns": answer.first_byte_ns,
            "total_ns": time.monotonic_ns() - self.begun_ns,
            "attempts": answer.attempts,
            "waited_ns": answer.waited_ns,
        }

    async def _failed(self, failure: UpstreamFailure) -> web.StreamResponse:
        """Every attempt failed before a byte came. The agent may have caused that, unless the gateway gets no answer either."""
        self._record_error(failure.kind, str(failure), None)
        provider = self.endpoint.provider
        if not self.route.succeeded and (
            failure.kind == "connection" or await self.route.probe(provider) is None
        ):
            self.route.blame_upstream(f"the upstream of {provider} cannot be reached: {failure}")
        status = 504 if failure.kind == "timeout" else 502
        return Refusal(status, f"the upstream of {provider} failed: {failure}").response()

    def _record_error(self, kind: str, why: str, status: int | None, *, with_body: bool = True) -> None:
        answer = self.answer
        payload = {
            "kind": kind,
            "why": why,
            "status": status,
            "attempts": answer.attempts if answer else None,
            "waited_ns": answer.waited_ns if answer else None,
            "total_ns": time.monotonic_ns() - self.begun_ns,
        }
        self.route.recorder.error(self.number, self.kept if with_body else KeptBytes(), payload)
