"""Grading a patch: what it takes beyond the tests themselves, alone and many at once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copyfile

from tests.offline_pytest import ARCHIVE, SETUP, home_with_pytest, pytest_archive

from benchmarks.measure import Measured, Variant, measure, ratio, timed
from benchmarks.workshop import Workshop
from steelyard.api import grade
from steelyard.contract.contract import Contract

PYTHON = "/usr/bin/python3"
CORES = os.cpu_count() or 1
MANY = 20 * CORES  # gradings in one sample of throughput
METHOD = """
    def test_{number}(self):
        digest = b""
        for _ in range(45_000):
            digest = hashlib.sha256(digest).digest()
        self.assertEqual(ADDEND, 2)
"""
SUITE = (
    "import hashlib, unittest\n\nfrom product import ADDEND\n\n\nclass Sums(unittest.TestCase):\n"
    + "\n".join(METHOD.format(number=number) for number in range(20))
)
ONE_TEST = "from product import ADDEND\n\n\ndef test_two():\n    assert ADDEND == 2\n"
PATCH = """\
diff --git a/product.py b/product.py
--- a/product.py
+++ b/product.py
@@ -1 +1 @@
-ADDEND = 1
+ADDEND = 2
"""


def alone(workshop: Workshop) -> Iterator[Measured]:
    """A patch graded by a suite of about a second, against the same runner on a patched folder."""
    files = {"product.py": "ADDEND = 1\n", "tests/__init__.py": "", "tests/test_sums.py": SUITE}
    runner = [PYTHON, "-B", "-m", "unittest", "-q"]
    patched = _patched(workshop, "patched", files)
    variants: dict[str, Variant] = {"suite": timed(lambda: _bare(runner, patched))}
    for mode in ("in_process", "twin"):
        check = {"id": "suite", "type": "tests", "cmd": " ".join(runner), "timeout_s": 60}
        contract = workshop.contract(f"suite-{mode}", files, "", oracle={"checks": [check], "mode": mode})
        variants[mode] = timed(_grading(workshop, contract, mode))
    rounds = measure(variants, workshop.rounds(8), warm_up=1)
    for mode, share, target in (("in_process", 1.05, 100), ("twin", 2.1, 150)):
        yield Measured.of(
            "grade",
            f"a patch graded by a suite of t = 1 s, {mode}: what it takes beyond {share:g} t",
            rounds,
            _beyond(mode, share),
            target=target,
            unit="ms",
        )


def many(workshop: Workshop) -> Iterator[Measured]:
    """A suite of one test with pytest, as many at once as there are cores; and what the memory does meanwhile."""
    files = {"product.py": "ADDEND = 1\n", "tests/test_two.py": ONE_TEST}
    patched = _patched(workshop, "patched-one", files)
    (workshop.folder / "one/repo" / ARCHIVE).parent.mkdir(parents=True)
    copyfile(pytest_archive(workshop.folder), workshop.folder / "one/repo" / ARCHIVE)
    check = {"id": "one", "type": "pytest", "timeout_s": 60}
    oracle = {"checks": [check], "mode": "in_process"}
    contract = workshop.contract("one", files, "", oracle=oracle, setup=[SETUP])
    one_grading = _grading(workshop, contract, "in_process")
    runner = [PYTHON, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    home = home_with_pytest(workshop.folder / "home")
    grown: list[float] = []

    def graded() -> None:
        before = _resident_mb()
        _at_once(one_grading)
        grown.append(_resident_mb() - before)

    variants = {
        "steelyard": timed(graded),
        "bare": timed(lambda: _at_once(lambda: _bare(runner, patched, home))),
    }
    rounds = measure(variants, workshop.rounds(5), warm_up=1)
    what = f"{MANY} gradings of a pytest suite of one test, {CORES} at once, against bare pytest"
    yield Measured.of("many", what, rounds, ratio("steelyard", "bare"), target=1 / 0.7)
    growth = [{"growth": value} for value in grown[2:]]
    what = f"memory of the controller that {MANY} gradings leave taken"
    yield Measured.of("many", what, growth, lambda one: one["growth"], target=2, unit="MB")


def _patched(workshop: Workshop, name: str, files: dict[str, str]) -> Path:
    folder = workshop.folder / name
    for path, text in {**files, "product.py": "ADDEND = 2\n"}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (workshop.folder / "two.patch").write_text(PATCH)
    return folder


def _grading(workshop: Workshop, contract: Contract, mode: str) -> Callable[[], None]:
    def graded() -> None:
        result = grade(contract, patch=workshop.folder / "two.patch", out=workshop.folder / "runs")
        assert (result["verdict"], result["assurance"]["oracle"]) == ("pass", mode), result

    return graded


def _bare(runner: list[str], folder: Path, home: Path | None = None) -> None:
    env = {"PATH": os.defpath, "HOME": str(home or folder)}
    subprocess.run(runner, cwd=folder, env=env, check=True, capture_output=True)


def _at_once(action: Callable[[], None]) -> None:
    with ThreadPoolExecutor(CORES) as pool:
        for done in [pool.submit(action) for _ in range(MANY)]:
            done.result()


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _beyond(mode: str, share: float) -> Callable[..., float]:
    return lambda one: 1000 * (one[mode] - share * one["suite"])


ROWS = {"grade": alone, "many": many}
