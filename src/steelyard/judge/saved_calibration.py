"""A judge's calibration -> `judge-calibration.json` beside the runs, and a line that stands beside the judge's numbers.

    {"schema": "steelyard.judge_calibration/1", "at": "2026-03-07T12:00:00Z", "labels": "labels.jsonl",
     "models": {"*": {"ready": true, "agreement": {...}, "kappa": {...}, "alpha": {...}, ...}}}

`*` is the judge as a whole; a model of a jury has its own entry.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from steelyard.errors import DAMAGED
from steelyard.evidence.folder.folder import write_atomic
from steelyard.filesystem.plain_file import read_plain

FILE = "judge-calibration.json"
SCHEMA = "steelyard.judge_calibration/1"
WHOLE = "*"
NOT_CALIBRATED = "judge not calibrated: `steelyard judge calibrate LABELS --save` compares it with people"


def save_calibration(runs: Path, name: str, calibration: Mapping[str, Any], labels: str) -> Path:
    """Keep it beside the runs; entries of other models stay."""
    try:
        models = dict(_read(runs)["models"])
    except DAMAGED:
        models = {}
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    models[name] = {**calibration, "labels": labels, "at": at}
    runs.mkdir(parents=True, exist_ok=True)
    options = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    target = runs / FILE
    write_atomic(target, orjson.dumps({"schema": SCHEMA, "models": models}, option=options), durable=False)
    return target


def calibration_lines(runs: Path) -> Iterator[str]:
    """What stands beside a judge's number: how far it may be relied on, or that it was never compared with people."""
    if not os.path.lexists(runs / FILE):
        yield NOT_CALIBRATED
        return
    try:
        models = _read(runs)["models"]
        lines = [calibration_line(name, models[name]) for name in sorted(models)]
    except DAMAGED:
        yield f"judge not calibrated: {FILE} cannot be read"
        return
    yield from lines


def calibration_line(name: str, found: Mapping[str, Any]) -> str:
    agreement, kappa, alpha = found["agreement"], found["kappa"], found["alpha"]
    ready = "ready" if found["ready"] else f"NOT ready: {found['missing'][0]}"
    share = "agreement unknown" if agreement["rate"] is None else f"agrees with people on {_rate(agreement)}"
    return (
        f"judge{'' if name == WHOLE else f' {name}'} calibrated: {share}; "
        f"kappa {_number(kappa)}; alpha {_number(alpha)}; {ready}"
    )


def _read(runs: Path) -> Mapping[str, Any]:
    data: Mapping[str, Any] = orjson.loads(read_plain(runs / FILE))
    if data["schema"] != SCHEMA or not isinstance(data["models"], dict):
        raise ValueError("not a calibration")
    return data


def _rate(rate: Mapping[str, Any]) -> str:
    of = f"{rate['successes']} of {rate['trials']}"
    return f"{of} runs ({rate['rate']:.0%}, 95% interval {rate['low']:.0%} to {rate['high']:.0%})"


def _number(found: Mapping[str, Any]) -> str:
    if found["value"] is None:
        return f"unknown ({found['why']})"
    return f"{found['value']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
