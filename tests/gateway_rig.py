"""A gateway between a test and a scripted model, with the events of a run."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.trace.events import EventLog, read_events
from steelyard.gateway.address import GatewayAddress, draw_key
from steelyard.gateway.caps import Caps, ModelBudget
from steelyard.gateway.records import Recorder
from steelyard.gateway.route import Route
from steelyard.gateway.scripted import ScriptedModel, serving
from steelyard.gateway.server import GatewayServer
from steelyard.gateway.upstream.upstreams import Upstream
from steelyard.gateway.upstream.waiting import UpstreamRetryPolicy
from steelyard.providers.provider import PROVIDERS

REAL_KEY = "sk-real-0123456789abcdefghijklmnop"
PATIENT_S = 60.0
WIRES = ("messages", "chat", "responses", "generate")

AGENT_KEY = "sk-ant-real-0123456789abcdefghijklmnopqrstuv"
AGENT_USAGE = {"tokens_in": 1000, "tokens_out": 50, "cache_read": 200}
# The loop of a coding agent: ask, run what the model calls, tell it the result, until it calls nothing.
AGENT = """#!/usr/bin/python3
import json, os, subprocess, sys, urllib.error, urllib.request
print(json.dumps(dict(os.environ)))
tool = {"name": "bash", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}}}
messages = [{"role": "user", "content": "Make add() add."}]
for _ in range(9):
    body = {"model": "claude-opus-4-5", "max_tokens": 1000, "tools": [tool], "messages": messages}
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    try:
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        answer = json.load(urllib.request.urlopen(request, timeout=60))
    except urllib.error.HTTPError as error:
        print(error.read().decode())
        sys.exit(3)
    messages.append({"role": "assistant", "content": answer["content"]})
    calls = [one for one in answer["content"] if one["type"] == "tool_use"]
    if not calls:
        break
    results = []
    for one in calls:
        done = subprocess.run(["sh", "-c", one["input"]["command"]], capture_output=True, text=True)
        results.append({"type": "tool_result", "tool_use_id": one["id"], "content": done.stdout})
    messages.append({"role": "user", "content": results})
"""
FIXING: dict[str, Any] = {
    "turns": [
        {"text": "I look first.", "do": {"shell": "ls; date"}, "fault": {"status": 429, "retry_after": 1}},
        {"do": {"edit": {"path": "add.sh", "old": "$1 - $2", "new": "$1 + $2"}}},
        {"text": "Done."},
    ],
    "usage": AGENT_USAGE,
}


class Got(NamedTuple):
    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Rig:
    """One route of a gateway, as an agent and as the run see it."""

    route: Route
    address: GatewayAddress
    model: ScriptedModel | None
    log: Path
    failures: list[str] = field(default_factory=list)

    def ask(
        self, wire: str = "messages", *, stream: bool = False, key: str | None = None, **keys: Any
    ) -> Got:
        """One request in a wire format, and its whole answer."""
        path, body = request_of(wire, stream=stream)
        body.update(keys)
        return self.send(path, body, key=key)

    def send(
        self,
        path: str,
        body: Any,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        method: str = "POST",
    ) -> Got:
        url = f"http://127.0.0.1:{self.address.port}{path}"
        data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        sent = {"x-api-key": key or self.address.key, "content-type": "application/json", **(headers or {})}
        request = urllib.request.Request(url, data, sent, method=method)  # loopback
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                request, timeout=PATIENT_S
            ) as got:
                return Got(got.status, got.read(), dict(got.headers))
        except urllib.error.HTTPError as error:
            return Got(error.code, error.read(), dict(error.headers))

    def payloads(self, *types: str) -> list[dict[str, Any]]:
        return [dict(event.payload) for event in read_events(self.log) if event.type in types]


def request_of(wire: str, *, stream: bool = False, prompt: str = "hello") -> tuple[str, dict[str, Any]]:
    message = {"role": "user", "content": prompt}
    streamed = {"stream": True} if stream else {}
    if wire == "messages":
        return "/v1/messages", {
            "model": "claude-opus-4-5",
            "max_tokens": 100,
            "messages": [message],
            **streamed,
        }
    if wire == "chat":
        return "/v1/chat/completions", {
            "model": "gpt-5",
            "max_tokens": 100,
            "messages": [message],
            **streamed,
        }
    if wire == "responses":
        return "/v1/responses", {"model": "gpt-5", "input": [message], "max_output_tokens": 100, **streamed}
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    contents = [{"role": "user", "parts": [{"text": prompt}]}]
    return f"/v1beta/models/gemini-2.5-pro:{verb}", {
        "contents": contents,
        "generationConfig": {"maxOutputTokens": 100},
    }


MakeRig = Callable[..., Rig]


@pytest.fixture
def server() -> Iterator[GatewayServer]:
    made = GatewayServer()
    made.start()
    yield made
    made.stop()


@pytest.fixture
def rig(tmp_path: Path, server: GatewayServer) -> Iterator[MakeRig]:
    """`rig([{"text": "hi"}], caps=..., retry=...)`: a route whose upstream is a model with that script."""
    with ExitStack() as stack:

        def make(script: Any = None, url: str = "", key: str = REAL_KEY, **options: Any) -> Rig:
            model = None if script is None else ScriptedModel(script)
            url = url or (stack.enter_context(serving(model)) if model is not None else "")
            log = tmp_path / f"events-{threading.get_ident()}-{draw_key()[-6:]}.jsonl"
            events = stack.enter_context(EventLog(log))
            address = GatewayAddress("127.0.0.1", server.port, draw_key())
            upstreams = {name: Upstream(one, url + one.base_path, key) for name, one in PROVIDERS.items()}
            caps = options.pop("caps", Caps())
            options.setdefault("retry", UpstreamRetryPolicy(backoff_s=0.001))
            made = Rig(
                Route(
                    address.key,
                    server,
                    upstreams,
                    Recorder(events, Blobs(tmp_path / "blobs")),
                    ModelBudget(caps),
                    **options,
                ),
                address,
                model,
                log,
            )
            made.route.on_failure = lambda: made.failures.append(made.route.failure)
            made.route.open()
            stack.callback(made.route.close)
            return made

        yield make
