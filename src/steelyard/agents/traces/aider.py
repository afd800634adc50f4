"""aider: its analytics log (`--analytics-log FILE`), one JSON object a line. What it says and edits is text on stdout.

    {"event":"message_send","properties":{"prompt_tokens":1000,"completion_tokens":50,"cost":0.003,"total_cost":0.003},...}
    {"event":"exit","properties":{"reason":"Completed --message"},...}

With `--no-stream` the tokens are those of the response; while streaming they are estimates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
    money,
    text,
)

_APPLIED = re.compile(r"^Applied edit to (?P<path>.+)$", re.MULTILINE)
_API_ERROR = re.compile(r"^litellm\.(?P<error>\w*(?:Error|Timeout)\b.*)$", re.MULTILINE)


def parse_aider(record: Record) -> Sequence[Item] | None:
    """A line of the analytics log."""
    event, properties = record.get("event"), as_mapping(record.get("properties"))
    if event == "message_send":
        tokens = Claim(
            tokens_in=count(properties.get("prompt_tokens")),
            tokens_out=count(properties.get("completion_tokens")),
            usd=money(properties.get("cost")),
            is_total=False,
        )
        return (tokens,)
    if event == "exit":
        reason = text(properties.get("reason"))
        return (
            (Success(),)
            if reason.startswith("Completed --message")
            else (Failure("error", reason or "aider stopped"),)
        )
    return () if isinstance(event, str) and "properties" in record else None


def parse_aider_output(output: str) -> Iterator[Item]:
    """What aider printed: edits that it applied, and errors of the model's API that it did not recover from."""
    for number, found in enumerate(_APPLIED.finditer(output)):
        yield ToolCall(f"edit-{number}", "edit", {"path": text(found["path"].strip())}, "write")
        yield ToolResult(f"edit-{number}")
    if output.strip():
        yield Message(text(output.strip()))
    errors = list(_API_ERROR.finditer(output))
    if errors and "Tokens:" not in output[errors[-1].end() :]:
        yield Failure("api", text(errors[-1]["error"])[:500])
