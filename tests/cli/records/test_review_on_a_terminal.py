"""`steelyard review RUN` on a terminal shows the run, asks, and measures the time."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from authoring import FIX, Author, Steelyard
from steelyard import review


def test_a_reviewer_is_asked_and_the_answers_are_recorded(
    author: Author, script: Callable[[str], str], steelyard: Steelyard, cache: Path
) -> None:
    run = steelyard("run", author.write(), "--agent", script(FIX), "--json").line
    terminal, of_command = pty.openpty()
    os.write(terminal, b"ada\nperhaps\nf\nwrong unit, late\nmm and not m\n")
    with subprocess.Popen(
        [sys.executable, "-m", "steelyard", "review", run["folder"]],
        stdin=of_command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "STEELYARD_CACHE": str(cache)},
        cwd=Path(run["folder"]).parents[2],
    ) as command:
        assert command.stdout is not None
        printed = command.stdout.read().decode()
    os.close(terminal)
    os.close(of_command)
    assert command.returncode == 0, printed
    assert printed.count("pass, fail or defer?") == 2
    assert run["run"] in printed
    (entry,) = review.annotations(Path(run["folder"]))
    result = entry.annotation
    assert (result.reviewer_id, result.judgment, result.categories, result.notes) == (
        "ada",
        "fail",
        ["wrong unit", "late"],
        "mm and not m",
    )
    assert entry.minutes is not None
