"""Codex: `codex exec --json`, one JSON object a line, and the rollout file of its session.

    {"type":"thread.started","thread_id":"..."}
    {"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"...","exit_code":null,...}}
    {"type":"item.completed","item":{"id":"item_2","type":"command_execution","aggregated_output":"...","exit_code":0,...}}
    {"type":"turn.completed","usage":{"input_tokens":10900,"cached_input_tokens":3900,"output_tokens":200}}

Calls that Codex rejected, or did not understand, are not in this stream at all. They are in the rollout
(`sessions/**/rollout-*.jsonl`): a `function_call` or `custom_tool_call` and its `*_output`, tied by `call_id`.
`input_tokens` includes cached tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

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
    sequence,
    status,
    text,
)

_REJECTED = re.compile(
    r"rejected by user|patch rejected|exec_command rejected|unsupported call|sandbox denied|is not permitted",
    re.IGNORECASE,
)
_SILENT = frozenset({"turn.started", "item.updated"})
_QUIET_ITEMS = frozenset({"reasoning", "todo_list", "user_message"})


def parse_codex(record: Record) -> Sequence[Item] | None:
    kind = text(record.get("type"))
    if kind == "thread.started":
        return (SessionStart(text(record.get("thread_id"))),)
    if kind in {"item.started", "item.completed"}:
        return _item(as_mapping(record.get("item")), started=kind == "item.started")
    if kind == "turn.completed":
        return (_claim(as_mapping(record.get("usage"))), Success())
    if kind == "turn.failed":
        return (_failure(text(as_mapping(record.get("error")).get("message"))),)
    if kind == "error":
        why = text(record.get("message"))
        return (Retry(_http_status(why), why),)
    return () if kind in _SILENT else None


def _item(item: Record, *, started: bool) -> Sequence[Item] | None:
    kind, name = text(item.get("type")), text(item.get("id"))
    if kind == "agent_message":
        return () if started else (Message(text(item.get("text"))),)
    if kind in {"command_execution", "file_change", "mcp_tool_call", "web_search"}:
        return (_call(item, name, kind),) if started else (_result(item, name),)
    if kind == "error":
        return (Retry(None, text(item.get("message"))),)
    return () if kind in _QUIET_ITEMS else None


def _call(item: Record, name: str, kind: str) -> ToolCall:
    if kind == "command_execution":
        return ToolCall(name, "exec_command", {"command": text(item.get("command"))}, "execute")
    if kind == "file_change":
        changes = [{"path": text(as_mapping(one).get("path")), "kind": text(as_mapping(one).get("kind"))}
                   for one in sequence(item.get("changes"))]  # fmt: skip
        return ToolCall(name, "apply_patch", {"changes": changes}, "write")
    tool = text(item.get("tool")) or kind
    return ToolCall(
        name, tool, {"query": text(item.get("query"))} if kind == "web_search" else item.get("arguments")
    )


def _result(item: Record, name: str) -> ToolResult:
    failed = text(item.get("status")) in {"failed", "declined"}
    return ToolResult(name, text(item.get("aggregated_output")), failed, status(item.get("exit_code")))


def _claim(usage: Record) -> Claim:
    return Claim(
        tokens_in=count(usage.get("input_tokens")),
        tokens_out=count(usage.get("output_tokens")),
        cache_read=count(usage.get("cached_input_tokens")),
        cache_write=count(usage.get("cache_write_input_tokens")),
        is_total=False,  # of one turn: a resumed session reports each turn alone
    )


def _failure(why: str) -> Failure:
    return Failure(
        "api" if _http_status(why) or "stream" in why or "connect" in why else "error", why or "turn failed"
    )


def _http_status(why: str) -> int | None:
    found = re.search(r"\b([45]\d\d)\b", why)
    return int(found[1]) if found else None


def rejected_calls(rollout: Iterable[Record]) -> Iterator[Denial]:
    """Calls of a rollout that Codex did not carry out."""
    tools: dict[str, str] = {}
    for payload in (as_mapping(record.get("payload")) for record in rollout):
        call = text(payload.get("call_id"))
        if text(payload.get("type")) in {"function_call", "custom_tool_call", "local_shell_call"}:
            tools[call] = text(payload.get("name"))
        elif text(payload.get("type")) in {"function_call_output", "custom_tool_call_output"}:
            output = payload.get("output")
            why = text(output) or text(as_mapping(output).get("content"))
            if _REJECTED.search(why[:2000]):
                yield Denial(tools.get(call, ""), call, why[:2000])
