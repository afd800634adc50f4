"""A reply -> the bytes of a wire format: one JSON document, or the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from steelyard.deferred.data_class import dataclass
from steelyard.providers.scripted.actions import Call, arguments_json
from steelyard.providers.scripted.script import ReplyPosition
from steelyard.providers.usage import Usage

_PIECE = 24  # characters in one event of a text
_CREATED = 1_770_000_000


@dataclass(frozen=True)
class ReplyContent:
    """What one reply says, before it has a format."""

    model: str
    text: str
    calls: tuple[Call, ...]
    usage: Usage
    place: ReplyPosition
    thinking: str = ""
    cut: bool = False  # by the limit of tokens
    reports_usage: bool = True  # in a streamed chat completion: only on request

    def id(self, number: int) -> str:
        return f"call_sy_b{self.place.branch}_t{max(self.place.turn, 0):02d}_{number}"

    @property
    def answer_id(self) -> str:
        return f"sy{self.place.branch}{max(self.place.turn, 0):04d}"


def document(wire: str, reply: ReplyContent) -> bytes:
    return json.dumps(_DOCUMENTS[wire](reply)).encode()


def events(wire: str, reply: ReplyContent) -> list[bytes]:
    """Each a whole event of a stream."""
    return _STREAMS[wire](reply)


def _pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]


# -- anthropic messages


def _anthropic_usage(usage: Usage) -> dict[str, int]:
    return {
        "input_tokens": usage.tokens_in - usage.cache_read - usage.cache_write,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": usage.tokens_out,
    }


def _anthropic_blocks(reply: ReplyContent) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.thinking:
        blocks.append({"type": "thinking", "thinking": reply.thinking, "signature": "scripted"})
    if reply.text or not reply.calls:
        blocks.append({"type": "text", "text": reply.text})
    for number, call in enumerate(reply.calls):
        id_ = reply.id(number).replace("call_", "toolu_")
        blocks.append({"type": "tool_use", "id": id_, "name": call.name, "input": call.arguments})
    return blocks


def _anthropic_message(reply: ReplyContent) -> dict[str, Any]:
    stop = "max_tokens" if reply.cut else "tool_use" if reply.calls else "end_turn"
    return {
        "id": f"msg_{reply.answer_id}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": _anthropic_blocks(reply),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": _anthropic_usage(reply.usage),
    }


def _anthropic_stream(reply: ReplyContent) -> list[bytes]:
    message = _anthropic_message(reply)
    blocks, stop = message["content"], message["stop_reason"]
    usage = message["usage"]
    begin = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    made: list[dict[str, Any]] = [{"type": "message_start", "message": begin}]
    for index, block in enumerate(blocks):
        opening, deltas = _anthropic_block(block)
        made.append({"type": "content_block_start", "index": index, "content_block": opening})
        made += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        made.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": stop, "stop_sequence": None}
    made.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["output_tokens"]}})
    made.append({"type": "message_stop"})
    return [_sse(one, name=one["type"]) for one in made]


def _anthropic_block(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "tool_use":
        pieces = _pieces(json.dumps(block["input"]))
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": one} for one in pieces]
    if block["type"] == "thinking":
        deltas: list[dict[str, Any]] = [
            {"type": "thinking_delta", "thinking": one} for one in _pieces(block["thinking"])
        ]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {"type": "thinking", "thinking": "", "signature": ""}, deltas
    return {"type": "text", "text": ""}, [
        {"type": "text_delta", "text": one} for one in _pieces(block["text"])
    ]


# -- openai chat completions


def _chat_usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.tokens_in,
        "completion_tokens": usage.tokens_out,
        "total_tokens": usage.tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _chat_calls(reply: ReplyContent) -> list[dict[str, Any]]:
    return [
        {
            "id": reply.id(number),
            "type": "function",
            "function": {"name": call.name, "arguments": arguments_json(call)},
        }
        for number, call in enumerate(reply.calls)
    ]


def _chat_stop(reply: ReplyContent) -> str:
    return "length" if reply.cut else "tool_calls" if reply.calls else "stop"


def _chat_document(reply: ReplyContent) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or (None if reply.calls else "")}
    if reply.calls:
        message["tool_calls"] = _chat_calls(reply)
    choice = {"index": 0, "message": message, "finish_reason": _chat_stop(reply)}
    head = {"id": f"chatcmpl-{reply.answer_id}", "object": "chat.completion", "created": _CREATED}
    return {**head, "model": reply.model, "choices": [choice], "usage": _chat_usage(reply.usage)}


def _chat_stream(reply: ReplyContent) -> list[bytes]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": one} for one in _pieces(reply.text)]
    for number, call in enumerate(_chat_calls(reply)):
        function = call["function"]
        opening = {**call, "index": number, "function": {"name": function["name"], "arguments": ""}}
        deltas.append({"tool_calls": [opening]})
        for piece in _pieces(function["arguments"]):
            deltas.append({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
    head = {"id": f"chatcmpl-{reply.answer_id}", "object": "chat.completion.chunk", "created": _CREATED}
    head["model"] = reply.model
    made = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    made.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _chat_stop(reply)}]})
    if reply.reports_usage:
        made.append({**head, "choices": [], "usage": _chat_usage(reply.usage)})
    return [*(_sse(one) for one in made), b"data: [DONE]\n\n"]


# -- openai responses


def _response_items(reply: ReplyContent) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.text or not reply.calls:
        part = {"type": "output_text", "text": reply.text, "annotations": []}
        head = {"id": f"msg_{reply.answer_id}", "type": "message", "status": "completed", "role": "assistant"}
        items.append({**head, "content": [part]})
    for number, call in enumerate(reply.calls):
        items.append(
            {
                "id": f"fc_{reply.answer_id}_{number}",
                "type": "function_call",
                "status": "completed",
                "call_id": reply.id(number),
                "name": call.name,
                "arguments": arguments_json(call),
            }
        )
    return items


def _response_document(reply: ReplyContent) -> dict[str, Any]:
    usage = reply.usage
    head = {"id": f"resp_{reply.answer_id}", "object": "response", "created_at": _CREATED}
    return {
        **head,
        "status": "incomplete" if reply.cut else "completed",
        "model": reply.model,
        "output": _response_items(reply),
        "usage": {
            "input_tokens": usage.tokens_in,
            "input_tokens_details": {"cached_tokens": usage.cache_read},
            "output_tokens": usage.tokens_out,
            "output_tokens_details": {"reasoning_tokens": usage.reasoning},
            "total_tokens": usage.tokens,
        },
    }


def _response_stream(reply: ReplyContent) -> list[bytes]:
    whole = _response_document(reply)
    begin = {**whole, "status": "in_progress", "output": [], "usage": None}
    made: list[dict[str, Any]] = [
        {"type": "response.created", "response": begin},
        {"type": "response.in_progress", "response": begin},
    ]
    for index, item in enumerate(whole["output"]):
        made += _response_item_events(index, item)
    kind = "response.incomplete" if reply.cut else "response.completed"
    made.append({"type": kind, "response": whole})
    return [_sse({**one, "sequence_number": number}, name=one["type"]) for number, one in enumerate(made)]


def _response_item_events(index: int, item: Mapping[str, Any]) -> list[dict[str, Any]]:
    where = {"output_index": index, "item_id": item["id"]}
    added = {"type": "response.output_item.added", "output_index": index}
    done = {"type": "response.output_item.done", "output_index": index, "item": item}
    if item["type"] == "function_call":
        name = "response.function_call_arguments"
        begin = {**added, "item": {**item, "status": "in_progress", "arguments": ""}}
        deltas = [{"type": f"{name}.delta", **where, "delta": one} for one in _pieces(item["arguments"])]
        return [begin, *deltas, {"type": f"{name}.done", **where, "arguments": item["arguments"]}, done]
    (part,) = item["content"]
    where["content_index"] = 0
    begin = {**added, "item": {**item, "status": "in_progress", "content": []}}
    opened = {"type": "response.content_part.added", **where, "part": {**part, "text": ""}}
    deltas = [{"type": "response.output_text.delta", **where, "delta": one} for one in _pieces(part["text"])]
    ended = {"type": "response.output_text.done", **where, "text": part["text"]}
    closed = {"type": "response.content_part.done", **where, "part": part}
    return [begin, opened, *deltas, ended, closed, done]


# -- gemini


def _gemini_usage(usage: Usage) -> dict[str, int]:
    return {
        "promptTokenCount": usage.tokens_in,
        "candidatesTokenCount": usage.tokens_out - usage.reasoning,
        "thoughtsTokenCount": usage.reasoning,
        "cachedContentTokenCount": usage.cache_read,
        "totalTokenCount": usage.tokens,
    }


def _gemini_part(reply: ReplyContent, parts: list[dict[str, Any]], *, is_last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    if is_last:
        candidate["finishReason"] = "MAX_TOKENS" if reply.cut else "STOP"
    made = {"candidates": [candidate], "modelVersion": reply.model, "responseId": reply.answer_id}
    return {**made, "usageMetadata": _gemini_usage(reply.usage)} if is_last else made


def _gemini_calls(reply: ReplyContent) -> list[dict[str, Any]]:
    return [
        {"functionCall": {"id": reply.id(number), "name": call.name, "args": call.arguments}}
        for number, call in enumerate(reply.calls)
    ]


def _gemini_document(reply: ReplyContent) -> dict[str, Any]:
    texts = [{"text": reply.text}] if reply.text or not reply.calls else []
    return _gemini_part(reply, [*texts, *_gemini_calls(reply)], is_last=True)


def _gemini_stream(reply: ReplyContent) -> list[bytes]:
    parts = [{"text": one} for one in _pieces(reply.text)] + _gemini_calls(reply) or [{"text": ""}]
    last = len(parts) - 1
    return [_sse(_gemini_part(reply, [part], is_last=number == last)) for number, part in enumerate(parts)]


def _sse(event: Mapping[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(event)}\n\n".encode()


_DOCUMENTS = {
    "messages": _anthropic_message,
    "chat": _chat_document,
    "responses": _response_document,
    "generate": _gemini_document,
}
_STREAMS = {
    "messages": _anthropic_stream,
    "chat": _chat_stream,
    "responses": _response_stream,
    "generate": _gemini_stream,
}
