"""A process that runs a study keeps the size that it has when the first trials have ended.

What a trial leaves is a few bytes ([decision 25](docs/decisions/0025-what-a-controller-keeps-of-a-trial.md)); what grew beside it was the garbage of
cycles, and room that the C library had given to each thread and did not give back.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# mallopt(3). Setting a threshold also ends its growth to 32 MB, which makes large buffers part of the heap for ever.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_THRESHOLD_BYTES = 128 << 10


@contextmanager
def flat_memory() -> Iterator[None]:
    """In the block trials run, on threads that start in it.

    The garbage collector leaves alone what was there before: a plan of 100,000 trials is a million objects. It looks at all objects when a quarter of them is
    new, so what trials leave behind would stay for thousands of trials, and each look would take seconds.
    """
    _share_one_heap()
    gc.freeze()
    gc.collect()  # takes no time now, and counts anew what the collector has to look at
    try:
        yield
    finally:
        gc.unfreeze()


def _share_one_heap() -> None:
    """Let all threads use one heap, and give large buffers back when they are free. Most of a controller's work holds Python's lock anyway."""
    with suppress(OSError, AttributeError):  # another C library than glibc has no such call
        options = ctypes.CDLL(None).mallopt
        options(_M_ARENA_MAX, 1)
        options(_M_MMAP_THRESHOLD, _THRESHOLD_BYTES)
        options(_M_TRIM_THRESHOLD, _THRESHOLD_BYTES)
