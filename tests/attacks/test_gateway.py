"""An agent attacks the gateway: it wants the real key, another host, free tokens, or the controller's memory.

Whatever it sends, the real key does not come back, only the table of endpoints is served, and the gateway goes on.
"""

from __future__ import annotations

import gzip
import json
import socket
import threading
from contextlib import suppress
from typing import Any

import pytest

from gateway_rig import REAL_KEY, MakeRig, Rig, request_of, rig, server
from steelyard.gateway import exchange
from steelyard.gateway.caps import Caps
from steelyard.gateway.upstream.scrub import KeyScrubber

__all__ = ["rig", "server"]


def raw(made: Rig, data: bytes) -> bytes:
    """Bytes of the attacker's own making, and all that comes back."""
    with socket.create_connection(("127.0.0.1", made.address.port), 30) as made_connection:
        got = b""
        with suppress(ConnectionError):
            made_connection.sendall(data)
            while part := made_connection.recv(65536):
                got += part
        return got


@pytest.mark.parametrize(
    "path",
    [
        "/v1/messages/../../etc/passwd",
        "/v1/messages%2f..%2fadmin",
        "//evil.example/v1/messages",
        "http://evil.example/v1/messages",
        "/v1/files",
        "/v1/messages/batches",
        "/v1/responses/resp_1",
        "/v1beta/models/a:generateContent/../../x",
        "/v1beta/models/..%2f..:generateContent",
        "/v1beta/models/@evil.example:generateContent",
        "/v1beta/files",
        "/v1/organizations/api_keys",
    ],
)
def test_a_path_that_is_not_in_the_table_is_not_forwarded(path: str, rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    _, body = request_of("messages")
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: api.anthropic.com\r\nx-api-key: {made.address.key}\r\nconnection: close\r\n"
    got = raw(made, head.encode() + b"content-length: %d\r\n\r\n" % len(data) + data)
    assert got.split(b" ")[1] in {b"400", b"404"}
    assert made.model is not None
    assert made.model.requests == []


@pytest.mark.parametrize("key", ["", "scripted", REAL_KEY, "sk-steelyard-" + "0" * 48])
def test_a_key_that_is_no_placeholder_of_a_run_is_refused(key: str, rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    assert made.ask(key=key or "x").status == 401
    assert made.model is not None
    assert made.model.requests == []


def test_a_placeholder_is_worth_nothing_after_its_run(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    made.route.close()
    assert made.ask().status == 401


def test_headers_of_the_agent_do_not_reach_the_upstream(rig: MakeRig) -> None:
    """It names another organisation, another host, a proxy and a cookie."""
    made = rig([{"text": "hi"}])
    _, body = request_of("messages")
    sent = {
        "openai-organization": "org-evil",
        "x-forwarded-host": "evil",
        "cookie": "a=b",
        "authorization": "Bearer x",
    }
    assert made.send("/v1/messages", body, headers=sent).status == 200
    assert made.model is not None
    assert not made.model.requests[0]["headers"].keys() & {
        "openai-organization",
        "x-forwarded-host",
        "cookie",
    }


def test_a_smuggled_second_request_is_not_served(rig: MakeRig) -> None:
    """Two lengths of one body: what one server takes for the body, another takes for a request."""
    made = rig([{"text": "hi"}])
    inner = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {made.address.key}\r\n\r\n".encode()
    head = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {made.address.key}\r\nconnection: close\r\n".encode()
    got = raw(made, head + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n" + inner)
    assert b"200 OK" not in got
    assert made.model is not None
    assert made.model.requests == []


@pytest.mark.parametrize("status", [200, 400, 403, 500])
def test_an_upstream_that_quotes_the_key_does_not_betray_it(status: int, rig: MakeRig) -> None:
    made = rig([{"status": status, "body": json.dumps({"error": f"bad key {REAL_KEY}"})}])
    got = made.ask()
    assert REAL_KEY.encode() not in got.body
    assert REAL_KEY not in made.log.read_text()


def test_a_key_that_is_cut_in_two_by_chunks_is_found() -> None:
    for cut in range(1, len(REAL_KEY)):
        scrubber = KeyScrubber(REAL_KEY)
        data = b"".join(
            map(scrubber.feed, (b"a " + REAL_KEY[:cut].encode(), REAL_KEY[cut:].encode() + b" z"))
        )
        assert data + scrubber.end() == b"a [key] z"


def test_what_only_begins_like_the_key_is_passed_on() -> None:
    scrubber = KeyScrubber(REAL_KEY)
    assert scrubber.feed(b"sk-real-01") + scrubber.feed(b"99") + scrubber.end() == b"sk-real-0199"


def test_a_body_that_is_too_large_is_refused(rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "MOST_REQUEST_BYTES", 1000)
    made = rig([{"text": "hi"}])
    assert made.ask(system="x" * 2000).status == 413
    assert made.route.held_bytes == 0
    assert made.ask().status == 200


def test_requests_that_are_too_large_together_are_refused(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}], most_held_bytes=1000)
    assert made.ask(system="x" * 2000).status == 503
    assert made.ask().status == 200


def test_a_body_that_does_not_come_is_given_up(rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "BODY_S", 0.2)
    made = rig([{"text": "hi"}])
    head = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {made.address.key}\r\nconnection: close\r\n"
    got = raw(made, head.encode() + b"content-length: 100\r\n\r\n{")
    assert got.split(b" ")[1] == b"408"
    assert made.route.held_bytes == 0


def test_a_compressed_body_is_not_unpacked(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    bomb = gzip.compress(b"[" * (10 << 20))
    assert made.send("/v1/messages", bomb, headers={"content-encoding": "gzip"}).status == 415


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b'{"model": 5}',
        b"\xff\xfe",
        b'{"model": "\\ud800"}',
    ],
)
def test_a_body_that_is_no_request_is_refused(body: bytes, rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    assert made.send("/v1/messages", body).status == 400
    assert made.ask().status == 200


def test_a_header_without_end_is_refused(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    got = raw(
        made,
        b"POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-a: "
        + b"a" * (1 << 20)
        + b"\r\n\r\n",
    )
    assert b"200 OK" not in got
    assert made.ask().status == 200


def test_what_an_agent_sends_is_not_logged_on_the_operators_terminal(
    rig: MakeRig, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    made = rig([{"text": "hi"}])
    raw(made, b"\x1b[2J nonsense \r\n\r\n")
    raw(made, b"POST / HTTP/1.1\r\nx-a: " + b"a" * (1 << 18) + b"\r\n\r\n")
    assert made.ask().status == 200
    assert capfd.readouterr().err == ""
    assert not [one for one in caplog.records if one.name.startswith("aiohttp")]


def test_silent_connections_do_not_block_others(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    idle = [socket.create_connection(("127.0.0.1", made.address.port)) for _ in range(64)]
    try:
        assert made.ask().status == 200
    finally:
        for one in idle:
            one.close()


@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "claude-opus-4-5", "max_tokens": 1, "max_tokens": 100000, "messages": []}',
        b'{"model": "claude-opus-4-5", "max_tokens": 100000, "max\\u005ftokens": 1, "messages": []}',
    ],
)
def test_a_limit_that_is_written_twice_reaches_the_upstream_once(body: bytes, rig: MakeRig) -> None:
    """The gateway would reserve for the one, and the upstream generate for the other."""
    made = rig([{"text": "hi"}], caps=Caps(tokens=1_000_000))
    assert made.send("/v1/messages", body).status == 200
    assert made.payloads("model.request")[0]["changed"] == ["serialised"]


def test_an_answer_in_the_background_is_refused(rig: MakeRig) -> None:
    """Its tokens would be billed after the gateway looked away."""
    assert rig([{"text": "hi"}]).ask("responses", background=True).status == 400


def test_many_answers_to_one_prompt_are_reserved_for(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}], caps=Caps(tokens=10_000))
    made.ask("chat", n=1000, max_tokens=1000)
    assert made.payloads("model.request")[0]["changed"] == ["max_tokens"]


def test_an_agent_that_leaves_in_the_middle_is_billed_for_what_came(rig: MakeRig) -> None:
    script: dict[str, Any] = {
        "turns": [{"text": "word " * 200, "chunk_delay_s": 0.05}],
        "usage": {"tokens_in": 1000, "tokens_out": 250},
    }
    made = rig(script)
    path, body = request_of("messages", stream=True)
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\nx-api-key: {made.address.key}\r\ncontent-length: {len(data)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", made.address.port), 30) as connection:
        connection.sendall(head.encode() + data)
        got = b""
        while b"content_block_delta" not in got:
            got += connection.recv(4096)
    waiting = threading.Event()
    for _ in range(600):
        if made.payloads("cost"):
            break
        waiting.wait(0.1)
    (response,) = made.payloads("model.response")
    assert (response["ended"], response["usage"]["tokens_in"]) == ("client_gone", 1000)
    assert made.route.budget.tokens >= 1000
