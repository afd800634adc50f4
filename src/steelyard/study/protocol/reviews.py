"""The folder of runs -> what people's minutes cost, run by run, as soon as they are recorded.

`steelyard review` may record minutes while the study runs, from another process. A look at every run takes a while in a large
study, so there is one at most once a minute, and at most a twentieth of the time goes into looking.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from steelyard.evidence.folder.annotations import reviewed_minutes
from steelyard.evidence.folder.folder import ANNOTATIONS_HEAD, MANIFEST, RunFolder

_EVERY_S = 60.0
_SHARE = 20


class ReviewCharge(NamedTuple):
    run: str
    trial: str
    usd: float


class Reviews:
    """`price` is that of a minute; where it is 0, nothing is read."""

    def __init__(self, root: Path, price: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._root, self._price, self._clock = root, price, clock
        self._seen: dict[str, tuple[int, int]] = {}  # by run: time and inode of what was read last
        self._next_s = -1.0

    def changed(self, *, at_once: bool = False) -> list[ReviewCharge]:
        """Runs whose minutes were recorded since the last look; nothing where it is too early for another."""
        began = self._clock()
        if not self._price or (not at_once and began < self._next_s):
            return []
        found = list(self._look())
        ended = self._clock()
        self._next_s = ended + max(_EVERY_S, _SHARE * (ended - began))
        return found

    def _look(self) -> Iterator[ReviewCharge]:
        if not self._root.is_dir():
            return
        with os.scandir(self._root) as entries:
            for one in entries:
                try:
                    head = os.stat(f"{one.path}/{ANNOTATIONS_HEAD}")  # noqa: PTH116  # a million runs
                except OSError:
                    continue
                changed = (
                    head.st_mtime_ns,
                    head.st_ino,
                )  # two files in one tick of the clock differ in their inode
                if self._seen.get(one.name) == changed:
                    continue
                folder = RunFolder(Path(one.path))
                with suppress(OSError, ValueError, LookupError, TypeError):  # `steelyard verify` reports it
                    trial = str(folder.read_json(MANIFEST)["trial"]["id"])
                    yield ReviewCharge(one.name, trial, (reviewed_minutes(folder) or 0.0) * self._price)
                    self._seen[one.name] = changed
