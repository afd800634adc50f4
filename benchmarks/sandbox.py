"""Sandboxes: starting one, commands in one, and how little the size of the repository matters."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.bare import TRUE, bubblewrap, spawn_true
from benchmarks.measure import Measured, Variant, measure, ratio, timed
from benchmarks.workshop import Workshop
from steelyard.sandboxes.base import Command, Limits, SandboxSpec
from steelyard.sandboxes.bubblewrap.backend import BubblewrapBackend

LIMITS = Limits(memory_mb=512, guaranteed_mb=64, disk_mb=64)
SIZES = (100, 1_000, 7_000, 20_000)
COMMAND = Command((TRUE,))
PYTHON = Command(("/usr/bin/python3", "-I", "-c", "import asyncio, unittest"))
SEARCH = Command(("/bin/sh", "-c", "grep -r nowhere-in-any-file . || true"))


def box(workshop: Workshop, files: int) -> SandboxSpec:
    return SandboxSpec(layers=(workshop.tree(files),), limits=LIMITS)


def start(workshop: Workshop) -> Iterator[Measured]:
    """From nothing to the end of the first command; its teardown is in `tree`."""
    backend, small = BubblewrapBackend(), box(workshop, 100)

    def start_and_run() -> float:
        begin = time.perf_counter()
        with backend.start(small) as sandbox:
            sandbox.run(COMMAND)
            return time.perf_counter() - begin

    variants = {
        "sandbox": start_and_run,
        "bubblewrap alone": timed(lambda: bubblewrap(small.layers[0], (TRUE,))),
        "bare spawn": timed(spawn_true),
    }
    rounds = measure(variants, workshop.rounds(60))
    what = "sandbox with overlay, seccomp, cgroups and init, to the end of its first command"
    yield Measured.of("start", what, rounds, ratio("sandbox", "bare spawn"), target=16)


def command(workshop: Workshop) -> Iterator[Measured]:
    with BubblewrapBackend().start(box(workshop, 100)) as sandbox:
        variants = {"command": timed(lambda: sandbox.run(COMMAND)), "bare spawn": timed(spawn_true)}
        rounds = measure(variants, workshop.rounds(400))
    what = "a command in a live sandbox, output captured"
    yield Measured.of("command", what, rounds, ratio("command", "bare spawn"), target=1.3)


def watched(workshop: Workshop) -> Iterator[Measured]:
    """An agent's sandbox reports refused system calls; a bench does not."""
    spec, backend = box(workshop, 100), BubblewrapBackend()
    writes = Command(("/bin/sh", "-c", "i=0; while [ $i -lt 500 ]; do : > /tmp/$i; i=$((i+1)); done"))
    with (
        backend.start(spec) as plain,
        backend.start(replace(spec, on_attempt=lambda _: None)) as agents,
    ):
        variants = {
            "command, watched": timed(lambda: agents.run(COMMAND)),
            "command, not watched": timed(lambda: plain.run(COMMAND)),
            "500 files, watched": timed(lambda: agents.run(writes)),
            "500 files, not watched": timed(lambda: plain.run(writes)),
            "bare spawn": timed(spawn_true),
        }
        rounds = measure(variants, workshop.rounds(200))
    what = "a command in a sandbox whose system calls are watched"
    yield Measured.of("watched", what, rounds, ratio("command, watched", "bare spawn"), target=1.3)
    what = "500 files opened for writing and closed, watched against not watched"
    compared = ratio("500 files, watched", "500 files, not watched")
    yield Measured.of("watched", what, rounds, compared, target=3)
    yield from _watched_reads(workshop)


def _watched_reads(workshop: Workshop) -> Iterator[Measured]:
    """What opens files for reading: an ordinary program, and one that does little else."""
    spec, backend = box(workshop, 7_000), BubblewrapBackend()
    with (
        backend.start(spec) as plain,
        backend.start(replace(spec, on_attempt=lambda _: None)) as agents,
    ):
        variants = {
            "python, watched": timed(lambda: agents.run(PYTHON)),
            "python, not watched": timed(lambda: plain.run(PYTHON)),
            "search, watched": timed(lambda: agents.run(SEARCH)),
            "search, not watched": timed(lambda: plain.run(SEARCH)),
        }
        rounds = measure(variants, workshop.rounds(40))
    what = "a start of Python that imports asyncio and unittest (142 opens), watched against not watched"
    yield Measured.of("watched", what, rounds, ratio("python, watched", "python, not watched"), target=1.05)
    what = "a search through 7,000 files, watched against not watched"
    yield Measured.of("watched", what, rounds, ratio("search, watched", "search, not watched"), target=3)


def tree(workshop: Workshop) -> Iterator[Measured]:
    """A sandbox's whole life on repositories of different sizes, nothing run in it."""
    backend = BubblewrapBackend()
    empty = workshop.folder / "empty"
    empty.mkdir(exist_ok=True)

    def life(of: SandboxSpec) -> Variant:
        return timed(lambda: backend.start(of).close())

    variants = {f"{files:,} files": life(box(workshop, files)) for files in SIZES}
    variants["no files"] = life(SandboxSpec(layers=(empty,), limits=LIMITS))
    variants["bare spawn"] = timed(spawn_true)
    rounds = measure(variants, workshop.rounds(40))
    yield Measured.of(
        "tree",
        "materialise 7,000 files and tear down: what they add to a sandbox's life, in bare spawns",
        rounds,
        lambda one: (one["7,000 files"] - one["no files"]) / one["bare spawn"],
        target=2,
    )
    what = "a sandbox's life on 20,000 files against 100"
    yield Measured.of("tree", what, rounds, ratio("20,000 files", "100 files"), target=1.2)


ROWS = {"start": start, "command": command, "watched": watched, "tree": tree}
