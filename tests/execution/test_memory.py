"""A study of many runs takes as much memory as a study of few: a run that was reported is let go."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from authoring import Author
from steelyard.api import load_contract
from steelyard.plan.trial import Trial
from steelyard.report.short_line import short_line
from steelyard.study.engine import Engine
from steelyard.study.record import Record


def test_records_are_let_go_once_they_are_reported(
    author: Author, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(cache))
    contract = load_contract(author.write())
    running = Engine(tmp_path / "runs").run([Trial(contract, "noop", repeat) for repeat in (1, 2, 3)])
    for _ in range(3):
        next(running)
    gc.collect()
    records = [one for one in gc.get_objects() if isinstance(one, Record)]
    # The last one; other tests of this process may hold some of their own.
    assert sum(one.evidence.folder.path.is_relative_to(tmp_path) for one in records) <= 1


def test_what_no_table_reads_of_a_result_is_not_kept() -> None:
    grade: dict[str, Any] = {"name": "a", "why": "exit 1", "output_tail": "x" * 2000, "data": {"ids": ["a"]}}
    line = {
        "run": "r",
        "grades": [grade],
        "findings": [{"id": "f"}],
        "judge": {"opinions": ["long"], "verdict": "PASS"},
    }
    assert short_line(line) == {
        "run": "r",
        "grades": [{"name": "a", "why": "exit 1"}],
        "judge": {"verdict": "PASS"},
    }
