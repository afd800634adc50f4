"""One request to a server, and its whole answer: bounded in time and size, with no redirect and nothing unpacked.

For callers that wait for an answer in one piece (the judge). The gateway streams, with the same library.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from aiohttp import ClientResponse

_HERE = frozenset({"127.0.0.1", "localhost", "::1"})  # no proxy leads there


class Reply(NamedTuple):
    status: int
    body: bytes
    headers: Mapping[str, str]


class PostFailure(Exception):
    """No whole answer: `kind` is "timeout", "connection", "broken", "too_large" or "compressed"."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind = kind


def post(url: str, body: bytes, headers: Mapping[str, str], *, within_s: float, most_bytes: int) -> Reply:
    """Raises PostFailure."""
    work = _post(url, body, headers, within_s, most_bytes)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _in_thread(work)  # a notebook: its thread has a loop of its own


def _in_thread(work: object) -> Reply:
    found: list[Reply] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(asyncio.run(work))  # type: ignore[arg-type]
        except BaseException as error:  # noqa: BLE001  # raised below, in the thread that waits
            failed.append(error)

    thread = threading.Thread(target=run, name="steelyard-post")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return found[0]


async def _post(url: str, body: bytes, headers: Mapping[str, str], within_s: float, most_bytes: int) -> Reply:
    from aiohttp import ClientError, ClientPayloadError, ClientSession, ClientTimeout, DummyCookieJar  # noqa: PLC0415  # a sixth of a second to load

    is_here = urlsplit(url).hostname in _HERE
    timeout = ClientTimeout(total=max(within_s, 0.001))
    sent = {"accept-encoding": "identity", "user-agent": "steelyard", **headers}
    try:
        async with (
            ClientSession(
                timeout=timeout, trust_env=not is_here, auto_decompress=False, cookie_jar=DummyCookieJar()
            ) as session,
            session.post(url, data=body, headers=sent, allow_redirects=False) as response,
        ):
            return Reply(response.status, await _read(response, most_bytes), response.headers)
    except TimeoutError as error:
        raise PostFailure("timeout", "timed out") from error
    except ClientPayloadError as error:
        raise PostFailure("broken", "the connection broke off") from error
    except (ClientError, OSError) as error:
        number = error.errno if isinstance(error, OSError) else None
        is_tls = "certificate" in str(error).lower()
        reason = os.strerror(number) if number and not is_tls else str(error)
        if number and number < 0:  # of the resolver, whose numbers are below those of errno
            reason = "the name of its host cannot be resolved"
        raise PostFailure("connection", reason or type(error).__name__) from error


async def _read(response: ClientResponse, most_bytes: int) -> bytes:
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise PostFailure("compressed", "a compressed reply, which was not requested")
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > most_bytes:
            raise PostFailure("too_large", f"a reply of more than {most_bytes >> 20} MiB")
    return bytes(data)
