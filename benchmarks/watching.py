"""Watching the workspace: what a build of 5,000 files takes with and without it, in the same round."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from benchmarks.measure import Measured, Variant, measure, ratio
from benchmarks.sandbox import LIMITS, box
from benchmarks.workshop import Workshop
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.trace.events import EventLog
from steelyard.execution.mutations.watch_workspace import WorkspaceWatch
from steelyard.sandboxes.base import Command
from steelyard.sandboxes.bubblewrap.backend import BubblewrapBackend

FILES = 5_000
# A compiler that is quicker than most: it compiles 60 short functions for each file that it writes.
BUILD = f"""
import marshal, os
source = "".join(f"def f{{n}}(a, b):\\n    return [a * n for n in range(b)] + [{{n}}]\\n" for n in range(60))
for number in range({FILES}):
    folder = f"out/part-{{number // 50}}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{{folder}}/unit-{{number}}.o", "wb") as file:
        file.write(marshal.dumps(compile(source + f"x = {{number}}\\n", "unit", "exec")))
"""


def watch(workshop: Workshop) -> Iterator[Measured]:
    variants = {
        "watched": _build(workshop, is_watched=True),
        "not watched": _build(workshop, is_watched=False),
    }
    rounds = measure(variants, workshop.rounds(5), warm_up=1)
    what = f"a build of {FILES:,} files in a sandbox whose workspace is watched"
    yield Measured.of("watch", what, rounds, ratio("watched", "not watched"), target=1.02)


def _build(workshop: Workshop, *, is_watched: bool) -> Variant:
    backend = BubblewrapBackend()
    spec = replace(box(workshop, 100), limits=replace(LIMITS, disk_mb=256))

    def sample() -> float:
        with ExitStack() as alive:
            sandbox = alive.enter_context(backend.start(spec))
            folder = Path(alive.enter_context(tempfile.TemporaryDirectory(dir=workshop.folder)))
            log = alive.enter_context(EventLog(folder / "events.jsonl"))
            watching = (
                WorkspaceWatch(sandbox.running_tree(), log, Blobs(folder / "blobs")) if is_watched else None
            )
            if watching is not None:
                alive.callback(watching.close)
                watching.start()
            begin = time.perf_counter()
            done = sandbox.run(Command(("/usr/bin/python3", "-I", "-c", BUILD)))
            took = time.perf_counter() - begin
            assert done.exit_code == 0, done.stderr.text
            sandbox.kill_processes()
            if watching is not None:
                watching.finish()
                assert int(str(watching.counts["events"])) >= FILES + FILES // 50 + 1, watching.counts
            return took

    return sample


ROWS = {"watch": watch}
