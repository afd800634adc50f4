"""opencode: `opencode run --format json`, one JSON object a line.

    {"type":"tool_use","sessionID":"ses_1","part":{"tool":"bash","callID":"c1","state":{"status":"completed",
     "input":{...},"output":"...","metadata":{"exit":0}}}}
    {"type":"step_finish","part":{"reason":"tool-calls","tokens":{"input":1000,"output":50,"cache":{"read":0,"write":0}},"cost":0.1}}

A call and its result are one record. A command that fails is `completed` and has its code in `metadata.exit`. Permission that
is asked for is refused and ends the run with exit code 0. Tokens are without those of a cache; the title request is missing.
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
    SessionStart,
    Success,
    ToolCall,
    ToolResult,
    as_mapping,
    count,
    elapsed_ns,
    money,
    status,
    text,
)


def parse_opencode(record: Record) -> Sequence[Item] | None:
    kind, part = text(record.get("type")), as_mapping(record.get("part"))
    if kind == "step_start":
        return (SessionStart(text(record.get("sessionID"))),)
    if kind == "text":
        return (Message(text(part.get("text"))),)
    if kind == "tool_use":
        return tuple(_tool(part))
    if kind == "step_finish":
        return tuple(_step(part))
    if kind == "error":
        error = as_mapping(record.get("error"))
        why = (
            text(as_mapping(error.get("data")).get("message"))
            or text(error.get("message"))
            or text(error.get("name"))
        )
        return (
            Failure(
                "api" if "API" in text(error.get("name")) else "error", why or "the client reports an error"
            ),
        )
    return () if kind == "reasoning" else None


def _tool(part: Record) -> Iterator[Item]:
    call, tool, state = text(part.get("callID")), text(part.get("tool")), as_mapping(part.get("state"))
    yield ToolCall(call, tool, state.get("input"))
    exit_code = status(as_mapping(state.get("metadata")).get("exit"))
    failed = state.get("status") != "completed" or bool(exit_code) or tool == "invalid"
    error = text(state.get("error"))
    times = as_mapping(state.get("time"))
    wall_ns = elapsed_ns(times.get("start"), times.get("end"), 1_000_000)
    yield ToolResult(call, text(state.get("output")) or error, failed, exit_code, wall_ns)
    if "rejected permission" in error or "permission" in error.lower():
        yield Denial(tool, call, error)


def _step(part: Record) -> Iterator[Item]:
    tokens = as_mapping(part.get("tokens"))
    cache = as_mapping(tokens.get("cache"))
    read, written = count(cache.get("read")), count(cache.get("write"))
    out = count(tokens.get("output")) + count(tokens.get("reasoning"))
    yield Claim(
        count(tokens.get("input")) + read + written,
        out,
        read,
        written,
        money(part.get("cost")),
        is_total=False,
    )
    reason = text(part.get("reason"))
    if reason == "stop":
        yield Success()
    elif reason in {"content-filter", "refusal"}:
        yield Failure("refusal", "the model refused")
    elif reason in {"error", "other", "length", "unknown"}:
        yield Failure("error", f"the last step ended with {reason}")
