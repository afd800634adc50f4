"""A request -> the content of its conversation, in a form in which two runs of one agent are the same; and differences.

Kept: the model, the system prompt, every message, the names of the tools. Left out: ids of sessions, marks of caches, limits.
In texts, what changes from run to run has a name in its place: `{key}`, `{gateway}`, `{uuid}`, `{date}`, `{time}`,
`{duration}`, `{chunk}`, `{tmp}`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from steelyard.providers.requests import ModelRequest

_SAID = ("system", "instructions", "systemInstruction", "system_instruction", "messages", "input", "contents")
_DROPPED = frozenset({"cache_control", "cacheControl", "prompt_cache_key", "metadata"})
_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_DAYS = "Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun"
_RULES = (
    (
        re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])", re.IGNORECASE),
        "{uuid}",
    ),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "{date}"),
    (
        re.compile(
            rf"\b(?:(?:{_DAYS})(?:day)?,? )?(?:{_MONTHS})[a-z]* +\d{{1,2}}(?:,? +(?:\d{{4}}\b|\d\d:\d\d(?::\d\d)?))*"
        ),
        "{date}",
    ),
    (re.compile(r"\b\d{1,2}/\d{1,2}/\d{4}\b"), "{date}"),
    (re.compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M)?\b"), "{time}"),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|µs|us|ns|s|sec|secs|seconds|min|minutes)\b"), "{duration}"),
    (re.compile(r"\bChunk ID: [0-9a-f]+"), "{chunk}"),  # of Codex, drawn for each command
    (re.compile(r"(?:/private)?/tmp/[A-Za-z0-9._/-]+"), "{tmp}"),  # a pattern, no file
)
MOST_SHOWN = 200
_NOTHING = "nothing"


class Difference(NamedTuple):
    """The first place where two conversations differ."""

    where: str  # "messages[4].content[0].text"
    recorded: str
    asked: str

    def __str__(self) -> str:
        return f"at {self.where}: recorded {self.recorded}, asked {self.asked}"


class Conversation(NamedTuple):
    content: dict[str, Any]
    digest: str


def conversation_of(request: ModelRequest, placeholders: Mapping[str, str]) -> Conversation:
    """`placeholders`: texts of this run -> names, for example its key."""
    data = request.data
    content: dict[str, Any] = {"wire": request.endpoint.wire, "model": request.model}
    for name in _SAID:
        if name in data:
            content[name] = _plain(data[name], placeholders)
    content["tools"] = sorted(_tool_names(data.get("tools")))
    stored = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
    return Conversation(content, hashlib.sha256(stored).hexdigest())


def plain_text(text: str, placeholders: Mapping[str, str]) -> str:
    for value, name in placeholders.items():
        text = text.replace(value, name)
    for pattern, name in _RULES:
        text = pattern.sub(name, text)
    return text


def _plain(value: Any, placeholders: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return plain_text(value, placeholders)
    if isinstance(value, list):
        return [_plain(one, placeholders) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one, placeholders) for name, one in value.items() if name not in _DROPPED}
    return value


def _tool_names(tools: Any) -> list[str]:
    names: list[str] = []
    for tool in tools if isinstance(tools, list) else []:
        if not isinstance(tool, dict):
            continue
        declared = tool.get("functionDeclarations") or tool.get("function_declarations") or [tool]
        for one in declared if isinstance(declared, list) else []:
            inner = one.get("function") if isinstance(one, dict) else None
            name = (inner or one).get("name") if isinstance(inner or one, dict) else None
            names.append(str(name or tool.get("type")))
    return names


def first_difference(recorded: Any, asked: Any, where: str = "") -> Difference | None:
    """None where both are the same."""
    if isinstance(recorded, dict) and isinstance(asked, dict):
        return _member_difference(recorded, asked, where)
    if isinstance(recorded, list) and isinstance(asked, list):
        return _item_difference(recorded, asked, where)
    if recorded == asked and type(recorded) is type(asked):
        return None
    if isinstance(recorded, str) and isinstance(asked, str):
        return _text_difference(recorded, asked, where)
    return Difference(where or ".", _shown(recorded), _shown(asked))


def _member_difference(
    recorded: Mapping[str, Any], asked: Mapping[str, Any], where: str
) -> Difference | None:
    for name in [*recorded, *(name for name in asked if name not in recorded)]:
        place = f"{where}.{name}" if where else str(name)
        if name not in recorded or name not in asked:
            sides = (_shown(one[name]) if name in one else _NOTHING for one in (recorded, asked))
            return Difference(place, *sides)
        if found := first_difference(recorded[name], asked[name], place):
            return found
    return None


def _item_difference(recorded: Sequence[Any], asked: Sequence[Any], where: str) -> Difference | None:
    for number, (one, other) in enumerate(zip(recorded, asked, strict=False)):
        if found := first_difference(one, other, f"{where}[{number}]"):
            return found
    number = min(len(recorded), len(asked))
    if len(recorded) == len(asked):
        return None
    sides = (_shown(one[number]) if len(one) > number else _NOTHING for one in (recorded, asked))
    return Difference(f"{where}[{number}]", *sides)


def _text_difference(recorded: str, asked: str, where: str) -> Difference:
    """Where two long texts part, and a little before it."""
    pairs = zip(recorded, asked, strict=False)
    at = next((i for i, (one, other) in enumerate(pairs) if one != other), min(len(recorded), len(asked)))
    start = max(0, at - 40)
    return Difference(f"{where} character {at}", _shown(recorded[start:]), _shown(asked[start:]))


def _shown(value: Any) -> str:
    try:
        text = orjson.dumps(value).decode()
    except TypeError:
        text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."
