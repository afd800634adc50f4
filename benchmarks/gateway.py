"""The model gateway against a direct connection to the same server: the first byte, fifty streams at once, and a long run.

The server is a scripted model in a process of its own. It sends an event of a stream every 20 ms, as a fast model does.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
    """One run of many turns: its last turns take as long as those of a new run, and the process holds no more memory."""
    count = TURNS if workshop.asked is None else min(TURNS, 1000 * workshop.asked)
    with _model(workshop) as url, EventLog(workshop.folder / "turns.jsonl") as log:
        server = gateway_server()
        upstream = {"anthropic": Upstream(PROVIDERS["anthropic"], url, "key-of-the-upstream")}
        blobs = Blobs(workshop.folder / "turns-blobs")
        routes = [Route(draw_key(), server, upstream, Recorder(log, blobs)) for _ in range(2)]
        for route in routes:
            route.open()
        long, new = (route.key for route in routes)
        rounds, memory = asyncio.run(_long_run(f"http://127.0.0.1:{server.port}", long, new, count))
        for route in routes:
            route.close()
    what = f"a turn at the end of a run of {count:,} turns through the gateway, against the same turn of a new run"
    yield Measured.of("turns", what, rounds, ratio("long run", "new run"), target=1.2)
    what = f"memory of the controller after {count:,} turns, against that after the first fifth"
    yield Measured.of("turns", what, [memory], ratio("last (MB)", "first (MB)"), target=1.1)


async def _long_run(
    url: str, long: str, new: str, count: int
) -> tuple[list[dict[str, float]], dict[str, float]]:
    """Seconds of the last tenth's turns in turns with those of a new run, and memory after a fifth and at the end."""
    async with aiohttp.ClientSession() as session:

        async def turn_s(key: str, number: int) -> float:
            begun = time.perf_counter()
            async with session.post(
                f"{url}/v1/messages", json=_turn(number), headers={"x-api-key": key}
            ) as answer:
                await answer.read()
            return time.perf_counter() - begun

        first_bytes = 0
        for number in range(count - count // 10):
            await turn_s(long, number)
            if number == count // 5:
                first_bytes = _memory_bytes()
        rounds = [
            {"long run": await turn_s(long, number), "new run": await turn_s(new, number)}
            for number in range(count - count // 10, count)
        ]
    return rounds, {"first (MB)": first_bytes / 1e6, "last (MB)": _memory_bytes() / 1e6}


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
