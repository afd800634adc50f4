"""Identity: a folder of the cache is compared with what was published, whenever it is used."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Measured, measure, ratio, timed
from benchmarks.workshop import Workshop
from steelyard.filesystem import contents
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.contents import check_contents, lock_of

FILES = 20_000


def identity(workshop: Workshop) -> Iterator[Measured]:
    """Once after each start of the machine by content, later by what the kernel says of each file."""
    tree = workshop.tree(FILES)

    def build(into: Path) -> None:
        shutil.copytree(tree, into / "tree", symlinks=True)

    folder = Cache(workshop.folder / "identity").build("trees", "one", build)
    time.sleep(0.1)  # a file that has just changed is read again, whatever the kernel says of it

    def by_content() -> None:
        lock_of(folder).write_bytes(b"")  # as after a start of the machine
        by_note()

    def by_note() -> None:
        contents._checked.clear()  # noqa: SLF001  # as a new process has it
        assert check_contents(folder).wrong is None

    def by_kernel() -> None:
        assert check_contents(folder).wrong is None

    variants = {
        "every byte": timed(by_content),
        "read by another process": timed(by_note),
        "what the kernel says": timed(by_kernel),
        "reading every file": timed(lambda: _read_all(folder)),
        "a bare walk": timed(lambda: _walk(folder)),
    }
    rounds = measure(variants, workshop.rounds(10), warm_up=1)
    what = f"the first check of {FILES:,} cached files since the machine started, by content, against reading every file"
    yield Measured.of("identity", what, rounds, ratio("every byte", "reading every file"), target=4)
    what = "the first check of a process when another has read them, against asking the kernel about every file and nothing else"
    yield Measured.of("identity", what, rounds, ratio("read by another process", "a bare walk"), target=2)
    what = "every later check, against asking the kernel about every file and nothing else"
    yield Measured.of("identity", what, rounds, ratio("what the kernel says", "a bare walk"), target=2)


def _read_all(folder: Path) -> None:
    for parent, _, names in os.walk(folder):
        for name in names:
            descriptor = os.open(os.path.join(parent, name), os.O_RDONLY)  # noqa: PTH118  # 20,000 times
            while os.read(descriptor, 1 << 16):
                pass
            os.close(descriptor)


def _walk(folder: Path) -> None:
    waiting = [os.fsencode(folder)]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


ROWS = {"identity": identity}
