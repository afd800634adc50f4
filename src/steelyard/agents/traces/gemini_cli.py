"""Gemini CLI: `gemini -o stream-json`, one JSON object a line.

    {"type":"init","session_id":"...","model":"gemini-2.5-pro"}
    {"type":"message","role":"assistant","content":"...","delta":true}
    {"type":"tool_use","tool_name":"run_shell_command","tool_id":"...","parameters":{...}}
    {"type":"tool_result","tool_id":"...","status":"success","output":"..."}
    {"type":"result","status":"success","stats":{"input_tokens":10900,"output_tokens":200,"cached":3900,"models":{...}}}

A shell command that fails has the status `success` and no exit code. `input_tokens` includes cached tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.agents.traces.items import (
    Claim,
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
    text,
)


def parse_gemini_cli(record: Record) -> Sequence[Item] | None:
    kind = text(record.get("type"))
    if kind == "init":
        return (SessionStart(text(record.get("session_id")), model=text(record.get("model"))),)
    if kind == "message":
        is_assistant = record.get("role") == "assistant"
        return (
            (Message(text(record.get("content")), is_delta=record.get("delta") is True),)
            if is_assistant
            else ()
        )
    if kind == "tool_use":
        return (
            ToolCall(text(record.get("tool_id")), text(record.get("tool_name")), record.get("parameters")),
        )
    if kind == "tool_result":
        failed = record.get("status") != "success"
        output = text(record.get("output")) or text(as_mapping(record.get("error")).get("message"))
        return (ToolResult(text(record.get("tool_id")), output, failed),)
    if kind == "error":
        return (Retry(None, text(record.get("message"))),)
    return _result(record) if kind == "result" else None


def _result(record: Record) -> Sequence[Item]:
    stats = as_mapping(record.get("stats"))
    claim = Claim(
        tokens_in=count(stats.get("input_tokens")),
        tokens_out=count(stats.get("output_tokens")),
        cache_read=count(stats.get("cached")),
        is_total=False,
    )
    if record.get("status") == "success":
        return (claim, Success())
    error = as_mapping(record.get("error"))
    why = text(error.get("message")) or "the client reports an error"
    if "MaxSessionTurns" in text(error.get("type")) or "max session turns" in why.lower():
        return (claim, Failure("limit_turns", why))
    return (claim, Failure("api" if "API" in why or "fetch" in why.lower() else "error", why))
