"""Grading a patch: what it takes beyond the tests themselves, alone and many at once."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
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
MANY = 10 * CORES  # gradings in one sample of throughput
PACKAGES = ("inflection", "toolz", "boltons")
SMALL = 500  # tests that do next to nothing
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
SMALL_SUITE = "from product import ADDEND\n" + "".join(
    f"\n\ndef test_{number}():\n    assert ADDEND + {number} == {number + 2}\n" for number in range(SMALL)
)
LONG = 300  # tests that compute for more than 10 ms each: three seconds in all, as the target says
LONG_SUITE = "import hashlib\n\nfrom product import ADDEND\n" + "".join(
    f"""

def test_{number}():
    digest = b"{number}"
    for _ in range(45_000):
        digest = hashlib.sha256(digest).digest()
    assert ADDEND + {number} == {number + 2}
"""
    for number in range(LONG)
)
ONE_TEST = "from product import ADDEND\n\n\ndef test_addend():\n    assert ADDEND == 2\n"
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
    files = {"product.py": "ADDEND = 1\n", "tests/__init__.py": ""}
    hidden = {"tests/test_sums.py": SUITE}
    runner = [PYTHON, "-B", "-m", "unittest", "-q"]
    patched = _patched(workshop, "patched", {**files, **hidden})
    variants: dict[str, Variant] = {"suite": timed(lambda: _bare(runner, patched))}
    for mode in ("in_process", "twin"):
        check = {"id": "suite", "type": "tests", "cmd": " ".join(runner), "timeout_s": 60}
        oracle = {"checks": [{**check, **_hidden(workshop, f"suite-{mode}", hidden)}], "mode": mode}
        contract = workshop.contract(f"suite-{mode}", files, "", oracle=oracle)
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


def small(workshop: Workshop) -> Iterator[Measured]:
    """A suite in which watching the tests would be most of the work, if it were not cheap."""
    graded, bare = _with_pytest(workshop, "small", {"tests/test_small.py": SMALL_SUITE})
    variants = {"suite": timed(bare), **{mode: timed(grading) for mode, grading in graded.items()}}
    rounds = measure(variants, workshop.rounds(8), warm_up=1)
    for mode, share, target in (("in_process", 1.05, 100), ("twin", 2.1, 150)):
        what = f"a patch graded by {SMALL} small tests of pytest, {mode}: what it takes beyond {share:g} t"
        yield Measured.of("small", what, rounds, _beyond(mode, share), target=target, unit="ms")


def many(workshop: Workshop) -> Iterator[Measured]:
    """A suite of one test with pytest, as many at once as there are cores; and what the memory does meanwhile."""
    graded, bare = _with_pytest(workshop, "one", {"tests/test_two.py": ONE_TEST})
    grown: list[float] = []

    def all_graded() -> None:
        before = _resident_mb()
        _at_once(graded["in_process"])
        grown.append(_resident_mb() - before)

    variants = {
        "in_process": timed(all_graded),
        "twin": timed(lambda: _at_once(graded["twin"])),
        "bare": timed(lambda: _at_once(bare)),
    }
    rounds = measure(variants, workshop.rounds(8), warm_up=1)
    what = f"{MANY} gradings of a pytest suite of one test, {CORES} at once, against bare pytest"
    yield Measured.of("many", what, rounds, ratio("in_process", "bare"), target=1 / 0.7)
    # One test decides, so four starts of pytest keep the chance of guessing at one in eight: the target is one start's.
    yield Measured.of("many", f"{what}, with the twin", rounds, ratio("twin", "bare"))
    growth = [{"growth": value} for value in grown[2:]]
    what = f"memory of the controller that {MANY} gradings leave taken"
    yield Measured.of("many", what, growth, lambda one: one["growth"], target=2, unit="MB")


def long_suite(workshop: Workshop) -> Iterator[Measured]:
    """`steelyard grade` as a whole process, warm, by a suite of more than three seconds: its processor time against bare pytest."""
    hidden = {"tests/test_long.py": LONG_SUITE}
    contracts, bare = _contracts_with_pytest(workshop, "long", hidden, ("twin",))
    patch, out = workshop.folder / "two.patch", workshop.folder / "runs"
    steelyard = str(Path(sys.executable).with_name("steelyard"))
    options = ("--patch", str(patch), "--no-judge", "--out", str(out))

    def whole_process() -> None:
        command = [steelyard, "grade", str(contracts["twin"].folder), *options]
        subprocess.run(command, check=True, capture_output=True)

    variants = {"pytest": timed(bare, _children_cpu_s), "grade": timed(whole_process, _children_cpu_s)}
    rounds = measure(variants, workshop.rounds(4), warm_up=1)
    what = f"steelyard grade by {LONG} tests of pytest as a whole process, twin: processor time against bare pytest"
    yield Measured.of("long_suite", what, rounds, ratio("grade", "pytest"), target=2.2)


def packages(workshop: Workshop) -> Iterator[Measured]:
    """Suites of real packages: a later grading against the suite alone in a sandbox, and the first one for comparison."""
    from real import PROJECTS, Shop, asked  # noqa: PLC0415  # needs an index of packages

    for project in PROJECTS:
        if project.name not in PACKAGES:
            continue
        shop = Shop(project, workshop.folder / project.name)
        contract = shop.contract("twin", "twin", asked(project, shop.ids()))
        start = time.perf_counter()
        grade(contract, patch=contract.reference, out=workshop.folder / "runs")
        first = time.perf_counter() - start
        variants: dict[str, Variant] = {
            "suite": lambda shop=shop, contract=contract: shop.bare_s(contract),  # type: ignore[misc]
            "later": timed(
                lambda contract=contract: grade(  # type: ignore[misc]
                    contract, patch=contract.reference, out=workshop.folder / "runs"
                )
            ),
        }
        rounds = measure(variants, workshop.rounds(4), warm_up=1)
        what = f"the suite of {project.name} {project.version}, twin: what a later grading takes beyond 2.1 t"
        yield Measured.of("packages", what, rounds, _beyond("later", 2.1), target=150, unit="ms")
        what = f"the suite of {project.name} {project.version}, twin: the first grading, in t"
        yield Measured.of(
            "packages", what, [{**one, "first": first} for one in rounds], ratio("first", "suite")
        )


def _hidden(workshop: Workshop, name: str, files: dict[str, str]) -> dict[str, object]:
    """The `inject` of a check of this contract that hides these files."""
    folder = workshop.folder / name / "hidden"
    folder.mkdir(parents=True)
    for path, text in files.items():
        (folder / Path(path).name).write_text(text)
    return {"inject": [{"src": f"hidden/{Path(path).name}", "dest": path} for path in files]}


def _with_pytest(
    workshop: Workshop, name: str, hidden: dict[str, str], modes: Sequence[str] = ("in_process", "twin")
) -> tuple[dict[str, Callable[[], None]], Callable[[], None]]:
    """(gradings by mode of a contract whose setup brings pytest, the same tests by bare pytest)."""
    contracts, bare = _contracts_with_pytest(workshop, name, hidden, modes)
    return {mode: _grading(workshop, contract, mode) for mode, contract in contracts.items()}, bare


def _contracts_with_pytest(
    workshop: Workshop, name: str, hidden: dict[str, str], modes: Sequence[str]
) -> tuple[dict[str, Contract], Callable[[], None]]:
    """(contracts by mode whose setup brings pytest, the same tests by bare pytest)."""
    files = {"product.py": "ADDEND = 1\n"}
    patched = _patched(workshop, f"patched-{name}", {**files, **hidden})
    archive = pytest_archive(workshop.folder)
    contracts = {}
    for mode in modes:
        copied = workshop.folder / f"{name}-{mode}" / "repo" / ARCHIVE
        copied.parent.mkdir(parents=True)
        copyfile(archive, copied)
        check = {"id": name, "type": "pytest", "timeout_s": 60, **_hidden(workshop, f"{name}-{mode}", hidden)}
        oracle = {"checks": [check], "mode": mode}
        contracts[mode] = workshop.contract(f"{name}-{mode}", files, "", oracle=oracle, setup=[SETUP])
    runner = [PYTHON, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    home = home_with_pytest(workshop.folder / f"home-{name}")
    return contracts, lambda: _bare(runner, patched, home)


def _children_cpu_s() -> float:
    """What all processes that have ended took of the processors."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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


ROWS = {"grade": alone, "small": small, "many": many, "long_suite": long_suite, "packages": packages}
