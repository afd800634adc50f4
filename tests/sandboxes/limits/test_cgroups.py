"""Control groups of both versions; version 2 on a folder that looks like one, where the host has version 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.sandboxes.limits import cgroups
from steelyard.sandboxes.limits.cgroups import GroupLimits, Host

WANTED = GroupLimits(memory_bytes=1 << 30, processes=64, cpu=1.5)


@pytest.fixture
def v2(tmp_path: Path) -> Path:
    mounted = tmp_path / "cgroup"
    (mounted / "user.slice/mine").mkdir(parents=True)
    (mounted / "cgroup.controllers").write_text("memory pids cpu")
    for folder in ("", "user.slice", "user.slice/mine"):
        (mounted / folder / "cgroup.subtree_control").write_text("cpu memory pids")
    return mounted


def own(tmp_path: Path, group: str) -> Path:
    file = tmp_path / "self"
    file.write_text(f"1:name=systemd:/\n0::{group}\n")
    return file


def test_version_2_uses_the_nearest_group_it_may_hand_on(v2: Path, tmp_path: Path) -> None:
    (v2 / "user.slice/mine/cgroup.subtree_control").unlink()
    (v2 / "user.slice/mine/cgroup.subtree_control").mkdir()  # as good as read-only
    found = cgroups.look(v2, own(tmp_path, "/user.slice/mine"))
    assert found.version == 2
    assert set(found.parents.values()) == {v2 / "user.slice"}


def test_version_2_without_a_group_of_ours_enforces_nothing(v2: Path, tmp_path: Path) -> None:
    for control in v2.rglob("cgroup.subtree_control"):
        control.unlink()
        control.mkdir()
    assert cgroups.look(v2, own(tmp_path, "/user.slice/mine")) == Host(0, {})


def test_version_2_limits_are_written(v2: Path, tmp_path: Path) -> None:
    found = cgroups.look(v2, own(tmp_path, "/user.slice/mine"))
    made = cgroups.make("tag-1", found)
    cgroups.limit(made, WANTED, found)
    (folder,) = made
    written = {
        name: (folder / name).read_text() for name in ("memory.max", "memory.swap.max", "pids.max", "cpu.max")
    }
    assert written == {
        "memory.max": str(1 << 30),
        "memory.swap.max": "0",
        "pids.max": "64",
        "cpu.max": "150000 100000",
    }


def test_version_2_counters_are_read(tmp_path: Path) -> None:
    (tmp_path / "memory.events").write_text("low 0\noom 2\noom_kill 1\n")
    (tmp_path / "memory.peak").write_text("4096\n")
    (tmp_path / "pids.events").write_text("max 7\n")
    assert cgroups.counters([tmp_path]) == cgroups.Counters(1, 4096, 7)


def test_a_group_that_cannot_be_read_counts_nothing(tmp_path: Path) -> None:
    assert cgroups.counters([tmp_path / "gone"]) == cgroups.Counters(0, None, 0)


def test_a_host_without_groups_enforces_nothing(tmp_path: Path) -> None:
    assert cgroups.look(tmp_path, own(tmp_path, "/")) == Host(0, {})
