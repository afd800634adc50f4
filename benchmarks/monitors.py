"""The monitors: what an event costs that they follow, and what they take of a core during a run.

CPU time of this process, as for the trace.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Measured, Round, measure, ratio
from benchmarks.trace import BATCH, PAYLOAD
from benchmarks.workshop import Workshop
from steelyard.contract.model import Budget, Policy
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.trace.events import EventLog
from steelyard.execution.supervision.interventions import Interventions
from steelyard.execution.supervision.sampler import LOOK_S, Sampler
from steelyard.monitors.watchdog import Watchdog
from steelyard.sandboxes.process_tree import ProcessTree

CPU = time.process_time
RUN_EVENTS, PER_SECOND = 10_000, 100  # a hundred events a second is a busy run
PROCESSES = 20
Step = tuple[str, dict[str, Any]]


def mixed(events: int) -> list[Step]:
    """What a coding agent that reports everything leaves: calls, results, edits, answers of its model, samples."""
    steps: list[Step] = [("stage.enter", {"stage": "write"})]
    while len(steps) < events:
        number = len(steps)
        steps += [
            (
                "model.response",
                {"text": f"Next I look at part {number}. " * 20, "usage": {"tokens_in": 9, "tokens_out": 9}},
            ),
            (
                "tool.call",
                {"kind": "execute", "command": f"cd src && grep -rn 'name{number}' . | head -n 20"},
            ),
            ("tool.result", dict(PAYLOAD)),
            (
                "tool.call",
                {
                    "kind": "write",
                    "path": f"src/m{number % 40}.py",
                    "content": f"def f():\n    return {number}\n" * 20,
                },
            ),
            ("tool.result", dict(PAYLOAD)),
            (
                "workspace.change",
                {"path": f"src/m{number % 40}.py", "before": None, "after": f"{number:064x}"},
            ),
            (
                "process.start",
                {
                    "argv": ["python3", "-m", "pytest", "-q", f"tests/t{number}.py"],
                    "process": f"{number}-1",
                    "parent": "1-1",
                },
            ),
            (
                "sandbox.sample",
                {"cpu_s": 1.0, "memory_bytes": 1 << 20, "processes": 3, "disk_bytes": 1, "left_out": 0},
            ),
        ]
    return steps[:events]


def filled(folder: RunFolder, steps: list[Step], *, watched: bool, drained: bool) -> float:
    folder.events.unlink(missing_ok=True)
    log = EventLog(folder.events)
    budget = Budget(tokens=10**9, tool_calls=10**6, dependency_installs=10**6)
    watchdog = Watchdog.of(Policy(), budget)
    interventions = Interventions(folder, log, watchdog, Policy(), lambda _: False) if watched else None
    start = CPU()
    for kind, payload in steps:
        log.append(kind, "agent", payload)
    if interventions is not None and drained:
        interventions.drain()
    taken = CPU() - start
    log.close()
    return taken


def variants(folder: RunFolder, steps: list[Step], *, drained: bool) -> dict[str, Callable[[], float]]:
    return {
        "with monitors": lambda: filled(folder, steps, watched=True, drained=drained),
        "without": lambda: filled(folder, steps, watched=False, drained=drained),
    }


def event(workshop: Workshop) -> Iterator[Measured]:
    folder = RunFolder.create(workshop.folder / "monitors", "event")
    rounds = measure(variants(folder, mixed(BATCH), drained=False), workshop.rounds(40))
    what = f"append {BATCH:,} events that all monitors follow, against a log that nothing follows"
    yield Measured.of("event", what, rounds, ratio("with monitors", "without"), target=1.3)


def monitors(workshop: Workshop) -> Iterator[Measured]:
    folder = RunFolder.create(workshop.folder / "monitors", "run")
    rounds = measure(variants(folder, mixed(RUN_EVENTS), drained=True), workshop.rounds(9), warm_up=1)
    run_s = RUN_EVENTS / PER_SECOND

    def share(one: Round) -> float:
        return 100 * (one["with monitors"] - one["without"]) / run_s

    what = f"all monitors over a run of {RUN_EVENTS:,} events, {PER_SECOND} a second, in % of one core"
    yield Measured.of("monitors", what, rounds, share, target=2, unit="%")


def sampler(workshop: Workshop) -> Iterator[Measured]:
    """Looks for the processes of a tree as the sampler of a run does; a look is taken ten times a second at most."""
    log = EventLog(workshop.folder / "sampler.jsonl")
    line = f"for n in $(seq {PROCESSES}); do sleep 600 & done; echo up; wait"
    with subprocess.Popen(["/bin/sh", "-c", line], stdout=subprocess.PIPE, start_new_session=True) as root:
        assert root.stdout is not None
        root.stdout.readline()
        tree, own = ProcessTree(root.pid, (Path("/nowhere"),)), Sampler(log)

        def look() -> float:
            start = CPU()
            for _ in range(20):
                own.look(tree)
            return CPU() - start

        rounds = measure({"20 looks": look}, workshop.rounds(20))
        for one in tree.processes():
            subprocess.run(["/bin/kill", str(one.pid)], check=False)
    log.close()
    what = f"the sampler of a run with {PROCESSES} processes, in % of one core"
    yield Measured.of(
        "sampler", what, rounds, lambda one: 100 * one["20 looks"] / 20 / LOOK_S, target=2, unit="%"
    )


ROWS = {"event": event, "monitors": monitors, "sampler": sampler}
