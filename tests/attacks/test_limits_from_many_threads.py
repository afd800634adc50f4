"""What this machine can enforce is found once, by whichever trials begin first, at the same moment (`--jobs`)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from steelyard.sandboxes.limits import cgroups


def test_threads_that_try_at_the_same_moment_all_find_groups(tmp_path: Path) -> None:
    """The manifest would say `cgroup` and the sandbox `rlimit`: an invalid run, or one without a limit on its memory."""
    for controller in ("memory", "pids", "cpu"):
        (tmp_path / controller).mkdir()
    begin = threading.Barrier(4)

    def look(_: int) -> list[cgroups.Host]:
        begin.wait()
        return [cgroups.look(tmp_path, tmp_path / "none") for _ in range(50)]

    with ThreadPoolExecutor(4) as pool:
        found = [host for hosts in pool.map(look, range(4)) for host in hosts]
    assert all(set(host.parents) == {"memory", "processes", "cpu"} for host in found)
