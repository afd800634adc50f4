"""The events of a run -> a timeline: what was asked, called, changed, alerted and decided, and when.

    +0.02 s  turn 1        Make add() add.
    +0.02 s  call          execute: /bin/bash /home/agent/.steelyard-script
    +0.08 s  change        add.sh (modified), README.md (deleted)
    +0.64 s  result        exit 0 after 0.6 s

Everything in it was written by an agent or about one: each row is one line with nothing in it that a terminal obeys. Rows of one
kind that follow each other are one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from steelyard.deferred.data_class import dataclass
from steelyard.evidence.trace.chain import Event
from steelyard.filesystem.tree import path_from_json, printable
from steelyard.report.plain import one_line

SHOWN_HEAD, SHOWN_TAIL = 14, 10
_NAMED = 4  # paths in a row
_WIDTH = 110
INDENT = 26  # the words of a row begin there
_NS = 1_000_000_000
_QUIET = frozenset(
    {"run.start", "run.prepared", "check.start", "check.run", "agent.final", "workspace.watch"}
)


@dataclass(slots=True)
class Row:
    """One line of a timeline. `parts` are of events of one kind that followed each other."""

    seq: int
    t: int
    label: str
    parts: list[str] = field(default_factory=list)
    count: int = 1
    usd: float = 0.0
    tokens: int = 0

    @property
    def text(self) -> str:
        more = f" and {self.count - len(self.parts)} more" if self.count > len(self.parts) else ""
        spent = f"  {self.tokens:,} tokens" if self.tokens else ""
        cost = f"  {self.usd:.4f} USD" if self.usd else ""
        return f"{', '.join(self.parts)}{more}{spent}{cost}"

    def line(self, width: int = _WIDTH) -> str:
        return f"{f'+{self.t / _NS:.2f} s':>10}  {self.label:<12}  {one_line(self.text, width)}"


def timeline(events: Iterable[Event]) -> Iterator[Row]:
    """Rows in the order of the log; lazily, so that a log of any length takes no memory."""
    last: Row | None = None
    for event in events:
        row = _row(event)
        if row is None:
            continue
        if last is not None and last.label == row.label and row.label in _MERGED:
            last.count += row.count
            last.usd += row.usd
            last.tokens += row.tokens
            last.parts += row.parts[: max(0, _NAMED - len(last.parts))]
            continue
        if last is not None:
            yield last
        last = row
    if last is not None:
        yield last


def short_timeline(events: Iterable[Event]) -> tuple[list[Row], int, list[Row]]:
    """The first rows, how many are left out, the last rows."""
    head: list[Row] = []
    tail: list[Row] = []
    left_out = 0
    for row in timeline(events):
        if len(head) < SHOWN_HEAD:
            head.append(row)
            continue
        tail.append(row)
        if len(tail) > SHOWN_TAIL:
            tail.pop(0)
            left_out += 1
    return head, left_out, tail


def trace_line(event: Event, width: int = 160) -> str:
    """Any event, one line."""
    row = _row(event, every=True)
    text = row.text if row is not None else ""
    return f"{event.seq:>6}  {f'+{event.t / _NS:.3f} s':>12}  {event.actor:<8}  {event.type:<18}  {one_line(text, width)}"


def _row(event: Event, *, every: bool = False) -> Row | None:
    if event.type in _QUIET and not every:
        return None
    label, describe = _ROWS.get(event.type, ("", None))
    payload = event.payload
    if describe is None:
        return Row(event.seq, event.t, event.type, [_plain(payload)]) if every else None
    try:
        return describe(Row(event.seq, event.t, label), payload)
    except (LookupError, TypeError, ValueError, AttributeError):  # a foreign or damaged payload
        return Row(event.seq, event.t, label or event.type, [_plain(payload)])


def _plain(payload: Mapping[str, Any]) -> str:
    known = (
        f"{name}={value}" for name, value in payload.items() if isinstance(value, str | int | float | bool)
    )
    return one_line(" ".join(known))


def _with(row: Row, *parts: str) -> Row:
    row.parts += [one_line(part) for part in parts if part]
    return row


def _brief(row: Row, payload: Mapping[str, Any]) -> Row:
    row.label = f"step {payload['step']}" if payload.get("step") else f"turn {payload['index'] // 2 + 1}"
    row.label = one_line(row.label, 12)
    return _with(row, str(payload["text"]).strip().partition("\n")[0])


def _call(row: Row, payload: Mapping[str, Any]) -> Row:
    call_input = payload.get("argv") or payload.get("input") or ""
    if isinstance(call_input, Mapping):
        call_input = (
            call_input.get("command")
            or call_input.get("cmd")
            or call_input.get("path")
            or call_input.get("file_path")
            or dict(call_input)
        )
    text = " ".join(map(str, call_input)) if isinstance(call_input, list) else str(call_input)
    return _with(row, f"{payload.get('tool') or payload.get('kind', 'other')}: {text}")


def _result(row: Row, payload: Mapping[str, Any]) -> Row:
    wall_ns, exit_status = payload.get("wall_ns"), payload.get("exit_status")
    took = f" after {wall_ns / _NS:.1f} s" if isinstance(wall_ns, int) else ""
    how = "timed out" if payload.get("timed_out") else "failed" if payload.get("is_error") else "done"
    return _with(row, f"{how if exit_status is None else f'exit {exit_status}'}{took}")


def _change(row: Row, payload: Mapping[str, Any]) -> Row:
    before, after = payload.get("before"), payload.get("after")
    how = "added" if before is None else "deleted" if after is None else "modified"
    if payload.get("renamed_from") is not None:
        how = f"renamed from {printable(path_from_json(payload['renamed_from']))}"
    return _with(row, f"{printable(path_from_json(payload['path']))} ({how})")


def _changes(row: Row, payload: Mapping[str, Any]) -> Row:
    row.count = int(payload["count"])
    return _with(row, printable(path_from_json(payload["rows"][0][0])))


def _capture(row: Row, payload: Mapping[str, Any]) -> Row:
    entries, gaps = payload["entries"], (payload.get("gaps") or {}).get("count", 0)
    more = f", {gaps} of them without an event" if gaps else ""
    return _with(row, f"{entries} changed {'path' if entries == 1 else 'paths'}{more}")


def _response(row: Row, payload: Mapping[str, Any]) -> Row:
    usage = payload.get("usage") or {}
    row.tokens = sum(
        value for name in ("tokens_in", "tokens_out") if isinstance(value := usage.get(name), int)
    )
    return _with(row, str(payload.get("model") or ""))


def _cost(row: Row, payload: Mapping[str, Any]) -> Row:
    row.usd = float(payload.get("usd") or 0.0)
    return _with(row, str(payload.get("method") or ""))


def _check(row: Row, payload: Mapping[str, Any]) -> Row:
    why = payload.get("why")
    return _with(row, f"{payload['id']}: {payload['outcome']}{f' ({why})' if why else ''}")


def _fields(*names: str) -> Callable[[Row, Mapping[str, Any]], Row]:
    def describe(row: Row, payload: Mapping[str, Any]) -> Row:
        return _with(
            row, " ".join(str(payload[name]) for name in names if payload.get(name) not in (None, ""))
        )

    return describe


def _redaction(row: Row, payload: Mapping[str, Any]) -> Row:
    spans = payload.get("spans")
    counts = spans.items() if isinstance(spans, dict) else ()
    return _with(
        row, f"event {payload.get('event')}: {', '.join(f'{name} {count} x' for name, count in counts)}"
    )


def _ended(row: Row, payload: Mapping[str, Any]) -> Row:
    code, rationale = str(payload.get("code") or ""), payload.get("rationale")
    return _with(row, f"{code} ({rationale})" if code and rationale else code or str(rationale or ""))


def _alert(row: Row, payload: Mapping[str, Any]) -> Row:
    code, why = payload.get("code"), payload.get("why")
    is_plain = payload.get("stage") in {None, "write"} or f"stage {payload['stage']}" in str(why)
    stage = "" if is_plain else f" (stage {payload['stage']})"
    return _with(row, f"{code}: {why}{stage}" if why else f"{code}{stage}")


def _decision(row: Row, payload: Mapping[str, Any]) -> Row:
    return _with(row, f"{payload.get('decision')} by {payload.get('by')}: {payload.get('reason')}")


def _message(row: Row, payload: Mapping[str, Any]) -> Row:
    text = str(payload.get("prefix", "")).strip()
    return _with(row, text.partition("\n")[0] or f"{payload.get('bytes', 0)} bytes")


# Event type -> the label of its row, and what the row says. Types that are not here are shown by `show --trace` only.
_ROWS: dict[str, tuple[str, Callable[[Row, Mapping[str, Any]], Row]]] = {
    "brief": ("turn", _brief),
    "stage.enter": ("stage", _fields("stage")),
    "step.end": ("step ended", _fields("step", "code", "reward")),
    "agent.message": ("answer", _message),
    "model.response": ("model", _response),
    "model.error": ("model error", _fields("status", "why", "error")),
    "tool.call": ("call", _call),
    "tool.result": ("result", _result),
    "permission.decision": ("permission", _fields("decision", "tool", "why")),
    "workspace.change": ("change", _change),
    "workspace.changes": ("change", _changes),
    "patch.apply": ("patch", _fields("command", "exit", "refused")),
    "capture.end": ("captured", _capture),
    "check.end": ("check", _check),
    "monitor.alert": ("alert", _alert),
    "intervention": ("intervention", _fields("action", "code", "why")),
    "operator.decision": ("operator", _decision),
    "redaction": ("redaction", _redaction),
    "network.connection": ("network", _fields("to", "failed")),
    "kernel.attempt": ("kernel", _fields("call", "target", "error", "process")),
    "run.mismatch": ("mismatch", _fields("field", "why")),
    "cost": ("cost", _cost),
    "termination": ("ended", _ended),
}
_MERGED = frozenset({"change", "model", "network", "cost"})
