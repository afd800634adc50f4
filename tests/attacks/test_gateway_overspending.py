"""An agent writes requests that a provider reads otherwise than the gateway: more tokens than are reserved, or a way to the network."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import pytest

from gateway_rig import MakeRig, Rig, request_of, rig, server
from steelyard.gateway.caps import Caps

__all__ = ["rig", "server"]

CAP = 10_000


def sent(made: Rig) -> dict[str, Any]:
    """What reached the provider."""
    assert made.model is not None
    body: dict[str, Any] = made.model.requests[-1]["body"]
    return body


def test_many_choices_share_the_limit_that_a_cap_leaves(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}], caps=Caps(tokens=CAP))
    made.ask("chat", n=100, max_tokens=1000)
    assert sent(made)["max_tokens"] * 100 <= CAP


def test_many_choices_without_a_limit_are_reserved_for(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}], caps=Caps(tokens=100_000))
    path, body = request_of("chat")
    del body["max_tokens"]
    made.send(path, {**body, "n": 100})
    assert sent(made)["max_completion_tokens"] * 100 <= 100_000


@pytest.mark.parametrize(
    ("wire", "keys", "limit"),
    [
        ("chat", {"max_tokens": 1, "max_completion_tokens": 500_000}, "max_completion_tokens"),
        ("chat", {"max_tokens": 500_000, "max_completion_tokens": 1}, "max_tokens"),
        ("chat", {"max_tokens": 500_000.0}, "max_tokens"),
        ("chat", {"max_tokens": "500000"}, "max_tokens"),
        ("responses", {"max_tokens": 1, "max_output_tokens": 500_000}, "max_output_tokens"),
        ("messages", {"max_output_tokens": 1, "max_tokens": 500_000}, "max_tokens"),
    ],
)
def test_a_small_limit_beside_a_large_one_is_no_limit(
    wire: str, keys: dict[str, Any], limit: str, rig: MakeRig
) -> None:
    made = rig([{"text": "hi"}], caps=Caps(tokens=CAP))
    made.ask(wire, **keys)
    assert sent(made)[limit] <= CAP


def test_a_limit_in_geminis_other_spelling_is_lowered(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}], caps=Caps(tokens=CAP))
    path, body = request_of("generate")
    del body["generationConfig"]
    made.send(path, {**body, "generation_config": {"max_output_tokens": 500_000, "candidate_count": 8}})
    body = sent(made)
    assert "generation_config" not in body
    assert body["generationConfig"]["maxOutputTokens"] * 8 <= CAP


def test_an_agent_that_leaves_before_the_first_byte_is_charged(rig: MakeRig) -> None:
    """It asks for a long answer and hangs up, again and again: the provider bills each of them."""
    made = rig({"turns": [{"text": "late", "delay_s": 60}]}, caps=Caps(tokens=CAP))
    path, body = request_of("messages")
    data = json.dumps({**body, "max_tokens": 3000}).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\nx-api-key: {made.address.key}\r\ncontent-length: {len(data)}\r\n\r\n"
    waiting = threading.Event()
    for left in range(1, 3):
        with socket.create_connection(("127.0.0.1", made.address.port), 30) as connection:
            connection.sendall(head.encode() + data)
            while made.model is None or len(made.model.requests) < left:
                waiting.wait(0.02)
        while len(made.payloads("model.error")) < left:
            waiting.wait(0.02)
    assert made.route.budget.tokens >= 6000
    assert len(made.payloads("cost")) == 2


@pytest.mark.parametrize(
    ("wire", "keys"),
    [
        ("messages", {"type": "image", "source": {"type": "url", "url": "https://x.example/a.png"}}),
        (
            "messages",
            {
                "type": "tool_result",
                "tool_use_id": "a",
                "content": [
                    {"type": "document", "source": {"type": "url", "url": "https://x.example/a.pdf"}}
                ],
            },
        ),
        ("chat", {"type": "image_url", "image_url": {"url": "https://x.example/?secret"}}),
        ("responses", {"type": "input_file", "file_url": "https://x.example/a.pdf"}),
        ("responses", {"type": "input_image", "image_url": "http://x.example/a.png"}),
        ("generate", {"file_data": {"file_uri": "https://youtu.be/a"}}),
    ],
)
def test_content_that_a_provider_would_fetch_is_refused(
    wire: str, keys: dict[str, Any], rig: MakeRig
) -> None:
    """An agent without a network would read the page, and send something out in its address."""
    made = rig([{"text": "hi"}])
    name = {"responses": "input", "generate": "contents"}.get(wire, "messages")
    inside = "parts" if wire == "generate" else "content"
    assert made.ask(wire, **{name: [{"role": "user", inside: [keys]}]}).status == 400
    assert made.model is not None
    assert made.model.requests == []


def test_pictures_in_the_request_and_arguments_of_tools_are_forwarded(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    own = {"type": "tool_use", "id": "a", "name": "f", "input": {"source": {"type": "url"}, "file_url": "x"}}
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}}
    assert made.ask(messages=[{"role": "user", "content": [picture, own]}]).status == 200
    inline = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aaaa"}}
    assert made.ask("chat", messages=[{"role": "user", "content": [inline]}]).status == 200


@pytest.mark.parametrize("value", [b"[]", b"{}", b"0"])
def test_a_request_of_millions_of_values_is_not_parsed(value: bytes, rig: MakeRig) -> None:
    """A body of 32 MiB would take 800 MiB of the controller."""
    made = rig([{"text": "hi"}])
    body = b'{"model": "m", "max_tokens": 1, "messages": [' + b",".join([value] * 2_000_000) + b"]}"
    assert made.send("/v1/messages", body).status == 413
    assert made.route.held_bytes == 0
    assert made.ask().status == 200


def test_a_single_hosted_tool_without_a_list_is_taken_out(rig: MakeRig) -> None:
    """Gemini takes one tool for a list of one."""
    made = rig([{"text": "hi"}])
    made.ask("generate", tools={"google_search": {}})
    assert "tools" not in sent(made)


def test_a_shell_at_the_provider_is_taken_out_and_a_local_one_stays(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    local = {"type": "shell", "environment": {"type": "local"}}
    made.ask("responses", tools=[{"type": "shell", "environment": {"type": "container_auto"}}, local])
    assert sent(made)["tools"] == [local]
