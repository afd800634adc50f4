"""One whole trial, and one whole grading: everything that surrounds the commands themselves."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bare import bubblewrap
from benchmarks.measure import Measured, Variant, measure, ratio, timed
from benchmarks.sandbox import LIMITS
from benchmarks.workshop import Workshop
from steelyard.api import grade, run_trial
from steelyard.sandboxes.base import Box, Command
from steelyard.sandboxes.bubblewrap import BubblewrapBackend
from steelyard.sandboxes.launching import launcher

SHELL = ("/bin/sh", "-c", "true")
TRIALS = 10  # in one sample of CPU time: the kernel counts that of a launcher's children in steps of 10 ms
PYTHON = "/usr/bin/python3"
SUITE = """
import hashlib, unittest

from product import ADDEND

class Sums(unittest.TestCase):
    def work(self):
        digest = b""
        for _ in range(45_000):
            digest = hashlib.sha256(digest).digest()
        self.assertEqual(ADDEND, 2)

for number in range(20):
    setattr(Sums, f"test_{number}", Sums.work)
"""
PATCH = """\
diff --git a/product.py b/product.py
--- a/product.py
+++ b/product.py
@@ -1 +1 @@
-ADDEND = 1
+ADDEND = 2
"""


def trial(workshop: Workshop) -> Iterator[Measured]:
    """An agent that runs `true`, a check that runs `true`: two sandboxes, trace, capture, grade, seal."""
    variants = _variants(workshop)
    rounds = measure(variants, workshop.rounds(40))
    what = "a trivial trial, all included, against two starts of bubblewrap alone with the same commands"
    yield Measured.of("trial", what, rounds, ratio("trial", "two of bubblewrap alone"), target=3)
    what = "the same, against two sandboxes of ours with the same commands"
    yield Measured.of("trial", what, rounds, ratio("trial", "two sandboxes"))


def cpu(workshop: Workshop) -> Iterator[Measured]:
    """CPU of the controller, the launcher and all that both started, the sandboxes' own included."""
    variants = {name: _cpu_of(variant) for name, variant in _variants(workshop).items()}
    rounds = measure(variants, workshop.rounds(5), warm_up=1)
    what = "CPU time of a trivial trial: controller, launcher, bubblewrap and the commands"
    yield Measured.of("cpu", what, rounds, lambda one: 1000 * one["trial"], target=40, unit="ms")


def _variants(workshop: Workshop) -> dict[str, Variant]:
    contract = workshop.contract("trivial", {"README.md": "nothing\n"}, "true")
    backend, box = BubblewrapBackend(), Box(layers=(contract.snapshot.tree,), limits=LIMITS)

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


def grading(workshop: Workshop) -> Iterator[Measured]:
    """A patch graded by a suite of about a second, against the same runner on a patched folder."""
    files = {"product.py": "ADDEND = 1\n", "tests/__init__.py": "", "tests/test_sums.py": SUITE}
    runner = [PYTHON, "-B", "-m", "unittest", "-q"]
    contract = workshop.contract("suite", files, " ".join(runner))
    patch = workshop.folder / "suite.patch"
    patch.write_text(PATCH)
    patched = workshop.folder / "patched"
    for path, text in {**files, "product.py": "ADDEND = 2\n"}.items():
        (patched / path).parent.mkdir(parents=True, exist_ok=True)
        (patched / path).write_text(text)

    def graded() -> None:
        result = grade(contract, patch=patch, out=workshop.folder / "runs")
        assert result["verdict"] == "pass", result

    def bare() -> None:
        subprocess.run(runner, cwd=patched, check=True, capture_output=True)

    rounds = measure({"grade": timed(graded), "suite": timed(bare)}, workshop.rounds(8), warm_up=1)
    yield Measured.of(
        "grade",
        "a patch graded by a suite of t = 1 s: what it takes beyond 1.05 t",
        rounds,
        lambda one: 1000 * (one["grade"] - 1.05 * one["suite"]),
        target=100,
        unit="ms",
    )


ROWS = {"trial": trial, "cpu": cpu, "grade": grading}
