"""Doors -> those behind which nobody is, tried from this machine and from no sandbox."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from steelyard.sandboxes.base import Door
from steelyard.sandboxes.door_host import connect

PATIENCE_S = 5.0  # for one address
TOGETHER_S = 15.0  # for names that are looked up, and several addresses
FRESH_S = 5.0  # so long a host that answered counts as there

_there: dict[Door, float] = {}  # when it last answered


def unreachable(doors: Iterable[Door]) -> dict[Door, str]:
    """Door -> why nobody is there. All are tried at once; one that failed is never remembered."""
    wanted = [
        door for door in dict.fromkeys(doors) if time.monotonic() - _there.get(door, -FRESH_S) >= FRESH_S
    ]
    failed: dict[Door, str] = {}
    threads = [threading.Thread(target=_try, args=(door, failed), daemon=True) for door in wanted]
    ends = time.monotonic() + TOGETHER_S
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, ends - time.monotonic()))
    late = {door for door, thread in zip(wanted, threads, strict=True) if thread.is_alive()}
    return {
        door: "no answer" if door in late else failed[door]
        for door in wanted
        if door in late or door in failed
    }


def _try(door: Door, failed: dict[Door, str]) -> None:
    try:
        connect(door, PATIENCE_S).close()
    except OSError as error:
        failed[door] = error.strerror or str(error)
    else:
        _there[door] = time.monotonic()
