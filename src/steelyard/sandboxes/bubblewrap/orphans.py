"""Names of sandboxes -> none of their processes is left, whichever process was killed at whichever moment.

    steelyard/<owner tag>-<launcher>-<n>/bwrap --unshare-all ...      what `ps` shows

Bubblewrap's child waits for a word of its parent before it asks to die with it. When the parent is killed in that
moment the child waits for ever. Its parent is then the launcher, which kills it; and when the launcher was killed
too, nothing ties it to us but its command line.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress

from steelyard.deferred.pattern import deferred_pattern

_MARK = deferred_pattern(rb"steelyard/([^/\0]+)/bwrap\0")
_DEATH_S = 2.0


def mark(name: str) -> str:
    """What the bubblewrap of that sandbox is called; the name starts with its owner's tag."""
    return f"steelyard/{name}/bwrap"


def end_marked(chosen: Callable[[str], bool]) -> list[int]:
    """Kill the bubblewraps whose name is chosen, and wait until they are gone; their process ids."""
    return [pid for pid in _processes() if _chosen(pid, chosen) and _end(pid, chosen)]


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdecimal()]  # noqa: PTH208  # names suffice


def _chosen(pid: int, chosen: Callable[[str], bool]) -> bool:
    with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123  # for every process
        found = _MARK.match(file.read())
        return found is not None and chosen(os.fsdecode(found[1]))
    return False


def _end(pid: int, chosen: Callable[[str], bool]) -> bool:
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not _chosen(pid, chosen):  # the number may have become another's before we held it
            return False
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        gone = select.poll()
        gone.register(pidfd, select.POLLIN)
        gone.poll(int(_DEATH_S * 1000))
    except OSError:  # it went by itself, or is another user's
        return False
    finally:
        os.close(pidfd)
    return True
