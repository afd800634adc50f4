"""What all processes of one `pytest -n` share: a folder, and a way to make something in it once.

with once(shared(factory) / "home") as first:
    if first:
        ...  # the others wait, and find it made
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def shared(factory: pytest.TempPathFactory) -> Path:
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@contextmanager
def once(place: Path) -> Iterator[bool]:
    """Whether nobody has made `place` yet; the mark that it is made is written when the block ends without an error."""
    done = place.with_name(f"{place.name}.done")
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        first = not done.exists()
        yield first
        done.touch()
