"""Capture: the dead workspace -> change and blobs, with eight edits, a new file and a deletion in it."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.measure import Measured, Variant, measure, ratio, timed
from benchmarks.sandbox import SIZES, box
from benchmarks.workshop import Workshop, tree_file
from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.evidence.change.importer import import_workspace
from steelyard.evidence.change.render import render_patch
from steelyard.evidence.folder.blobs import Blobs
from steelyard.sandboxes.base import Command
from steelyard.sandboxes.bubblewrap.backend import BubblewrapBackend

EDITS = "\n".join(
    [f"echo edited >> {tree_file(number * 12)}" for number in range(8)]
    + [f"echo new > {tree_file(1)}.new", f"rm {tree_file(99)}"]
)


def walk(upper: int) -> None:
    """Every file of the upper, hashed: the least that tells what changed."""
    for _, _, files, folder in os.fwalk(".", dir_fd=upper):
        for name in files:
            if stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):  # not a deletion
                with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=folder), "rb") as file:
                    hashlib.file_digest(file, "sha256").digest()


def capture(workshop: Workshop) -> Iterator[Measured]:
    with ExitStack() as alive:
        edited = {files: _edited(workshop, files, alive) for files in SIZES}
        variants = {f"{files:,} files": _importing(workshop, edited[files]) for files in SIZES}
        variants["with patch.diff"] = _importing(workshop, edited[7_000], render=True)
        variants["nothing kept"] = timed(lambda: _compared(edited[7_000]))
        upper = edited[7_000].touched
        assert upper is not None
        variants["walk"] = timed(lambda: walk(upper))
        rounds = measure(variants, workshop.rounds(60))
    what = "capture of 10 changes in 7,000 files: change and blobs, before and after"
    yield Measured.of("capture", what, rounds, ratio("7,000 files", "walk"), target=6)
    what = "the same in 20,000 files against 100"
    yield Measured.of("capture", what, rounds, ratio("20,000 files", "100 files"), target=1.2)
    what = "the same in 7,000 files, compared and hashed, no blob written"
    yield Measured.of("capture", what, rounds, ratio("nothing kept", "walk"))
    what = "the same in 7,000 files, patch.diff rendered too"
    yield Measured.of("capture", what, rounds, ratio("with patch.diff", "walk"))


def _edited(workshop: Workshop, files: int, alive: ExitStack) -> CapturedTree:
    sandbox = alive.enter_context(BubblewrapBackend().start(box(workshop, files)))
    finished = sandbox.run(Command(("/bin/sh", "-ec", EDITS)))
    assert finished.exit_code == 0, finished.stderr.text
    sandbox.stop()
    return sandbox.captured_tree()


def _compared(captured_tree: CapturedTree) -> None:
    import_workspace(captured_tree, baseline_root="", blobs=None)


def _importing(workshop: Workshop, captured_tree: CapturedTree, *, render: bool = False) -> Variant:
    def variant() -> float:
        with tempfile.TemporaryDirectory(dir=workshop.folder) as folder:  # every run has blobs of its own
            blobs = Blobs(Path(folder))
            start = time.perf_counter()
            change = import_workspace(captured_tree, baseline_root="", blobs=blobs)
            if render:
                render_patch(change, blobs)
            return time.perf_counter() - start

    return variant


ROWS = {"capture": capture}
