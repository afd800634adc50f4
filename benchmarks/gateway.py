"""The model gateway against a direct connection to the same server: the first byte, fifty streams at once, and a long run.

The server is a scripted model in a process of its own. It sends an event of a stream every 20 ms, as a fast model does.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from benchmarks.measure import Measured, measure, ratio
from benchmarks.workshop import Workshop
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.trace.events import EventLog
from steelyard.gateway.address import draw_key
from steelyard.gateway.records import Recorder
from steelyard.gateway.route import Route
from steelyard.gateway.server import gateway_server
from steelyard.gateway.upstream.upstreams import Upstream
from steelyard.providers.provider import PROVIDERS

STREAMS, EVENTS, PAUSE_S = 50, 100, 0.02
TURNS, COMPACTED = 10_000, 50
ASKED = 20  # requests of which the first bytes are measured, one after the other
SCRIPT = {
    "turns": [{"text": "word " * (24 * EVENTS // 5), "chunk_delay_s": PAUSE_S}],
    "branches": [{"match": "quick", "turns": [{"text": "yes"}]}],
}


def gateway(workshop: Workshop) -> Iterator[Measured]:
    with _model(workshop) as url, EventLog(workshop.folder / "gateway.jsonl") as log:
        server = gateway_server()
        blobs = Blobs(workshop.folder / "gateway-blobs")
        upstream = {"anthropic": Upstream(PROVIDERS["anthropic"], url, "key-of-the-upstream")}
        route = Route(draw_key(), server, upstream, Recorder(log, blobs))
        route.open()
        ours = f"http://127.0.0.1:{server.port}"
        first = {
            "through the gateway": lambda: asyncio.run(_first_byte(ours, route.key)),
            "direct": lambda: asyncio.run(_first_byte(url, route.key)),
        }
        many = {
            "through the gateway": lambda: asyncio.run(_streams(ours, route.key)),
            "direct": lambda: asyncio.run(_streams(url, route.key)),
        }
        rounds = measure(first, workshop.rounds(15))
        what = (
            "the first byte of an answer through the model gateway: what it takes beyond a direct connection"
        )
        added = lambda one: 1000 * (one["through the gateway"] - one["direct"])  # noqa: E731  # one line, used once
        yield Measured.of("gateway", what, rounds, added, target=3, unit="ms")
        rounds = measure(many, workshop.rounds(5), warm_up=1)
        what = f"{STREAMS} streams of {EVENTS} events at once, each event after {1000 * PAUSE_S:.0f} ms"
        yield Measured.of("gateway", what, rounds, ratio("through the gateway", "direct"), target=1.05)
        route.close()


@contextmanager
def _model(workshop: Workshop) -> Iterator[str]:
    script = workshop.folder / "script.json"
    script.write_text(json.dumps(SCRIPT))
    command = [sys.executable, "-m", "steelyard.gateway.scripted", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as model:
        assert model.stdout is not None
        lines = dict(model.stdout.readline().removeprefix("export ").strip().split("=", 1) for _ in range(8))
        try:
            yield lines["ANTHROPIC_BASE_URL"]
        finally:
            model.terminate()


def _body(prompt: str) -> dict[str, Any]:
    # As long as a request of a coding agent is after a few turns.
    messages = [{"role": "user", "content": prompt + " " + "some context of a task. " * 2000}]
    return {"model": "claude-opus-4-5", "max_tokens": 4000, "stream": True, "messages": messages}


async def _first_byte(url: str, key: str) -> float:
    """Seconds from a request to the first byte of its answer, the mean of several."""
    taken = 0.0
    async with aiohttp.ClientSession(headers={"x-api-key": key}) as session:
        for number in range(ASKED + 1):
            begun = time.perf_counter()
            async with session.post(f"{url}/v1/messages", json=_body("quick")) as answer:
                await answer.content.readany()
                taken += time.perf_counter() - begun if number else 0.0  # the first one connects
                await answer.read()
    return taken / ASKED


async def _streams(url: str, key: str) -> float:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(headers={"x-api-key": key}, connector=connector) as session:

        async def one() -> None:
            async with session.post(f"{url}/v1/messages", json=_body("slow")) as answer:
                async for _ in answer.content.iter_any():
                    pass

        begun = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(STREAMS)))
        return time.perf_counter() - begun


def turns(workshop: Workshop) -> Iterator[Measured]:
    """One run of many turns: its last turns take as long as its first, and the process holds no more memory."""
    count = TURNS if workshop.asked is None else min(TURNS, 1000 * workshop.asked)
    with _model(workshop) as url, EventLog(workshop.folder / "turns.jsonl") as log:
        server = gateway_server()
        upstream = {"anthropic": Upstream(PROVIDERS["anthropic"], url, "key-of-the-upstream")}
        route = Route(draw_key(), server, upstream, Recorder(log, Blobs(workshop.folder / "turns-blobs")))
        route.open()
        parts = asyncio.run(_parts(f"http://127.0.0.1:{server.port}", route.key, count))
        route.close()
    first, last = parts[1], parts[-1]  # of ten parts; the first one warms up
    seconds = [{"first": first.turn_s, "last": last.turn_s}]
    what = f"a turn at the end of a run of {count:,} turns through the gateway, against one at its beginning"
    yield Measured.of("turns", what, seconds, ratio("last", "first"), target=1.2)
    memory = [{"first (MB)": first.memory_bytes / 1e6, "last (MB)": last.memory_bytes / 1e6}]
    what = f"memory of the controller after {count:,} turns, against that after the first fifth"
    yield Measured.of("turns", what, memory, ratio("last (MB)", "first (MB)"), target=1.1)


class _Part(NamedTuple):
    """A tenth of a long run."""

    turn_s: float  # the median of its turns
    memory_bytes: int  # held at its end


async def _parts(url: str, key: str, count: int) -> list[_Part]:
    parts = []
    async with aiohttp.ClientSession(headers={"x-api-key": key}) as session:
        for start in range(0, count, count // 10):
            taken = []
            for number in range(start, start + count // 10):
                begun = time.perf_counter()
                async with session.post(f"{url}/v1/messages", json=_turn(number)) as answer:
                    await answer.read()
                taken.append(time.perf_counter() - begun)
            parts.append(_Part(statistics.median(taken), _memory_bytes()))
    return parts


def _turn(number: int) -> dict[str, Any]:
    """The conversation grows by two messages a turn; after `COMPACTED` turns a summary takes its place, as clients do."""
    summary, since = divmod(number, COMPACTED)
    messages = [{"role": "user", "content": f"quick {summary} " + "some context of a task. " * 400}]
    for turn in range(since):
        messages.append({"role": "assistant", "content": f"I do step {turn}."})
        messages.append({"role": "user", "content": f"step {turn} is done. " * 10})
    return {"model": "claude-opus-4-5", "max_tokens": 4000, "messages": messages}


def _memory_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


ROWS = {"gateway": gateway, "turns": turns}
