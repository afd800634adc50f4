"""What all processes of one `pytest -n` share: compiled tests, a folder, and a way to make something in it once.

with once(shared(factory) / "home") as first:
    if first:
        ...  # the others wait, and find it made
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FEW = 50  # files that each process may as well compile itself


def compile_tests() -> None:
    """Let pytest compile the tests of a fresh clone once, on all cores, before each process of `pytest -n` would do that."""
    files = [str(path) for path in sorted(TESTS.rglob("test_*.py")) if not _is_compiled(path)]
    if len(files) < FEW:
        return
    count = os.cpu_count() or 1
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:xdist"]
    parts = [
        subprocess.Popen(
            [*command, *files[part::count]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for part in range(count)
    ]
    for part in parts:
        part.wait()  # what went wrong is reported by the processes that run the tests


def _is_compiled(path: Path) -> bool:
    compiled = (path.parent / "__pycache__").glob(f"{path.stem}.*-pytest-*.pyc")
    return any(one.stat().st_mtime >= path.stat().st_mtime for one in compiled)


def shared(factory: pytest.TempPathFactory) -> Path:
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@contextmanager
def once(place: Path) -> Iterator[bool]:
    """Whether `place` has not been made yet; the mark that it is made is written when the block ends without an error."""
    done = place.with_name(f"{place.name}.done")
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        first = not done.exists()
        yield first
        done.touch()
