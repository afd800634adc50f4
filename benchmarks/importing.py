"""Importing: a suite of other people's tasks becomes contracts, each written and checked."""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Measured, measure, ratio
from benchmarks.workshop import Workshop
from steelyard.cli.authoring.check import check
from steelyard.graders.catalogue import installed_catalogue
from steelyard.importers.find import find
from steelyard.importers.task import Options
from steelyard.importers.write import write_task

TASKS = 100
FILES = {
    "task.toml": "[verifier]\ntimeout_sec = 120.0\n[agent]\ntimeout_sec = 900.0\n[environment]\ncpus = 1\n",
    "instruction.md": "Write hello to /app/hello.txt\n",
    "environment/Dockerfile": "FROM debian:12\nWORKDIR /app\nCOPY data/ data/\n",
    "environment/data/x": "{number}\n",  # no two tasks start from the same repository
    "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
    "solution/solve.sh": "echo hello > /app/hello.txt\n",
}


def importing(workshop: Workshop) -> Iterator[Measured]:
    tasks, catalogue = _tasks(workshop.folder / "tasks"), installed_catalogue()
    numbers = itertools.count()

    def imported() -> float:
        out = workshop.folder / f"imported-{next(numbers)}"
        before = time.process_time()
        for found in find([tasks], Options()):
            task = found.convert()
            write_task(task, out)
            assert not check(out / task.id, catalogue).faults
        spent = time.process_time() - before
        shutil.rmtree(out)
        return spent / TASKS

    def copied() -> float:
        out = workshop.folder / f"copied-{next(numbers)}"
        before = time.process_time()
        shutil.copytree(tasks, out)
        spent = time.process_time() - before
        shutil.rmtree(out)
        return spent / TASKS

    rounds = measure({"import and check": imported, "copy the folders": copied}, workshop.rounds(5))
    one = "one Harbor task imported and checked, CPU time"
    yield Measured.of("import", one, rounds, ratio("import and check", "copy the folders"), target=4)
    # A thousand in ten seconds.
    yield Measured.of("import", one, rounds, lambda one: one["import and check"] * 1000, target=10, unit="ms")


def _tasks(folder: Path) -> Path:
    for number, (name, text) in itertools.product(range(TASKS), FILES.items()):
        path = folder / f"task-{number}" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.format(number=number))
    return folder


ROWS = {"import": importing}
