"""The floors: the same thing done with nothing of Steelyard around it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.sandboxes.bubblewrap.arguments import HostLayout
from steelyard.sandboxes.bubblewrap.launcher_client import bwrap_path

TRUE = "/bin/true"
_SILENT = [(os.POSIX_SPAWN_OPEN, stream, "/dev/null", os.O_RDWR, 0) for stream in (0, 1, 2)]
# What our sandboxes are made of, less everything that is ours: no overlay, no seccomp, no cgroup, no init.
_NAMESPACES = shlex.split(
    "--unshare-all --unshare-user --disable-userns --die-with-parent --new-session "
    "--uid 1000 --gid 1000 --hostname sandbox --cap-drop ALL --clearenv"
)
_PLACES = shlex.split("--proc /proc --dev /dev --tmpfs /dev/shm --tmpfs /tmp --tmpfs /home/agent")


def spawn(argv: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """posix_spawn and wait: the least that a command can cost."""
    process = os.posix_spawn(
        argv[0], list(argv), os.environ if environment is None else environment, file_actions=_SILENT
    )
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status != 0:
        raise RuntimeError(f"{' '.join(argv)} ended with {status}")


def spawn_true() -> None:
    spawn((TRUE,), {})


def bubblewrap(tree: Path, argv: Sequence[str]) -> None:
    """One command in a sandbox of bubblewrap alone: our namespaces and mounts, the tree bound where it is."""
    layout = HostLayout.look().arguments
    mounts = [*_PLACES, "--bind", str(tree), "/workspace", "--chdir", "/workspace", "--remount-ro", "/"]
    spawn([bwrap_path(), *_NAMESPACES, *layout, *mounts, "--", *argv], {})
