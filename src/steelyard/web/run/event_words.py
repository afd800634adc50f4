"""An event -> one line that says what happened: `tool.call` -> `execute · python3 -m pytest -q`.

A table names, for each type, the members of the payload that say most. Members that are not there are left out, so that a
log of a later version is still readable; whatever an agent wrote is cut and shown as text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from steelyard.report.plain import one_line
from steelyard.web.words import money

MOST_CHARS = 220
MOST_WORDS = 40  # of a command
_LONG = frozenset({"digest", "sha256", "prev", "hash", "env", "argv"})

# Type -> members in the order in which they are shown.
_MEMBERS: dict[str, tuple[str, ...]] = {
    "run.start": ("run",),
    "run.prepared": ("compared",),
    "stage.enter": ("stage",),
    "stage.leave": ("stage", "code"),
    "step.start": ("step",),
    "step.end": ("step", "code", "reward"),
    "brief": ("text",),
    "agent.message": ("text", "prefix"),
    "agent.final": ("text", "prefix"),
    "model.request": ("model", "messages", "tools", "bytes"),
    "model.response": ("model", "text", "stop_reason", "usage", "usd"),
    "model.error": ("model", "status", "error", "why"),
    "tool.call": ("kind", "name", "tool", "title", "cmd", "command", "path", "argv", "arguments", "input"),
    "process.start": ("argv",),
    "tool.result": ("exit_status", "signal", "outcome", "error", "text", "prefix", "wall_ns"),
    "permission.request": ("kind", "title", "cmd", "path"),
    "permission.decision": ("decision", "why"),
    "workspace.change": ("path",),
    "workspace.changes": ("count",),
    "capture.end": ("entries", "complete"),
    "patch.apply": ("exit", "refused"),
    "collect": ("cmd", "exit"),
    "check.start": ("id", "under"),
    "check.run": ("id", "outcome", "why", "observed_s"),
    "check.end": ("id", "outcome", "why"),
    "monitor.alert": ("code", "stage", "why", "signals", "threshold"),
    "intervention": ("action", "code", "by", "why"),
    "operator.decision": ("decision", "by", "reason"),
    "network.connection": ("by", "to", "failed", "out_bytes", "in_bytes"),
    "kernel.attempt": ("kind", "call", "target", "error", "process"),
    "kernel.totals": ("counts", "reported"),
    "cost": ("usd", "model", "method"),
    "termination": ("code", "rationale", "by"),
    "subscriber.error": ("subscriber", "error"),
    "run.end": ("peak_memory_bytes", "test_cycles"),
}
_UNITS: dict[str, Callable[[float], str]] = {
    "wall_ns": lambda value: f"{value / 1e9:.2f} s",
    "observed_s": lambda value: f"{value:.2f} s",
    "usd": money,
    "peak_memory_bytes": lambda value: f"peak memory {value / 2**20:.0f} MiB",
}
_UNNAMED = frozenset(
    {
        "text",
        "prefix",
        "cmd",
        "command",
        "stage",
        "step",
        "id",
        "path",
        "code",
        "kind",
        "run",
        "model",
        "name",
        "tool",
        "title",
        "action",
        "why",
        "rationale",
        "outcome",
        "decision",
        "compared",
        "to",
        "argv",
    }
)


def event_words(event: Mapping[str, Any]) -> str:
    payload = event.get("payload")
    if not isinstance(payload, dict):
        return ""
    if special := _SPECIAL.get(str(event.get("type"))):
        return one_line(special(payload), MOST_CHARS)
    names = _MEMBERS.get(str(event.get("type")), ())
    said = [word for name in names if (word := _member(name, payload.get(name)))]
    if not said:
        said = [
            word
            for name, value in payload.items()
            if name not in _LONG and (word := _member(str(name), value))
        ]
    return one_line(" · ".join(said[:6]), MOST_CHARS)


def _message(payload: Mapping[str, Any]) -> str:
    text = str(payload.get("text") or payload.get("prefix") or "")
    return text[: 4 * MOST_CHARS] if text.strip() else "printed nothing"


def _change(payload: Mapping[str, Any]) -> str:
    before, after = payload.get("before"), payload.get("after")
    what = "added" if not before else "removed" if not after else "changed"
    return f"{what} {payload.get('path', '')}"


_SPECIAL: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "agent.message": _message,
    "agent.final": _message,
    "workspace.change": _change,
}


def _member(name: str, value: Any) -> str:
    if value is None or value in ("", {}, []):
        return ""
    if name in _UNITS and isinstance(value, int | float):
        return _UNITS[name](value)
    if isinstance(value, str):
        text = value[: 4 * MOST_CHARS]
    elif isinstance(value, list) and name == "argv":
        text = " ".join(str(word)[:MOST_CHARS] for word in value[:MOST_WORDS])
    elif isinstance(value, list) and name in ("messages", "tools"):
        text = str(len(value))
    elif isinstance(value, dict) and isinstance(value.get("prefix"), str):
        text = value["prefix"][: 4 * MOST_CHARS]
    elif isinstance(value, dict | list):
        text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()[: 2 * MOST_CHARS]
    elif isinstance(value, bool):
        text = "yes" if value else "no"
    else:
        text = str(value)
    return text if name in _UNNAMED else f"{name.replace('_', ' ')} {text}"
