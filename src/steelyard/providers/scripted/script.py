"""A script -> the reply to a request. The shapes of a script, as YAML or JSON:

    [REPLY, REPLY]                          given one after the other, the last one again and again; 100 tokens in, 10 out
    {"claude-opus-4-8": [REPLY], "*": [..]} such a list for each model
    turns: [REPLY, ...]                     by the place in the conversation, for agents; with
    branches: [{match: REGEX, turns: [..]}] conversations of their own: the opening of a subagent's matches
    usage: {tokens_in: 1000, tokens_out: 50, cache_read: 0, cache_write: 0, reasoning: 0}     billed for each reply
    models_status: 403                      the status of the list of models, otherwise 200
    side: "ok"                              the answer to requests beside the conversation, which offer no tools

The turn is read from the conversation: the ids of calls that were made, and the texts that were said. So retries, side
requests and clients at the same time do not shift the script. A turn that offers no way to read it back is not counted.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.deferred.data_class import dataclass

REPLY_KEYS = frozenset(
    {
        *("text", "json", "thinking", "do", "calls", "usage", "model", "cut"),
        *("status", "headers", "body", "fault", "delay_s", "drip_s", "endless", "chunk_delay_s"),
    }
)
SCRIPT_KEYS = frozenset({"turns", "branches", "usage", "side", "replies", "models_status"})
FAULT_KEYS = frozenset(
    {"status", "retry_after", "times", "drop", "hang", "malformed", "content_length", "chunk_bytes"}
)
ACTIONS = frozenset({"shell", "edit", "read", "write"})
_ID = re.compile(r"sy_b(\d+)_t(\d+)_\d+")

Reply = Mapping[str, Any]
Replies = Sequence[Reply] | Mapping[str, Any]


class ReplyPosition(NamedTuple):
    """Which reply this is: of the branch, and the turn in it; -1 beside the conversation."""

    branch: int
    turn: int


@dataclass
class Script:
    """Chooses replies; from any thread."""

    turns: Sequence[Reply] = ()
    branches: Sequence[tuple[re.Pattern[str], Sequence[Reply]]] = ()
    replies: Mapping[str, Sequence[Reply]] = field(default_factory=dict)  # by model
    usage: Mapping[str, int] | None = None
    side: str = "ok"
    models_status: int = 200
    _given: dict[str, int] = field(default_factory=dict)
    _faulted: dict[tuple[int, int], int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, script: Replies) -> Script:
        """Raises ValueError that says what is wrong."""
        if isinstance(script, Mapping) and script.keys() & SCRIPT_KEYS:
            return _full(script)
        by_model = script if isinstance(script, Mapping) else {"*": script}
        for replies in by_model.values():
            if replies:
                _check_replies(replies)
        return cls(replies=by_model, usage={"tokens_in": 100, "tokens_out": 10})

    def choose(self, model: str, wire: str, data: Mapping[str, Any]) -> tuple[Reply, ReplyPosition]:
        """The reply to a request, and which one it is."""
        if not self.turns and not self.branches:
            return self._next(model)
        branch, turns = self._branch(data)
        turn = min(turns_so_far(wire, data, branch, turns), len(turns) - 1)
        reply = turns[turn]
        if (reply.get("do") or reply.get("calls")) and not data.get("tools"):
            return {"text": self.side}, ReplyPosition(branch, -1)
        return reply, ReplyPosition(branch, turn)

    def is_faulty(self, fault: Mapping[str, Any], place: ReplyPosition) -> bool:
        """Whether a fault happens this time: at most `times` times, as a rule once."""
        with self._lock:
            before = self._faulted.get(place, 0)
            if before >= int(fault.get("times", 1)):
                return False
            self._faulted[place] = before + 1
        return True

    def _next(self, model: str) -> tuple[Reply, ReplyPosition]:
        replies = self.replies.get(model) or self.replies.get("*") or [{"status": 404}]
        with self._lock:
            number = self._given.get(model, 0)
            self._given[model] = number + 1
        turn = min(number, len(replies) - 1)
        return replies[turn], ReplyPosition(0, turn)

    def _branch(self, data: Mapping[str, Any]) -> tuple[int, Sequence[Reply]]:
        opening = opening_of(data)
        for number, (pattern, turns) in enumerate(self.branches, start=1):
            if pattern.search(opening):
                return number, turns
        return 0, self.turns or [{"text": self.side}]


def read_script(path: Path) -> Replies:
    """JSON, or YAML. A misspelt key is refused: its reader would look for the mistake elsewhere."""
    text = path.read_text()
    if path.suffix == ".json":
        script = json.loads(text)
    else:
        import yaml  # noqa: PLC0415  # only where one is read

        script = yaml.safe_load(text)
    if not isinstance(script, dict):
        _check_replies(script)
    elif not script.keys() & SCRIPT_KEYS:
        for replies in script.values():
            _check_replies(replies)
    Script.of(script)
    return script  # type: ignore[no-any-return]


def turns_so_far(wire: str, data: Mapping[str, Any], branch: int, turns: Sequence[Reply]) -> int:
    """How many turns of a branch the conversation shows already."""
    model_text = json.dumps(spoken_by_model(wire, data), ensure_ascii=False)
    last = max((int(turn) for of, turn in _ID.findall(model_text) if int(of) == branch), default=-1)
    for number, reply in enumerate(turns):
        text = reply.get("text")
        if number > last and text and json.dumps(str(text).strip(), ensure_ascii=False)[1:-1] in model_text:
            last = number
    if last < 0 and wire == "generate":
        calls = [one for one in spoken_by_model(wire, data) if "functionCall" in json.dumps(one)]
        last = min(len(calls), len(turns)) - 1
    return last + 1


def spoken_by_model(wire: str, data: Mapping[str, Any]) -> list[Any]:
    """What the model said so far, as the client sends it back."""
    name = {"generate": "contents", "responses": "input"}.get(wire, "messages")
    listed = data.get(name)
    items = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [
        one
        for one in items
        if one.get("role") in {"assistant", "model"}
        or one.get("type") in {"function_call", "custom_tool_call", "reasoning"}
    ]


def opening_of(data: Mapping[str, Any]) -> str:
    """The system prompt and the first message of a conversation."""
    listed = data.get("messages") or data.get("contents") or data.get("input")
    first = listed[:2] if isinstance(listed, list) else listed
    parts = (data.get("system"), data.get("instructions"), data.get("systemInstruction"), first)
    return json.dumps(parts, ensure_ascii=False)


def _full(script: Mapping[str, Any]) -> Script:
    if unknown := script.keys() - SCRIPT_KEYS:
        raise ValueError(f"unknown key {min(unknown)!r} of a script; use {', '.join(sorted(SCRIPT_KEYS))}")
    replies = script.get("replies")
    if replies is not None:
        made = Script.of(replies)
        return Script(replies=made.replies, usage=_usage(script.get("usage")) or made.usage)
    turns = script.get("turns") or []
    if turns:
        _check_replies(turns)
    branches = []
    for branch in script.get("branches") or []:
        _check_replies(branch["turns"])
        branches.append((re.compile(branch["match"]), branch["turns"]))
    if not turns and not branches:
        raise ValueError("a script without replies: give `turns` a list")
    return Script(
        turns,
        branches,
        usage=_usage(script.get("usage")),
        side=str(script.get("side", "ok")),
        models_status=int(script.get("models_status", 200)),
    )


def _usage(usage: Any) -> Mapping[str, int] | None:
    if usage is None:
        return None
    if not isinstance(usage, dict) or not all(type(value) is int for value in usage.values()):
        raise ValueError("`usage` of a script maps names to whole numbers")
    return usage


def _check_replies(replies: Any) -> None:
    if not isinstance(replies, Sequence) or isinstance(replies, str) or not replies:
        raise ValueError("say a list of replies, or one for each model")
    for number, reply in enumerate(replies):
        if not isinstance(reply, dict) or not reply or not reply.keys() <= REPLY_KEYS:
            raise ValueError(f"reply {number} is no map of {', '.join(sorted(REPLY_KEYS))}")
        fault = reply.get("fault")
        if fault is not None and (not isinstance(fault, dict) or not fault.keys() <= FAULT_KEYS):
            raise ValueError(f"the fault of reply {number} is no map of {', '.join(sorted(FAULT_KEYS))}")
        for action in actions_of(reply):
            if len(action) != 1 or not action.keys() <= ACTIONS:
                raise ValueError(f"`do` of reply {number} is no map of one of {', '.join(sorted(ACTIONS))}")


def actions_of(reply: Reply) -> list[Mapping[str, Any]]:
    do = reply.get("do")
    if do is None:
        return []
    return list(do) if isinstance(do, list) else [do]
