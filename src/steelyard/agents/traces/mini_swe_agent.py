"""mini-swe-agent: the trajectory file `*.traj.json` (`mini-swe-agent-1.1`), written again after each step.

    {"info": {"exit_status": "Submitted", "submission": "", "model_stats": {"instance_cost": 0.01, "api_calls": 4}, ...},
     "messages": [{"role": "assistant", "content": "...", "extra": {"actions": [{"command": "ls", "tool_call_id": "c1"}],
                   "response": {"usage": {"prompt_tokens": 1000, "completion_tokens": 50}}}},
                  {"role": "tool", "tool_call_id": "c1", "extra": {"raw_output": "...", "returncode": 0}},
                  {"role": "exit", "extra": {"exit_status": "Submitted"}}]}

The exit code of the process is 0 for `LimitsExceeded` and other failures: only `exit_status` tells. A message with a format
error has the role `user`, and carries the usage of the response that it replaces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from steelyard.agents.traces.items import (
    Claim,
    Failure,
    Item,
    Message,
    Record,
    Success,
    ToolCall,
    ToolResult,
    as_mapping,
    count,
    elapsed_ns,
    money,
    sequence,
    status,
    text,
)

_API = ("AuthenticationError", "APIConnectionError", "APIError", "InternalServerError", "RateLimitError", "Timeout",
        "ServiceUnavailableError", "NotFoundError", "PermissionDeniedError", "BadRequestError", "RetryError")  # fmt: skip


def parse_trajectory(record: Record) -> Sequence[Item] | None:
    """A whole trajectory; None for a file that is none."""
    if not isinstance(record.get("messages"), list):
        return None
    info = as_mapping(record.get("info"))
    return (*_messages(sequence(record.get("messages"))), *_end(info))


def _messages(messages: Sequence[object]) -> Iterator[Item]:
    answered_at: Any = None  # when the model answered last
    for number, message in enumerate(map(as_mapping, messages)):
        extra = as_mapping(message.get("extra"))
        usage = as_mapping(as_mapping(extra.get("response")).get("usage"))
        if usage:
            yield _usage(usage)
        if message.get("role") == "assistant":
            answered_at = extra.get("timestamp")
            if text(message.get("content")):
                yield Message(text(message.get("content")))
            for place, action in enumerate(map(as_mapping, sequence(extra.get("actions")))):
                name = text(action.get("tool_call_id")) or f"{number}.{place}"
                yield ToolCall(name, "bash", {"command": text(action.get("command"))}, "execute")
        elif "returncode" in extra:
            code = status(extra.get("returncode"))
            name = text(message.get("tool_call_id"))
            wall_ns = elapsed_ns(answered_at, extra.get("timestamp"), 1_000_000_000)
            answered_at = extra.get("timestamp")
            yield ToolResult(name, text(extra.get("raw_output")), code != 0, code, wall_ns)


def _usage(usage: Record) -> Claim:
    details = as_mapping(usage.get("prompt_tokens_details"))
    return Claim(
        tokens_in=count(usage.get("prompt_tokens")),
        tokens_out=count(usage.get("completion_tokens")),
        cache_read=count(details.get("cached_tokens")) or count(usage.get("cache_read_input_tokens")),
        cache_write=count(usage.get("cache_creation_input_tokens")),
        is_total=False,
    )


def _end(info: Record) -> Iterator[Item]:
    cost = money(as_mapping(info.get("model_stats")).get("instance_cost"))
    if cost is not None:
        yield Claim(usd=cost, is_total=False)
    ended = text(info.get("exit_status"))
    if ended == "Submitted":
        yield Success(text(info.get("submission")))
    elif ended == "LimitsExceeded":
        yield Failure("limit_cost", "mini-swe-agent reached its own limit of steps or cost")
    elif ended:
        yield Failure("api" if ended.endswith(_API) else "error", f"mini-swe-agent ended with {ended}")
