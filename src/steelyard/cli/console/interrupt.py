"""An interrupted command -> nothing of it is left: no process, control group, container or temporary folder.

    exec python -m steelyard.cli.console.interrupt CODE

The process is the same one, so that a shell waits for it, and its other threads are gone. Their sockets closed with them:
the launcher has begun to kill every sandbox. What is ours is known by our owner tag, which survives an exec.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

from steelyard.errors import SteelyardError
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.owner import owner_tag
from steelyard.filesystem.remove import remove_tree
from steelyard.sandboxes.bubblewrap import orphans
from steelyard.sandboxes.docker.api import engine
from steelyard.sandboxes.docker.backend import remove_owned
from steelyard.sandboxes.limits import cgroups

_PATIENCE_S = 15.0


def leave() -> None:
    tag = owner_tag()
    _await_children()
    orphans.end_marked(lambda name: name.startswith(f"{tag}-"))
    cgroups.remove_all(tag)
    with suppress(SteelyardError):  # no engine, so none of its containers
        remove_owned(engine(), lambda owner: owner == tag)
    temporary = Cache.default().root / "tmp"
    for folder in list(temporary.iterdir()) if temporary.is_dir() else []:
        if folder.name.startswith(f"{tag}-"):
            with suppress(OSError):
                remove_tree(folder)


def _await_children() -> None:
    """The launcher, and the init of a local sandbox: each kills what it started, and ends."""
    deadline = time.monotonic() + _PATIENCE_S
    with suppress(ChildProcessError):
        while time.monotonic() < deadline:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                time.sleep(0.005)


if __name__ == "__main__":
    with suppress(OSError):
        leave()
    sys.exit(int(sys.argv[1]))
