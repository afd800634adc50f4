"""What goes through the gateway, in each wire format: the answer to the byte, and a record that agrees with the bill."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from gateway_rig import REAL_KEY, WIRES, MakeRig, request_of
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.text_rules import TextRules
from steelyard.evidence.trace.events import read_events
from steelyard.evidence.trace.request_bodies import request_bodies

USAGE = {"tokens_in": 1200, "tokens_out": 50, "cache_read": 200}
SCRIPT = {"turns": [{"text": "A long enough answer to be sent in pieces. " * 5}], "usage": USAGE}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_an_answer_is_passed_on_and_metered_to_the_token(wire: str, stream: bool, rig: MakeRig) -> None:  # noqa: FBT001
    made = rig(SCRIPT)
    got = made.ask(wire, stream=stream)
    assert (got.status, got.body.count(b"A long enough") > 0 or stream) == (200, True)
    (response,) = made.payloads("model.response")
    assert {name: response["usage"][name] for name in USAGE} == USAGE
    assert (response["complete"], response["usage"]["estimated"]) == (True, False)
    assert made.model is not None
    assert made.model.billed.tokens == response["usage"]["tokens_in"] + response["usage"]["tokens_out"]
    (cost,) = made.payloads("cost")
    assert cost["usd"] > 0
    assert response["first_byte_ns"] > 0
    assert response["total_ns"] >= response["first_byte_ns"]


@pytest.mark.parametrize("wire", WIRES)
def test_requests_and_answers_are_kept_verbatim(wire: str, rig: MakeRig, tmp_path: Path) -> None:
    made = rig(SCRIPT)
    got = made.ask(wire, stream=wire != "chat")
    (request,), (response,) = made.payloads("model.request"), made.payloads("model.response")
    blobs = Blobs(tmp_path / "blobs")
    assert blobs.read(response["blob"]) == got.body
    assert hashlib.sha256(blobs.read(request["blob"])).hexdigest() == request["digest"]
    assert (request["wire"], request["changed"]) == (wire, [])


def test_a_long_conversation_is_stored_once_and_not_once_for_each_request(
    rig: MakeRig, tmp_path: Path
) -> None:
    made = rig([{"text": "hi"}])
    messages = [{"role": "user", "content": "the task " * 1000}]
    sent = []
    for number in range(100):
        messages.append({"role": "assistant", "content": f"step {number}"})
        messages.append({"role": "user", "content": f"result {number}"})
        _, body = request_of("messages")
        tools = [{"name": "bash", "input_schema": {}}]
        sent.append(json.dumps({**body, "messages": messages, "tools": tools}).encode())
        made.send("/v1/messages", sent[-1])
    blobs = Blobs(tmp_path / "blobs")
    assert [body for _, body in request_bodies(read_events(made.log), blobs)] == sent
    stored = sum(path.stat().st_size for path in (tmp_path / "blobs").iterdir())
    assert stored < sum(map(len, sent)) / 10


def test_without_text_only_digests_are_recorded(rig: MakeRig, tmp_path: Path) -> None:
    made = rig([{"text": "a secret of the company"}])
    made.route.recorder.model_text = "digest"
    got = made.ask()
    (response,) = made.payloads("model.response")
    assert (response["blob"], response["digest"]) == (None, hashlib.sha256(got.body).hexdigest())
    assert made.payloads("model.request")[0]["blob"] is None
    assert not (tmp_path / "blobs").exists()


def test_the_upstream_gets_the_real_key_and_the_agent_never_does(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    got = made.ask()
    assert made.model is not None
    assert made.model.requests[0]["headers"]["x-api-key"] == "given"
    assert REAL_KEY.encode() not in got.body
    assert REAL_KEY not in made.log.read_text()


def test_a_streamed_chat_completion_is_metered_even_if_the_client_asks_for_no_usage(rig: MakeRig) -> None:
    """The event with the usage is asked for by the gateway, and does not reach the client."""
    made = rig(SCRIPT)
    got = made.ask("chat", stream=True)
    assert b'"choices": []' not in got.body
    assert got.body.endswith(b"data: [DONE]\n\n")
    assert made.payloads("model.request")[0]["changed"] == ["stream_options"]
    asked = made.ask("chat", stream=True, stream_options={"include_usage": True})
    assert b'"choices": []' in asked.body
    assert [one["usage"]["tokens_in"] for one in made.payloads("model.response")] == [1200, 1200]


def test_counting_tokens_costs_nothing_and_is_no_model_call(rig: MakeRig) -> None:
    made = rig(SCRIPT)
    _, body = request_of("messages")
    assert made.send("/v1/messages/count_tokens", body).json["input_tokens"] > 0
    assert made.send("/v1/models", None, method="GET").status == 200
    assert [one["metered"] for one in made.payloads("model.request")] == [False, False]
    assert made.payloads("cost") == []


def test_conversations_are_told_apart_by_their_first_message(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    first: list[dict[str, Any]] = [{"role": "user", "content": "fix it"}]
    made.ask(messages=first)
    made.ask(messages=[{"role": "user", "content": "a title, please"}])
    made.ask(messages=[*first, {"role": "assistant", "content": "hi"}, {"role": "user", "content": "go on"}])
    seen = [(one["conversation"], one["index"]) for one in made.payloads("model.request")]
    assert seen == [(1, 1), (2, 1), (1, 3)]


def test_a_model_without_a_price_costs_units_and_unknown_dollars(rig: MakeRig) -> None:
    made = rig([{"text": "x" * 500}])
    made.ask(model="local-model")
    (cost,) = made.payloads("cost")
    assert (cost["usd"], cost["units"], cost["id"]) == (None, 1.5, "fallback/1")


def test_a_tool_that_runs_at_the_provider_is_taken_out(rig: MakeRig) -> None:
    """An agent without a network would search the web through its model."""
    made = rig([{"text": "hi"}])
    search, own = {"type": "web_search_20250305", "name": "web_search"}, {"name": "Bash", "input_schema": {}}
    made.ask(tools=[search, own], mcp_servers=[{"type": "url", "url": "https://mcp.example"}])
    assert made.model is not None
    sent = made.model.requests[0]["body"]
    assert (sent["tools"], "mcp_servers" in sent) == ([own], False)
    assert made.payloads("model.request")[0]["changed"] == [
        "removed mcp_servers",
        "removed web_search_20250305",
    ]


def test_gemini_tools_that_run_at_the_provider_are_taken_out(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    own = {"functionDeclarations": [{"name": "f"}]}
    made.ask("generate", tools=[{"google_search": {}}, {"urlContext": {}, **own}])
    assert made.model is not None
    assert made.model.requests[0]["body"]["tools"] == [own]


class BrokenUpstreams(dict[str, Any]):
    def __contains__(self, name: object) -> bool:
        raise RuntimeError("a defect in the table of endpoints")


class BrokenPrices:
    def cost(self, *_: object) -> Any:
        raise RuntimeError("a defect in the price list")


@pytest.mark.parametrize("broken", [{"upstreams": BrokenUpstreams()}, {"prices": BrokenPrices()}])
def test_a_defect_of_the_gateway_before_a_request_is_forwarded_is_recorded_once(
    broken: dict[str, Any], rig: MakeRig
) -> None:
    made = rig([{"text": "hi"}])
    for name, value in broken.items():
        setattr(made.route, name, value)
    got = made.ask()
    assert (got.status, b"RuntimeError" in got.body, b"price list" in got.body) == (500, True, False)
    assert [(one["kind"], one["request"]) for one in made.payloads("model.error")] == [("defect", None)]
    assert made.failures == []  # an agent that finds a defect must not be able to void its run


def test_a_defect_of_the_gateway_after_a_request_is_on_record_names_the_request(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    made.route.clock = None
    made.route.retry = None
    assert made.ask().status == 500
    assert [(one["kind"], one["request"]) for one in made.payloads("model.error")] == [("defect", 1)]
    assert made.route.budget._held == set()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", WIRES)
def test_under_a_privacy_policy_the_text_is_kept_with_placeholders_and_the_digest_of_what_it_was(
    wire: str,
    stream: bool,  # noqa: FBT001
    rig: MakeRig,
    tmp_path: Path,
) -> None:
    """Also where the events of a stream cut the text that matches in two."""
    made = rig(
        {"turns": [{"text": "Write to ann@work.org about the totals, and to bob@work.org."}], "usage": USAGE}
    )
    made.route.recorder.model_text = "redacted"
    made.route.recorder.rules = TextRules({"mail": r"[a-z]+@[a-z]+\.[a-z]+"})
    path, body = request_of(wire, stream=stream, prompt="I am eve@home.net")
    body.update({"stream_options": {"include_usage": True}} if wire == "chat" and stream else {})
    got = made.send(path, body)
    (request,), (response,) = made.payloads("model.request"), made.payloads("model.response")
    assert response["digest"] == hashlib.sha256(got.body).hexdigest()
    blobs = Blobs(tmp_path / "blobs")
    (part,) = json.loads(blobs.read(response["blob"]))["parts"]
    assert part[1] == "Write to [redacted:mail] about the totals, and to [redacted:mail]."
    assert response["redacted"]["spans"] == [["parts[0][1]", 9, 12, "mail"], ["parts[0][1]", 47, 12, "mail"]]
    assert b"I am [redacted:mail]" in blobs.read(request["blob"])
    assert (request["redacted"]["count"], request["digest"]) == (
        1,
        hashlib.sha256(json.dumps(body).encode()).hexdigest(),
    )
    kept = b"".join(path.read_bytes() for path in (tmp_path / "blobs").rglob("*") if path.is_file())
    assert b"@" not in kept
