"""A request -> the first bytes of an upstream's answer, asked again while the upstream is overloaded.

A connection that breaks before the first byte of a body is a failed attempt. After the first byte nothing is asked again:
the client has part of the answer, and the provider has billed it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    ConnectionTimeoutError,
)
from yarl import URL

from steelyard.gateway.upstream.scrub import KeyScrubber
from steelyard.gateway.upstream.upstreams import Upstream
from steelyard.gateway.upstream.waiting import OVERLOADED, UpstreamRetryPolicy, WaitClock
from steelyard.providers.endpoints import Endpoint

CHUNK_BYTES = 1 << 16
MOST_ERROR_BYTES = 64 << 10  # of the body of an error
PROBE_S = 30.0
SENT = (
    *("content-type", "accept", "user-agent", "anthropic-version", "anthropic-beta", "openai-beta"),
    *("x-goog-api-client", "x-stainless-lang", "x-stainless-package-version"),
)


class OnAttempt(Protocol):
    """Called when the upstream gets the request, and when it has refused it for now."""

    def __call__(self, *, is_asked: bool) -> None: ...


def _unheard(*, is_asked: bool) -> None:
    del is_asked


class UpstreamFailure(Exception):
    """No answer: `kind` is "connection" (none was made), "timeout" or "dropped"."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


@dataclass(eq=False)
class Answer:
    """An answer that has begun: its status, and its bytes as they come."""

    status: int
    headers: Mapping[str, str]
    first: bytes
    rest: AsyncIterator[bytes]
    attempts: int = 1
    waited_ns: int = 0
    first_byte_ns: int = 0  # of the attempt that answered

    async def chunks(self) -> AsyncIterator[bytes]:
        """Raises UpstreamFailure where it breaks off."""
        if self.first:
            yield self.first
        async for chunk in self.rest:
            yield chunk


@dataclass(frozen=True)
class Sender:
    """How the requests of one run are sent."""

    session: ClientSession
    retry: UpstreamRetryPolicy
    clock: WaitClock
    on_wait: Callable[[dict[str, Any]], None] = field(default=lambda _: None)
    on_attempt: OnAttempt = _unheard

    @asynccontextmanager
    async def send(
        self, upstream: Upstream, endpoint: Endpoint, method: str, body: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[Answer]:
        """Raises UpstreamFailure when every attempt failed; an overload that lasts is an answer."""
        url = URL(
            upstream.url + endpoint.path + (f"?{endpoint.query}" if endpoint.query else ""), encoded=True
        )
        sent = {
            **{name: headers[name] for name in SENT if name in headers},
            **upstream.key_headers,
            "accept-encoding": "identity",
        }
        waited_ns, attempt = 0, 0
        while True:
            attempt += 1
            begun = time.monotonic_ns()
            failure: UpstreamFailure | None = None
            answer: Answer | None = None
            response: ClientResponse | None = None
            self.on_attempt(is_asked=True)
            try:
                response = await self._request(method, url, body, sent, upstream.proxy)
                answer = await self._begin(response, upstream)
                answer.first_byte_ns = time.monotonic_ns() - begun
            except UpstreamFailure as raised:
                failure = raised
                if response is not None:
                    response.close()
            except BaseException:
                if response is not None:
                    response.close()
                raise
            wait_s = self._wait_s(attempt, waited_ns, failure, answer)
            if wait_s is None:
                break
            self.on_attempt(is_asked=False)
            if response is not None:
                response.close()
            why = failure.kind if failure is not None else f"HTTP {answer.status if answer else 0}"
            waited_ns += await self._wait(wait_s, attempt, why)
        if failure is not None:
            raise failure
        assert answer is not None
        assert response is not None
        answer.attempts, answer.waited_ns = attempt, waited_ns
        try:
            yield answer
        finally:
            response.close() if not response.content.at_eof() else response.release()

    def _wait_s(
        self, attempt: int, waited_ns: int, failure: UpstreamFailure | None, answer: Answer | None
    ) -> float | None:
        if failure is not None and failure.kind == "timeout":
            return None
        if answer is not None and answer.status not in OVERLOADED:
            return None
        after = answer.headers.get("retry-after", "") if answer is not None else ""
        return self.retry.wait_s(attempt, after, waited_ns / 1e9)

    async def _wait(self, wait_s: float, attempt: int, why: str) -> int:
        begun = time.monotonic_ns()
        try:
            with self.clock:
                await asyncio.sleep(wait_s)
        finally:
            spent = time.monotonic_ns() - begun
            self.on_wait({"attempt": attempt, "why": why, "wait_ns": spent, "total_ns": self.clock.total_ns})
        return spent

    async def _request(
        self, method: str, url: URL, body: bytes, headers: Mapping[str, str], proxy: str | None
    ) -> ClientResponse:
        timeout = ClientTimeout(total=None, sock_connect=self.retry.connect_s, sock_read=self.retry.silence_s)
        try:
            return await self.session.request(
                method,
                url,
                data=body or None,
                headers=headers,
                allow_redirects=False,
                timeout=timeout,
                proxy=proxy,
            )
        except (ConnectionTimeoutError, ClientConnectorError) as error:
            raise UpstreamFailure("connection", f"no connection: {type(error).__name__}") from error
        except TimeoutError as error:
            raise UpstreamFailure("timeout", "the upstream did not answer in time") from error
        except (ClientError, OSError) as error:  # it had the request, or a part of it
            raise UpstreamFailure("dropped", f"the connection broke: {type(error).__name__}") from error

    async def _begin(self, response: ClientResponse, upstream: Upstream) -> Answer:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise UpstreamFailure("dropped", "a compressed answer, which was not requested")
        rest = _chunks(response, upstream)
        if response.status in OVERLOADED:
            first = b""
            async for chunk in rest:
                first = (first + chunk)[:MOST_ERROR_BYTES]
                if len(first) == MOST_ERROR_BYTES:
                    break
        else:
            first = await anext(rest, b"")
        return Answer(response.status, response.headers, first, rest)


async def probe(session: ClientSession, upstream: Upstream) -> int | None:
    """The status of a request in which nothing is the agent's, for the list of models; None if no answer comes."""
    headers = {**upstream.key_headers, "anthropic-version": "2023-06-01", "accept-encoding": "identity"}
    try:
        async with session.get(
            upstream.url + upstream.provider.models_path,
            headers=headers,
            allow_redirects=False,
            timeout=ClientTimeout(total=PROBE_S),
            proxy=upstream.proxy,
        ) as response:
            return response.status
    except (TimeoutError, ClientError, OSError, ValueError):
        return None


async def _chunks(response: ClientResponse, upstream: Upstream) -> AsyncIterator[bytes]:
    scrubber = KeyScrubber(upstream.key)
    try:
        async for chunk in response.content.iter_any():
            for start in range(0, len(chunk), CHUNK_BYTES):
                if data := scrubber.feed(chunk[start : start + CHUNK_BYTES]):
                    yield data
    except TimeoutError as error:
        raise UpstreamFailure("timeout", "the upstream fell silent") from error
    except (ClientError, OSError, ValueError) as error:
        raise UpstreamFailure("dropped", f"the answer broke off: {type(error).__name__}") from error
    if data := scrubber.end():
        yield data
