"""An event -> one line that says what happened: `tool.call` -> `execute: python3 -m pytest -q`.

A table names, for each type, the members of the payload that say most. Members that are not there are left out, so that a
log of a later version is still readable; whatever an agent wrote is cut and shown as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from steelyard.report.plain import one_line

MOST_CHARS = 220
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
    "tool.call": ("kind", "name", "tool", "title", "cmd", "command", "path", "arguments", "input"),
    "tool.result": ("exit_status", "signal", "outcome", "error", "text", "prefix", "wall_ns"),
    "permission.request": ("kind", "title", "cmd", "path"),
    "permission.decision": ("decision", "why"),
    "workspace.change": ("path", "kind", "before", "after"),
    "workspace.changes": ("count",),
    "capture.end": ("entries", "complete"),
    "patch.apply": ("exit", "refused"),
    "collect": ("cmd", "exit"),
    "check.start": ("id", "under"),
    "check.run": ("id", "outcome", "why", "exit", "observed_s"),
    "check.end": ("id", "outcome", "why"),
    "monitor.alert": ("code", "stage", "why", "signals", "threshold"),
    "intervention": ("action", "code", "by", "why"),
    "operator.decision": ("decision", "by", "why"),
    "network.connection": ("by", "to", "failed", "out_bytes", "in_bytes"),
    "cost": ("usd", "method", "model"),
    "termination": ("code", "rationale", "by"),
    "subscriber.error": ("subscriber", "error"),
    "run.end": ("peak_memory_bytes",),
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
    }
)


def event_words(event: Mapping[str, Any]) -> str:
    payload = event.get("payload")
    if not isinstance(payload, dict):
        return ""
    names = _MEMBERS.get(str(event.get("type")), ())
    said = [word for name in names if (word := _member(name, payload.get(name)))]
    if not said:
        said = [
            word
            for name, value in payload.items()
            if name not in _LONG and (word := _member(str(name), value))
        ]
    return one_line(": ".join(said[:1]) + ("  " if said[1:] else "") + "  ".join(said[1:6]), MOST_CHARS)


def _member(name: str, value: Any) -> str:
    if value is None or value in ("", {}, []):
        return ""
    if name == "wall_ns" and isinstance(value, int):
        return f"{value / 1e9:.2f} s"
    if isinstance(value, str):
        text = value[: 4 * MOST_CHARS]
    elif isinstance(value, list) and name in ("messages", "tools"):
        text = str(len(value))
    elif isinstance(value, dict) and isinstance(value.get("prefix"), str):
        text = value["prefix"][: 4 * MOST_CHARS]
    elif isinstance(value, dict | list):
        text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()[: 2 * MOST_CHARS]
    else:
        text = str(value)
    return text if name in _UNNAMED else f"{name.replace('_', ' ')} {text}"
