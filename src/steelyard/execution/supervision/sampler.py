"""The agent's sandbox -> events of what is seen in it from outside, while the agent works.

    process.start    {"process": "812-99120", "parent": "809-99101", "argv": ["pip", "install", "x"]}
    sandbox.sample   {"cpu_s": 3.1, "memory_bytes": 90112, "processes": 4, "disk_bytes": 4096, "left_out": 0}

Processes are looked for several times a second, so that a short one may stay unseen; a look that takes long is taken less
often. A run has at most `MOST_PROCESSES` such events; `left_out` counts the others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from steelyard.errors import InfraFault
from steelyard.evidence.trace.events import EventLog
from steelyard.sandboxes.process_tree import Process, ProcessTree

LOOK_S = 0.1
MOST_PROCESSES = 2000
SAMPLE_S = 1.0
_OFTEN = 60  # samples, and then one in
_RARELY_S = 5.0
_SHARE = 50  # a look may take this part of the time


class Sampler:
    """Of one run, over all its turns."""

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._seen: set[tuple[str, tuple[str, ...]]] = set()
        self._argv: dict[str, tuple[str, ...]] = {}
        self._count = 0
        self._samples = 0
        self._took_s = 0.0  # CPU time of the last look
        # Command lines of the agent itself, which the operator wrote
        self.agent_argv: set[tuple[str, ...]] = set()

    @contextmanager
    def sampling(self, tree: ProcessTree | None, on_look: Callable[[], None]) -> Iterator[None]:
        """While the agent works; `on_look` is called after each look, and once more at the end."""
        ended = threading.Event()
        thread = threading.Thread(
            target=self._sample, args=(tree, ended, on_look), name="steelyard-sampler", daemon=True
        )
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            on_look()

    def _sample(self, tree: ProcessTree | None, ended: threading.Event, on_look: Callable[[], None]) -> None:
        due = time.monotonic() + SAMPLE_S
        while not ended.wait(max(LOOK_S, self._took_s * _SHARE)):
            begun = time.monotonic()
            with suppress(InfraFault, OSError):  # a log that cannot be written is reported by the run itself
                if tree is not None:
                    self.look(tree, on_look)
                if tree is not None and begun >= due:
                    self._append_sample(tree)
                    due = begun + (SAMPLE_S if self._samples < _OFTEN else _RARELY_S)
                on_look()

    def look(self, tree: ProcessTree, on_look: Callable[[], None] = lambda: None) -> None:
        """Append an event for each process that is new. `on_look` comes first: it learns the agent's own command lines."""
        begun = time.thread_time()
        processes = tree.processes()
        self._took_s = time.thread_time() - begun
        on_look()  # after the look: the call that started a process is in the log before the process runs
        for process in processes:
            if (process.key, process.argv) not in self._seen and process.argv:
                self._seen.add((process.key, process.argv))
                self._add(process)

    def _add(self, process: Process) -> None:
        # It has not started a program of its own yet
        is_fork = self._argv.get(process.parent) == process.argv
        self._argv[process.key] = process.argv
        if is_fork or process.argv in self.agent_argv:
            return
        self._count += 1
        if self._count > MOST_PROCESSES:
            return
        payload = {"process": process.key, "parent": process.parent, "argv": list(process.argv)}
        self._events.append("process.start", "harness", payload)

    def _append_sample(self, tree: ProcessTree) -> None:
        self._samples += 1
        left_out = max(0, self._count - MOST_PROCESSES)
        self._events.append("sandbox.sample", "harness", {**tree.usage()._asdict(), "left_out": left_out})
