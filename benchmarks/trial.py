"""One whole trial: everything that surrounds the commands themselves."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bare import bubblewrap
from benchmarks.measure import Measured, Variant, measure, ratio, timed
from benchmarks.sandbox import LIMITS
from benchmarks.workshop import Workshop
from steelyard.api import run_trial
from steelyard.sandboxes.base import Command, SandboxSpec
from steelyard.sandboxes.bubblewrap.backend import BubblewrapBackend
from steelyard.sandboxes.bubblewrap.launcher_client import launcher

SHELL = ("/bin/sh", "-c", "true")
TRIALS = 10  # in one sample of CPU time: the kernel counts that of a launcher's children in steps of 10 ms


def trial(workshop: Workshop) -> Iterator[Measured]:
    """An agent that runs `true`, a check that runs `true`: two sandboxes, trace, capture, grade, seal."""
    variants = _variants(workshop)
    rounds = measure(variants, workshop.rounds(40))
    what = "a trivial trial, all included, against two starts of bubblewrap alone with the same commands"
    yield Measured.of("trial", what, rounds, ratio("trial", "two of bubblewrap alone"), target=3)
    what = "the same, against two sandboxes of Steelyard with the same commands"
    yield Measured.of("trial", what, rounds, ratio("trial", "two sandboxes"))


def cpu(workshop: Workshop) -> Iterator[Measured]:
    """CPU of the controller, the launcher and all that both started, the sandboxes' own included."""
    variants = {name: _cpu_of(variant) for name, variant in _variants(workshop).items()}
    rounds = measure(variants, workshop.rounds(5), warm_up=1)
    what = "CPU time of a trivial trial: controller, launcher, bubblewrap and the commands"
    yield Measured.of("cpu", what, rounds, lambda one: 1000 * one["trial"], target=40, unit="ms")


def _variants(workshop: Workshop) -> dict[str, Variant]:
    contract = workshop.contract("trivial", {"README.md": "nothing\n"}, "true")
    backend, box = BubblewrapBackend(), SandboxSpec(layers=(contract.snapshot.tree,), limits=LIMITS)

    def one_trial() -> None:
        result = run_trial(contract, "command:true", out=workshop.folder / "runs")
        assert result["verdict"] == "pass", result

    def two_sandboxes() -> None:
        for _ in range(2):
            with backend.start(box) as sandbox:
                sandbox.run(Command(SHELL))

    def two_of_bubblewrap() -> None:
        for _ in range(2):
            bubblewrap(contract.snapshot.tree, SHELL)

    return {
        "trial": timed(one_trial),
        "two sandboxes": timed(two_sandboxes),
        "two of bubblewrap alone": timed(two_of_bubblewrap),
    }


def _cpu_of(variant: Variant) -> Variant:
    def sample() -> float:
        before = _cpu_s()
        for _ in range(TRIALS):
            variant()
        return (_cpu_s() - before) / TRIALS

    return sample


def _cpu_s() -> float:
    """Of this process, of its launcher, and of every child of both that has ended."""
    fields = Path(f"/proc/{launcher().pid}/stat").read_text().rpartition(")")[2].split()
    launched = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return launched + sum(usage.ru_utime + usage.ru_stime for usage in usages)


ROWS = {"trial": trial, "cpu": cpu}
