"""Agent Client Protocol: JSON-RPC messages of an agent, one JSON object a line.

    {"id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"...","version":"..."}}}
    {"id":2,"result":{"sessionId":"..."}}
    {"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"..."}}}}
    {"method":"session/update","params":{"update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed",...}}}
    {"id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":7000,"cachedReadTokens":3900,"outputTokens":200,...}}}

Usage differs: of the prompt (Claude, Codex), of the last step only (opencode), in `_meta.quota` (Gemini), or missing. Some
agents send no `tool_call` before its update, so a call begins with the first record that has its input or its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from steelyard.agents.traces.items import (
    Claim,
    Failure,
    Item,
    Kind,
    Message,
    Record,
    SessionStart,
    Success,
    ToolCall,
    ToolResult,
    as_mapping,
    count,
    money,
    sequence,
    text,
)

_QUIET = frozenset(
    {"agent_thought_chunk", "user_message_chunk", "plan", "available_commands_update", "current_mode_update",
     "config_option_update", "session_info_update"}
)  # fmt: skip
_KINDS = {"edit": "write", "delete": "write", "move": "write", "fetch": "network"}
_ENDED = {"completed", "failed", "cancelled"}


def parse_acp(record: Record) -> Sequence[Item] | None:
    method = text(record.get("method"))
    if method == "session/update":
        return _update(as_mapping(as_mapping(record.get("params")).get("update")))
    if method == "session/request_permission":
        return (call_of(as_mapping(as_mapping(record.get("params")).get("toolCall"))),)
    if "error" in record:
        error = as_mapping(record.get("error"))
        details = as_mapping(error.get("data")).get("details")
        return (
            Failure(
                "error",
                f"{text(error.get('message'))} {text(details)}".strip() or "the agent reports an error",
            ),
        )
    if "result" in record:
        return tuple(_result(as_mapping(record.get("result"))))
    return () if method.startswith(("fs/", "terminal/", "_")) else None


def call_of(call: Record) -> ToolCall:
    """A tool call of a permission request or of an update."""
    meta = as_mapping(call.get("_meta"))
    named = [text(as_mapping(one).get("toolName")) for one in meta.values()]
    tool = next(filter(None, named), "") or text(call.get("title")) or text(call.get("kind"))
    name = text(call.get("kind"))
    kind = _KINDS.get(name, name)
    known: Kind = kind if kind in get_args(Kind) else "other"  # type: ignore[assignment]
    return ToolCall(
        text(call.get("toolCallId")), tool, call.get("rawInput") or text(call.get("title")), known
    )


def _update(update: Record) -> Sequence[Item] | None:
    kind = text(update.get("sessionUpdate"))
    if kind == "agent_message_chunk":
        return (Message(text(as_mapping(update.get("content")).get("text")), is_delta=True),)
    if kind in {"tool_call", "tool_call_update"}:
        return tuple(_call(update))
    if kind == "usage_update":
        cost = as_mapping(update.get("cost"))
        usd = money(cost.get("amount")) if text(cost.get("currency")) == "USD" else None
        return () if usd is None else (Claim(usd=usd),)
    return () if kind in _QUIET else None


def _call(update: Record) -> Iterator[Item]:
    status = text(update.get("status"))
    if update.get("rawInput") or status in _ENDED:
        yield call_of(update)
    if status in _ENDED:
        parts = [
            text(as_mapping(as_mapping(one).get("content")).get("text"))
            for one in sequence(update.get("content"))
        ]
        output = text(update.get("rawOutput")) or "\n".join(filter(None, parts))
        yield ToolResult(text(update.get("toolCallId")), output, status != "completed")


def _result(result: Record) -> Iterator[Item]:
    if "sessionId" in result:
        yield SessionStart(text(result.get("sessionId")))
    if "agentInfo" in result:
        yield SessionStart("", text(as_mapping(result.get("agentInfo")).get("version")))
    stopped = text(result.get("stopReason"))
    if not stopped:
        return
    yield from _claims(result)
    if stopped == "end_turn":
        yield Success()
    elif stopped == "refusal":
        yield Failure("refusal", "the model refused")
    elif stopped == "max_turn_requests":
        yield Failure("limit_turns", "the agent reached its own limit of turns")
    else:
        yield Failure("error", f"the agent stopped: {stopped}")


def _claims(result: Record) -> Iterator[Item]:
    usage = as_mapping(result.get("usage"))
    quota = as_mapping(as_mapping(as_mapping(result.get("_meta")).get("quota")).get("token_count"))
    if usage:
        read, written = count(usage.get("cachedReadTokens")), count(usage.get("cachedWriteTokens"))
        total = count(usage.get("inputTokens")) + read + written
        yield Claim(total, count(usage.get("outputTokens")), read, written, is_total=False)
    elif quota:
        yield Claim(count(quota.get("input_tokens")), count(quota.get("output_tokens")), is_total=False)
