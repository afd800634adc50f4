"""The trace: appending to it, verifying it, and what a long one costs in time and memory.

CPU time of this process: nothing here waits, and the load of the machine must not favour the shorter of two.
"""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.measure import Measured, Round, measure, ratio, timed
from benchmarks.workshop import Workshop
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.folder.seal import seal
from steelyard.evidence.trace.chain import measure_chain, read_events, verify_chain
from steelyard.evidence.trace.events import EventLog
from steelyard.evidence.trace.summary import summarise_events

CPU = time.process_time
BATCH = 2_000
LONG = 1_000_000
PAYLOAD: dict[str, Any] = {
    "exit_status": 0,
    "signal": None,
    "timed_out": False,
    "wall_ns": 1_843_211,
    "stdout": {"digest": "9f" * 32, "bytes": 5120},
}


def fill(path: Path, events: int) -> None:
    with EventLog(path) as log:
        for _ in range(events):
            log.append("tool.result", "agent", PAYLOAD)


def append(workshop: Workshop) -> Iterator[Measured]:
    path = workshop.folder / "append.jsonl"
    fill(path, BATCH)
    lines = path.read_bytes().splitlines(keepends=True)

    def ours() -> float:
        path.unlink()
        log = EventLog(path)
        start = CPU()
        for _ in lines:
            log.append("tool.result", "agent", PAYLOAD)
        taken = CPU() - start
        log.close()
        return taken

    def raw() -> float:
        descriptor = os.open(workshop.folder / "raw.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.ftruncate(descriptor, 0)
        start = CPU()
        for line in lines:
            os.write(descriptor, line)
        taken = CPU() - start
        os.close(descriptor)
        return taken

    rounds = measure({"append": ours, "raw write": raw}, workshop.rounds(40))
    what = f"append {BATCH:,} events to the trace, against one write(2) for each line"
    yield Measured.of("append", what, rounds, ratio("append", "raw write"), target=10)


def verify(workshop: Workshop) -> Iterator[Measured]:
    path = workshop.folder / "verify.jsonl"
    fill(path, BATCH)

    def hashed() -> None:
        with path.open("rb") as stream:
            for line in stream:
                hashlib.sha256(line).hexdigest()

    variants = {"verify": timed(lambda: _hold(path), CPU), "sha256": timed(hashed, CPU)}
    rounds = measure(variants, workshop.rounds(40))
    what = f"verify {BATCH:,} events, against a SHA-256 of each line"
    yield Measured.of("verify", what, rounds, ratio("verify", "sha256"), target=4)


def _hold(path: Path) -> None:
    assert verify_chain(path) is None


def long(workshop: Workshop) -> Iterator[Measured]:
    """Append, seal, verify and load a run of that many events."""
    numbers = count()

    def life(events: int) -> Callable[[], None]:
        def run() -> None:
            folder = RunFolder.create(workshop.folder / "long", f"run-{next(numbers)}")
            folder.write_json("manifest.json", {})
            folder.write_json("change.json", {})
            fill(folder.events, events)
            seal(folder)
            assert load_evidence(folder).summary.counts["events"] == events
            folder.events.unlink()

        return run

    variants = {"100,000 events": timed(life(100_000), CPU), "1,000 events": timed(life(1_000), CPU)}
    rounds = measure(variants, workshop.rounds(5), warm_up=1)
    what = "a run of 100,000 events, appended, sealed, verified and loaded, against one of 1,000"
    yield Measured.of("long", what, rounds, ratio("100,000 events", "1,000 events"), target=110)


def memory(workshop: Workshop) -> Iterator[Measured]:
    """The peak of a child that appends, measures and summarises; in MB."""

    def peak(events: int) -> float:
        path = workshop.folder / f"memory-{events}.jsonl"
        command = [sys.executable, "-m", "benchmarks.trace", str(path), str(events)]
        root = Path(__file__).parents[1]
        result = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        path.unlink()
        return int(result.stdout) / 1024

    one: Round = {f"{LONG:,} events (MB)": peak(LONG), "1,000 events (MB)": peak(1_000)}
    what = f"peak memory of a process that appends, verifies and summarises {LONG:,} events, against 1,000"
    names = list(one)
    yield Measured.of("memory", what, [one], ratio(names[0], names[1]), target=1.1)


ROWS = {"append": append, "verify": verify, "long": long, "memory": memory}

if __name__ == "__main__":
    where, events = Path(sys.argv[1]), int(sys.argv[2])
    fill(where, events)
    measure_chain(where)
    summarise_events(read_events(where))
    sys.stdout.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
