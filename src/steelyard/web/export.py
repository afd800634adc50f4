"""The runs of a view -> JSON lines, or CSV for a spreadsheet; read and sent a batch at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from steelyard.web.explorer import query_of, view_of_request
from steelyard.web.message import NotThere, Request, Response
from steelyard.web.records import Records

# What a spreadsheet would take for a formula is made a text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_BATCH = 200
_COLUMNS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("run", ("run",)),
    ("trial", ("trial",)),
    ("contract", ("contract", "id")),
    ("contract_digest", ("contract", "digest")),
    ("agent", ("agent",)),
    ("repeat", ("repeat",)),
    ("status", ("status",)),
    ("verdict", ("verdict",)),
    ("checks", ("checks",)),
    ("judge", ("judge", "verdict")),
    ("badge", ("badge",)),
    ("termination", ("termination",)),
    ("score", ("score",)),
    ("reward", ("reward",)),
    ("cost_usd", ("cost", "usd")),
    ("wall_s", ("durations", "wall_s")),
    ("tags", ("tags",)),
    ("reason", ("reason",)),
)


def export(records: Records, request: Request) -> Response:
    """Every result line of the view, oldest first; runs without a result have none."""
    lines = records.results(query_of(view_of_request(request)))
    if request.query.get("format", "jsonl") == "jsonl":
        return _download(_json_lines(lines), "application/x-ndjson", "runs.jsonl")
    if request.query["format"] == "csv":
        return _download(_csv(lines), "text/csv; charset=utf-8", "runs.csv")
    raise NotThere("An export is jsonl or csv.")


def _download(pieces: Iterator[bytes], kind: str, name: str) -> Response:
    return Response(pieces, kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _json_lines(lines: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    batch: list[bytes] = []
    for line in lines:
        batch.append(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        if len(batch) >= _BATCH:
            yield b"".join(batch)
            batch = []
    yield b"".join(batch)


def _csv(lines: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(name for name, _ in _COLUMNS)
    for count, line in enumerate(lines, 1):
        writer.writerow(_cell(_value(line, path)) for _, path in _COLUMNS)
        if count % _BATCH == 0:
            yield out.getvalue().encode("utf-8", "replace")
            out.seek(0)
            out.truncate()
    yield out.getvalue().encode("utf-8", "replace")


def _value(line: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = line
    for part in path:
        found = found.get(part) if isinstance(found, dict) else None
    return found


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        value = " ".join(map(str, value))
    if value is None or isinstance(value, int | float):
        return "" if value is None else value
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
