"""Claude Code: `claude -p --output-format stream-json --verbose`, one JSON object a line.

    {"type":"system","subtype":"init","session_id":"...","model":"...","claude_code_version":"..."}
    {"type":"assistant","message":{"id":"msg_1","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{...}}],...}}
    {"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"...","is_error":false}]}}
    {"type":"system","subtype":"permission_denied","tool_name":"Edit","tool_use_id":"toolu_2","message":"..."}
    {"type":"result","subtype":"success","is_error":false,"result":"Done.","modelUsage":{...},"permission_denials":[...]}

One assistant event has one block of a message, and the usage that was known when the message began: neither is summed.
`result.usage` leaves out subagents and the request that broke a budget; `result.modelUsage` has everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.agents.traces.items import (
    Claim,
    Denial,
    Failure,
    Item,
    Message,
    Record,
    Retry,
    SessionStart,
    Success,
    ToolCall,
    ToolResult,
    as_mapping,
    count,
    money,
    sequence,
    status,
    text,
)

_KNOWN_SYSTEM = frozenset(
    {"init", "api_retry", "permission_denied", "thinking_tokens", "task_started", "task_progress", "task_updated",
     "task_notification", "compact_boundary", "status", "hook_started", "hook_response", "hook_progress"}
)  # fmt: skip


def parse_claude_code(record: Record) -> Sequence[Item] | None:
    kind = text(record.get("type"))
    if kind == "system":
        return _system(record)
    if kind == "assistant":
        return tuple(_assistant(as_mapping(record.get("message"))))
    if kind == "user":
        return tuple(_results(as_mapping(record.get("message"))))
    if kind == "result":
        return tuple(_result(record))
    return () if kind in {"stream_event", "rate_limit_event", "keep_alive"} else None


def _system(record: Record) -> Sequence[Item] | None:
    subtype = text(record.get("subtype"))
    if subtype not in _KNOWN_SYSTEM:
        return None
    if subtype == "init":
        version = text(record.get("claude_code_version"))
        return (SessionStart(text(record.get("session_id")), version, text(record.get("model"))),)
    if subtype == "api_retry":
        return (Retry(status(record.get("error_status")), text(record.get("error"))),)
    if subtype == "permission_denied":
        tool, call = text(record.get("tool_name")), text(record.get("tool_use_id"))
        return (Denial(tool, call, text(record.get("message"))),)
    return ()


def _assistant(message: Record) -> Iterator[Item]:
    for block in map(as_mapping, sequence(message.get("content"))):
        if block.get("type") == "text" and text(block.get("text")):
            yield Message(text(block.get("text")))
        elif text(block.get("type")) in {"tool_use", "server_tool_use"}:
            yield ToolCall(text(block.get("id")), text(block.get("name")), block.get("input"))
    if message.get("stop_reason") == "refusal":
        yield Failure("refusal", "the model refused")


def _results(message: Record) -> Iterator[Item]:
    for block in map(as_mapping, sequence(message.get("content"))):
        if block.get("type") == "tool_result":
            content = block.get("content")
            output = text(content) or "\n".join(
                text(as_mapping(one).get("text")) for one in sequence(content)
            )
            yield ToolResult(text(block.get("tool_use_id")), output, block.get("is_error") is True)


def _result(record: Record) -> Iterator[Item]:
    for denied in map(as_mapping, sequence(record.get("permission_denials"))):
        yield Denial(text(denied.get("tool_name")), text(denied.get("tool_use_id")))
    yield _claim(record)
    subtype, answer = text(record.get("subtype")), text(record.get("result"))
    errors = "; ".join(filter(None, map(text, sequence(record.get("errors"))))) or answer or subtype
    if subtype == "error_max_turns":
        yield Failure("limit_turns", errors)
    elif subtype == "error_max_budget_usd":
        yield Failure("limit_cost", errors)
    elif record.get("stop_reason") == "refusal" or count(record.get("safety_stops")):
        yield Failure("refusal", f"the model refused: {answer}")
    elif record.get("is_error") is not False or subtype != "success":
        is_api = record.get("api_error_status") is not None or "API Error" in errors
        yield Failure("api" if is_api else "error", errors)
    else:
        yield Success(answer)


def _claim(record: Record) -> Claim:
    models = [as_mapping(one) for one in as_mapping(record.get("modelUsage")).values()]
    read = sum(count(one.get("cacheReadInputTokens")) for one in models)
    written = sum(count(one.get("cacheCreationInputTokens")) for one in models)
    fresh = sum(count(one.get("inputTokens")) for one in models)
    out = sum(count(one.get("outputTokens")) for one in models)
    return Claim(fresh + read + written, out, read, written, money(record.get("total_cost_usd")))
