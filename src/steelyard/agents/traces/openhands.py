"""OpenHands: `openhands --headless --json`, one JSON object a line between lines of text; and its `base_state.json`.

    {"kind":"ActionEvent","source":"agent","thought":[{"text":"I look."}],"action":{"kind":"TerminalAction","command":"ls"},
     "tool_name":"terminal","tool_call_id":"c1"}
    {"kind":"ObservationEvent","tool_call_id":"c1","observation":{"content":[{"text":"a.py"}],"is_error":false,"exit_code":0}}
    {"kind":"MessageEvent","source":"agent","llm_message":{"content":[{"text":"Done."}]}}

The exit code of the process is 0 whatever happens. A message of the agent, or its tool `finish`, ends the work; an event
`ConversationErrorEvent` says that it was not finished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

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
    money,
    sequence,
    status,
    text,
)

_SILENT = frozenset(
    {"Condensation", "CondensationRequest", "CondensationSummaryEvent", "ConversationStateUpdateEvent", "HookExecutionEvent",
     "LLMCompletionLogEvent", "PauseEvent", "StreamingDeltaEvent", "SystemPromptEvent", "TokenEvent"}
)  # fmt: skip


def parse_openhands(record: Record) -> Sequence[Item] | None:
    kind = text(record.get("kind"))
    if kind in _SILENT:
        return ()
    parse = _PARSERS.get(kind)
    return None if parse is None else tuple(parse(record))


def parse_state(record: Record) -> Iterator[Item]:
    """The session's name, and what the client counted for each of its uses of a model."""
    if name := text(record.get("id")):
        yield SessionStart(name)
    for used in as_mapping(as_mapping(record.get("stats")).get("usage_to_metrics")).values():
        metrics = as_mapping(used)
        tokens = as_mapping(metrics.get("accumulated_token_usage"))
        yield Claim(
            count(tokens.get("prompt_tokens")),
            count(tokens.get("completion_tokens")),
            count(tokens.get("cache_read_tokens")),
            count(tokens.get("cache_write_tokens")),
            money(metrics.get("accumulated_cost")),
            is_total=False,
        )
    if record.get("execution_status") in {"error", "stuck"}:
        yield Failure("error", f"the conversation ended with the status {record['execution_status']}")


def _message(record: Record) -> Iterator[Item]:
    if record.get("source") == "agent":
        said = _join(as_mapping(record.get("llm_message")).get("content"))
        yield Message(said)
        yield Success(said)


def _action(record: Record) -> Iterator[Item]:
    action, tool = as_mapping(record.get("action")), text(record.get("tool_name"))
    if thought := _join(record.get("thought")):
        yield Message(thought)
    if action.get("kind") == "FinishAction":
        said = text(action.get("message"))
        yield Message(said)
        yield Success(said)
    else:
        given = {name: value for name, value in action.items() if name != "kind" and value is not None}
        # One tool views, creates and edits files.
        yield ToolCall(_call(record), tool, given, "read" if given.get("command") == "view" else None)


def _observation(record: Record) -> Iterator[Item]:
    seen = as_mapping(record.get("observation"))
    code = status(seen.get("exit_code"))
    yield ToolResult(_call(record), _join(seen.get("content")), bool(seen.get("is_error") or code), code)


def _error_of_call(record: Record) -> Iterator[Item]:
    yield ToolResult(_call(record), text(record.get("error")), is_error=True)


def _rejection(record: Record) -> Iterator[Item]:
    yield Denial(text(record.get("tool_name")), _call(record), text(record.get("rejection_reason")))


def _failure(record: Record) -> Iterator[Item]:
    code, detail = text(record.get("code")), text(record.get("detail"))
    if code == "MaxIterationsReached":
        yield Failure("limit_turns", detail or code)
    else:
        yield Failure("api" if code.startswith("LLM") else "error", f"{code}: {detail}")


_PARSERS: Mapping[str, Callable[[Record], Iterator[Item]]] = {
    "MessageEvent": _message,
    "ActionEvent": _action,
    "ObservationEvent": _observation,
    "AgentErrorEvent": _error_of_call,
    "UserRejectObservation": _rejection,
    "ConversationErrorEvent": _failure,
}


def _call(record: Record) -> str:
    return text(record.get("tool_call_id"))


def _join(content: Any) -> str:
    return "\n".join(filter(None, (text(as_mapping(part).get("text")) for part in sequence(content))))
