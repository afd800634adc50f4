"""A result line, and what a terminal of some width makes of it."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from steelyard.report.terminal import table_of_results

WIDTHS = (60, 80, 118, 200)


def result(**keys: Any) -> dict[str, Any]:
    return {
        "run": "20260307T120000123Z-python-discount-noop-3fa9c1",
        "contract": {"id": "python-discount", "digest": "0" * 64},
        "agent": "script:edit-tests-discount.sh",
        "termination": "completed",
        "rationale": "the agent finished",
        "verdict": "fail",
        "checks": "FAIL",
        "badge": "PASS",
        "reason": "a gate failed",
        "gates": {"patch": "pass", "build": "pass", "acceptance": "fail", "safety": "pass"},
        "why": {"patch": "applies", "build": "none", "acceptance": "adds: exit 1", "safety": "in scope"},
        "score": 0.25,
        "reward": 0.0,
        "grades": [],
        "findings": [],
        "assurance": {"isolation": "bubblewrap", "tree": "fresh", "oracle": "split", "network": "none"},
        "folder": "runs/20260307T120000123Z-python-discount-noop-3fa9c1",
        **keys,
    }


def printed(width: int, *results: dict[str, Any], encoding: str = "utf-8", **keys: Any) -> str:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    Console(width=width, file=file, color_system=None).print(table_of_results(results, **keys))
    file.flush()
    file.seek(0)
    return file.read()
