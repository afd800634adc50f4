"""A process -> what it left behind: processes, control groups, mounts, temporary folders."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path

import pytest

from steelyard.sandboxes.limits import cgroups

ENGINES = re.compile(r"/(data|overlay)$|/overlay2?/[^/]+/merged$|containers/|/netns(/|$)")


def groups_of(pid: int) -> list[str]:
    """Control groups whose name says that this process made them."""
    parents = set(cgroups.host().parents.values())
    return [group.name for parent in parents for group in parent.glob(f"{cgroups.PREFIX}*-{pid}-*")]


def mounts(own: Path) -> list[str]:
    """All but those of container engines and of other tests' folders: such tests may run beside this one."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return sorted(line for line in lines if not _is_of_another_test(line.split()[4], own))


def assert_no_mount_was_added(before: list[str], own: Path) -> None:
    """What another process mounts for a while goes away again; what was left behind stays."""
    deadline = time.monotonic() + 300
    while added := sorted(set(mounts(own)) - set(before)):
        assert time.monotonic() < deadline, added
        time.sleep(0.05)


def _is_of_another_test(place: str, own: Path) -> bool:
    in_test_folder = "/pytest-of-" in place and not place.startswith(str(own))
    return in_test_folder or bool(ENGINES.search(place))


def temporary(cache: Path) -> list[str]:
    folder = cache / "tmp"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def await_death(pids: list[int]) -> None:
    deadline = time.monotonic() + 300
    while alive := [pid for pid in pids if is_running(pid)]:
        if time.monotonic() > deadline:
            pytest.fail("still alive after five minutes:\n" + "\n".join(portrait(pid) for pid in alive))
        time.sleep(0.01)


def portrait(pid: int) -> str:
    """What a process is and what it waits for."""
    shown = []
    for name in ("stat", "wchan", "cmdline"):
        with suppress(OSError):
            shown.append(
                Path(f"/proc/{pid}/{name}").read_bytes()[:300].replace(b"\0", b" ").decode(errors="replace")
            )
    return " | ".join(shown)
