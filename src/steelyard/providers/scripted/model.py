"""A script -> a model on this machine that answers by it, in the formats of Anthropic, OpenAI and Gemini.

    python -m steelyard.gateway.scripted SCRIPT.yaml [--port 8787] [--requests REQUESTS.jsonl] [--ledger LEDGER.jsonl]

It prints the variables to set, and answers until it is ended. A reply is a map:

    text: "Fixed."          what it says; `json: {...}` the same as a JSON text; "{canary}" is what a judge is asked to say
    do: {shell: "ls"}       a tool call, in whatever tools the client offers: shell, read, write, edit; or a list of these
    calls: [{name: Bash, arguments: {command: ls}}]       a tool call by its name
    usage: {tokens_in: 1000, tokens_out: 50, cache_read: 0, cache_write: 0, reasoning: 0}      otherwise counted from the text
    cut: true               it came to the limit of tokens
    delay_s, drip_s, chunk_delay_s      before anything is sent, between bytes, between events of a stream
    status, headers, body   sent instead of a reply; `endless: true` bytes without end
    fault: {status: 429, retry_after: 0, times: 2} | {hang: true} | {drop: 3} | {malformed: 2} | {content_length: 10} |
           {chunk_bytes: 104857600}     `times` times before the reply is given, as a rule once

`GET /ledger` answers with what was billed, one entry for each request: the ground truth for tests of metering.
`python -m steelyard.gateway.scripted --help` says this too; `script.py` has the shapes of a whole script.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.providers.answer import BYTES_IN_TOKEN
from steelyard.providers.endpoints import Endpoint, endpoint_of
from steelyard.providers.requests import parse_request
from steelyard.providers.scripted.actions import calls_of
from steelyard.providers.scripted.render import ReplyContent, document, events
from steelyard.providers.scripted.script import Replies, Reply, ReplyPosition, Script, read_script
from steelyard.providers.server import end_server
from steelyard.providers.usage import Usage

if TYPE_CHECKING:
    from aiohttp import web

LEDGER = "/ledger"
_BILLED = ("tokens_in", "tokens_out", "cache_read", "cache_write", "cache_write_1h", "reasoning")
MOST_BYTES = 64 << 20
_SECRET = frozenset({"x-api-key", "authorization", "x-goog-api-key"})
_CANARY = re.compile(r"begin the reasoning with the word (k[0-9a-f]{8})\b")
_HANG_S = 3600.0
PASS: Reply = {
    "json": {
        "verdict": "PASS",
        "scores": {"task_completion": 5, "instruction_adherence": 5, "efficiency": 4},
        "failure_mode": None,
        "reasoning": "The change does what the task asks for.",
        "facts": [{"claim": "it is done", "supported": True, "evidence": "diff"}],
    }
}
FAIL: Reply = {
    "json": {
        "verdict": "FAIL",
        "scores": {"task_completion": 1, "instruction_adherence": 2, "efficiency": 3},
        "failure_mode": "incomplete",
        "reasoning": "Half of it is missing.",
        "facts": [],
    }
}


class ScriptedModel:
    """The script, the requests that were made (`{"path", "headers", "body"}`, without the key), and what was billed."""

    def __init__(self, script: Replies, requests: Path | None = None, ledger: Path | None = None) -> None:
        self.script = Script.of(script)
        self.requests: list[dict[str, Any]] = []
        self.ledger: list[dict[str, Any]] = []
        self._files = (requests, ledger)
        self._lock = threading.Lock()

    @property
    def billed(self) -> Usage:
        """Over all requests."""
        used = [one["usage"] for one in self.ledger if one["usage"] is not None]
        totals = [sum(one[name] for one in used) for name in _BILLED[:4]]
        return Usage(totals[0], totals[1], totals[2], totals[3])

    def note_request(self, request: dict[str, Any]) -> None:
        with self._lock:
            self.requests.append(request)
            _append(self._files[0], request)

    def note_billed(self, entry: dict[str, Any]) -> None:
        with self._lock:
            self.ledger.append({"request": len(self.ledger) + 1, **entry})
            _append(self._files[1], self.ledger[-1])

    def rendered(
        self, endpoint: Endpoint, data: Mapping[str, Any], reply: Reply, place: ReplyPosition
    ) -> ReplyContent:
        canary = _CANARY.search(json.dumps(data))
        text = json.dumps(reply["json"]) if "json" in reply else str(reply.get("text", ""))
        text = text.replace("{canary}", canary[1] if canary else "")
        calls = tuple(calls_of(reply, endpoint.wire, data))
        usage = _usage(reply.get("usage") or self.script.usage, data, text, calls)
        limit = parse_request(endpoint, json.dumps(data).encode())
        is_cut = limit.names_limit and limit.max_output < usage.tokens_out
        if is_cut:
            usage = replace(usage, tokens_out=limit.max_output)
            text = text[: limit.max_output * BYTES_IN_TOKEN]
        options = data.get("stream_options")
        return ReplyContent(
            model=str(reply.get("model") or endpoint.model or data.get("model") or "scripted"),
            text=text,
            calls=calls,
            usage=usage,
            place=place,
            thinking=str(reply.get("thinking", "")),
            cut=is_cut or bool(reply.get("cut")),
            reports_usage=isinstance(options, dict) and options.get("include_usage") is True,
        )


def _usage(
    usage: Mapping[str, int] | None, data: Mapping[str, Any], text: str, calls: tuple[Any, ...]
) -> Usage:
    if usage is not None:
        numbers = [usage.get(name, 0) for name in _BILLED]
        return Usage(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5])
    output = text + "".join(json.dumps(call.arguments) for call in calls)
    return Usage(max(1, len(json.dumps(data)) // 4), max(1, len(output) // 4))


def _append(path: Path | None, entry: Mapping[str, Any]) -> None:
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(entry) + "\n")


async def answer(model: ScriptedModel, request: web.BaseRequest) -> web.StreamResponse:
    from aiohttp import web  # noqa: PLC0415  # only where a model is served

    path, _, query = request.raw_path.partition("?")
    if request.method == "GET" and path == LEDGER:
        return web.json_response(model.ledger)
    endpoint = endpoint_of(request.method, path, query, request.headers) or _loose(path)
    if endpoint is None or (request.content_length is not None and request.content_length > MOST_BYTES):
        return web.json_response({"error": {"type": "not_found", "message": path}}, status=404)
    body = await request.content.read()
    if endpoint.wire == "models":
        return web.json_response(
            {"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []},
            status=model.script.models_status,
        )
    data = json.loads(body)
    if endpoint.wire == "count_tokens":
        return web.json_response({"input_tokens": len(body) // 4, "totalTokens": len(body) // 4})
    headers = {
        name.lower(): "given" if name.lower() in _SECRET else value for name, value in request.headers.items()
    }
    model.note_request({"path": request.path, "headers": headers, "body": data})
    reply, place = model.script.choose(endpoint.model or str(data.get("model", "")), endpoint.wire, data)
    exchange = _Exchange(model, request, endpoint, data, reply, place)
    return await exchange.send()


def _loose(path: str) -> Endpoint | None:
    """A base URL may have any path of its own."""
    if path.endswith("/messages"):
        return Endpoint("anthropic", "messages", path)
    if path.endswith("/chat/completions"):
        return Endpoint("openai", "chat", path)
    return Endpoint("openai", "responses", path) if path.endswith("/responses") else None


class _Exchange:
    def __init__(  # noqa: PLR0913, PLR0917  # the parts of one request
        self,
        model: ScriptedModel,
        request: web.BaseRequest,
        endpoint: Endpoint,
        data: Mapping[str, Any],
        reply: Reply,
        place: ReplyPosition,
    ) -> None:
        self.model, self.request, self.endpoint = model, request, endpoint
        self.data, self.reply, self.place = data, reply, place
        self.is_stream = endpoint.streams or data.get("stream") is True

    async def send(self) -> web.StreamResponse:
        reply = self.reply
        await asyncio.sleep(reply.get("delay_s", 0))
        fault = reply.get("fault")
        if fault is not None and self.model.script.is_faulty(fault, self.place):
            return await self._fail(fault)
        if "body" in reply or reply.get("status", 200) != 200:
            self._bill(None, reply.get("status", 200))
            return await self._write(str(reply.get("body", "")).encode())
        rendered = self.model.rendered(self.endpoint, self.data, reply, self.place)
        self._bill(rendered.usage, 200)
        if self.is_stream:
            return await self._stream(events(self.endpoint.wire, rendered))
        return await self._write(document(self.endpoint.wire, rendered))

    def _bill(self, usage: Usage | None, status: int, fault: Mapping[str, Any] | None = None) -> None:
        self.model.note_billed(
            {
                "wire": self.endpoint.wire,
                "model": self.endpoint.model or self.data.get("model"),
                "stream": self.is_stream,
                "branch": self.place.branch,
                "turn": self.place.turn,
                "side": self.place.turn < 0,
                "status": status,
                "fault": fault,
                "usage": None if usage is None else usage.to_json(),
            }
        )

    async def _fail(self, fault: Mapping[str, Any]) -> web.StreamResponse:
        from aiohttp import web  # noqa: PLC0415

        if "status" in fault:
            self._bill(None, fault["status"], fault)
            after = {"retry-after": str(fault["retry_after"])} if "retry_after" in fault else {}
            error = {"type": "error", "error": {"type": "overloaded_error", "message": "scripted"}}
            return web.json_response(error, status=fault["status"], headers=after)
        if fault.get("hang"):
            self._bill(None, 0, fault)
            await asyncio.sleep(_HANG_S)
        rendered = self.model.rendered(self.endpoint, self.data, self.reply, self.place)
        self._bill(rendered.usage, 200, fault)
        sent = (
            events(self.endpoint.wire, rendered)
            if self.is_stream
            else [document(self.endpoint.wire, rendered)]
        )
        if "malformed" in fault:
            broken = [b'data: {"type": "message_delta", "delta": {"text\n\n'] * int(fault["malformed"])
            return await self._stream([*sent[:1], *broken, *sent[1:]])
        if "chunk_bytes" in fault:
            return await self._stream(
                [sent[0], b"data: " + b"x" * int(fault["chunk_bytes"]) + b"\n\n", *sent[1:]]
            )
        if "content_length" in fault:
            whole = b"".join(sent)
            return await self._stream([whole], length=len(whole) + int(fault["content_length"]), breaks=True)
        keep = int(fault.get("drop", 0))
        return await self._stream(
            sent[:keep] if self.is_stream else [sent[0][: len(sent[0]) // 2]], breaks=True
        )

    async def _stream(
        self, parts: list[bytes], *, length: int | None = None, breaks: bool = False
    ) -> web.StreamResponse:
        from aiohttp import web  # noqa: PLC0415

        kind = "text/event-stream" if self.is_stream else "application/json"
        response = web.StreamResponse(headers={"content-type": kind, **self.reply.get("headers", {})})
        if length is not None:
            response.content_length = length
        await response.prepare(self.request)
        for part in parts:
            await response.write(part)
            if self.reply.get("chunk_delay_s"):
                await asyncio.sleep(self.reply["chunk_delay_s"])
        if breaks:
            await asyncio.sleep(0.05)  # what was written leaves first
            if self.request.transport is not None:
                self.request.transport.close()
            return response
        await response.write_eof()
        return response

    async def _write(self, content: bytes) -> web.StreamResponse:
        from aiohttp import web  # noqa: PLC0415

        reply = self.reply
        headers = {"content-type": "application/json", **reply.get("headers", {})}
        response = web.StreamResponse(status=reply.get("status", 200), headers=headers)
        if not reply.get("endless") and "content-length" not in {name.lower() for name in headers}:
            response.content_length = len(content)
        with suppress(ConnectionError):  # the client had enough
            await response.prepare(self.request)
            step = 1 if "drip_s" in reply else max(len(content), 1)
            for start in range(0, len(content), step):
                await response.write(content[start : start + step])
                await asyncio.sleep(reply.get("drip_s", 0))
            while reply.get("endless"):
                await response.write(b" " * 65536)
            if (response.content_length or 0) > len(content) and self.request.transport is not None:
                self.request.transport.close()  # it has promised more than there is
                return response
            await response.write_eof()
        return response


def environment(url: str) -> dict[str, str]:
    """What makes a judge, or the gateway, ask the model at `url` and no other."""
    return {
        "ANTHROPIC_API_KEY": "scripted",
        "ANTHROPIC_BASE_URL": url,
        "OPENAI_API_KEY": "scripted",
        "OPENAI_BASE_URL": f"{url}/v1",
        "GEMINI_API_KEY": "scripted",
        "STEELYARD_UPSTREAM_ANTHROPIC": url,
        "STEELYARD_UPSTREAM_OPENAI": f"{url}/v1",
        "STEELYARD_UPSTREAM_GEMINI": url,
    }


@contextmanager
def serving(model: ScriptedModel, port: int = 0) -> Iterator[str]:
    """The address of the model, on this machine only, while the block runs."""
    loop, found, ended = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    address: list[str] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            # The runner ends connections that were accepted in the last moment, too.
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(_serve(model, port, address, found, ended))
        except Exception as error:  # noqa: BLE001  # raised below, in the thread that waits
            failed.append(error)
        finally:
            found.set()

    thread = threading.Thread(target=run, name="steelyard-scripted", daemon=True)
    thread.start()
    found.wait()
    if failed:
        raise failed[0]
    try:
        yield address[0]
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()


async def _serve(
    model: ScriptedModel, port: int, address: list[str], found: threading.Event, ended: asyncio.Event
) -> None:
    from aiohttp import web  # noqa: PLC0415

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await answer(model, request)
        except ValueError as error:
            return web.json_response({"error": {"type": "script", "message": str(error)}}, status=400)

    runner = web.ServerRunner(
        web.Server(handle, access_log=None, handler_cancellation=True), shutdown_timeout=0.1
    )
    await runner.setup()
    listening = socket.create_server(("127.0.0.1", port))
    await web.SockSite(runner, listening).start()
    address.append(f"http://127.0.0.1:{listening.getsockname()[1]}")
    found.set()
    await ended.wait()
    await end_server(runner, listening)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m steelyard.gateway.scripted", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("script", type=Path, metavar="SCRIPT.yaml")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--requests", type=Path, help="write each request there, one in a line")
    parser.add_argument("--ledger", type=Path, help="write there what each request was billed, one in a line")
    given = parser.parse_args(arguments)
    try:
        model = ScriptedModel(read_script(given.script), given.requests, given.ledger)
    except (OSError, ValueError, KeyError, TypeError) as error:
        parser.error(f"{given.script}: {getattr(error, 'strerror', None) or error}")
    with serving(model, given.port) as url:
        for name, value in environment(url).items():
            sys.stdout.write(f"export {name}={value}\n")
        sys.stdout.flush()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return
