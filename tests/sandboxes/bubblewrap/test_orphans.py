"""Bubblewrap killed at a bad moment leaves a child that waits for ever: who ends it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from steelyard.errors import InfraFault
from steelyard.filesystem.owner import is_stale, owner_tag
from steelyard.sandboxes.base import Command
from steelyard.sandboxes.bubblewrap.launcher_client import launcher
from steelyard.sandboxes.bubblewrap.orphans import end_marked, mark
from steelyard.sandboxes.limits.watch_usage import descendants

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Start, Tree

    from authoring import Steelyard

SEED = 20261115
ROUNDS = 40
PATIENCE_S = 240.0
DEAD = "00000000-1-1-1"  # of another boot

HASTY = """
import random, signal, sys, threading, time
from pathlib import Path
from steelyard.sandboxes.bubblewrap import backend as bubblewrap
from steelyard.sandboxes.base import SandboxSpec, Limits
from steelyard.sandboxes.bubblewrap.launcher_client import launch
from steelyard.sandboxes.admission import admission
draw = random.Random(int(sys.argv[2]))
limits = Limits(memory_mb=128, guaranteed_mb=64, disk_mb=8, tmp_mb=4, processes=32)
box = SandboxSpec(layers=(Path(sys.argv[1]),), limits=limits)
backend = bubblewrap.BubblewrapBackend()
held = []
for _ in range(int(sys.argv[3])):
    holding = bubblewrap._hold(box)
    held.append(launch(bubblewrap._order(box, backend.facts(box), holding)).started)
    admission().leave(holding.ticket)
    time.sleep(draw.uniform(0, 0.006))  # bubblewrap takes that long to be ready
    signal.pidfd_send_signal(held[-1].bwrap, signal.SIGKILL)
print("killed", flush=True)
time.sleep(1000)
"""


@pytest.fixture
def hasty(tree: Tree) -> Iterator[subprocess.Popen[str]]:
    """A controller that killed each of its bubblewraps while it came up, and still holds their sockets."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", HASTY, str(tree(a="1")), str(SEED), str(ROUNDS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "killed\n"
        yield process
        process.kill()


def called(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0].decode()
    return ""


def sandboxes_under(pid: int) -> list[str]:
    """Bubblewraps and inits below that process."""
    return [
        name for name in map(called, descendants(pid)) if name.endswith("bwrap") or "/proc/self/fd" in name
    ]


def strays_of(pid: int) -> list[str]:
    """Bubblewraps that this controller made and that are not below it any more."""
    below = descendants(pid)
    others = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    return [called(other) for other in others if other not in below and f"-{pid}-" in called(other)]


def left_after(patience_s: float, found: Callable[[], list[str]]) -> list[str]:
    """What is still there when nothing is left, or when that took too long."""
    deadline = time.monotonic() + patience_s
    while (left := found()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


def test_the_launcher_ends_what_a_killed_bubblewrap_leaves(hasty: subprocess.Popen[str]) -> None:
    """The controller lives and holds the sockets, so nothing but the launcher can end them."""
    assert left_after(PATIENCE_S, lambda: sandboxes_under(hasty.pid)) == []


def test_a_killed_controllers_launcher_ends_however_many_children_it_inherits(
    hasty: subprocess.Popen[str],
) -> None:
    family = [pid for pid in descendants(hasty.pid) if pid != hasty.pid]
    hasty.kill()
    assert left_after(PATIENCE_S, lambda: [name for name in map(called, family) if name]) == []


def test_a_start_whose_launcher_is_killed_meanwhile_fails_or_works_at_once(start: Start) -> None:
    """No launcher is left to end the process that waits; its starter ends it."""
    draw = random.Random(SEED)
    for _ in range(10):
        start().close()
        doomed = launcher().pid
        killer = subprocess.Popen(
            [
                sys.executable,
                "-S",
                "-c",
                f"import os,time; time.sleep({draw.uniform(0, 0.004)}); os.kill({doomed}, 9)",
            ]
        )
        with suppress(InfraFault):
            while killer.poll() is None:
                start().close()
        killer.wait()
    assert start().run(Command(("echo", "well"))).stdout.text == "well\n"
    assert strays_of(os.getpid()) == []


@pytest.fixture
def sleeper() -> Iterator[list[subprocess.Popen[bytes]]]:
    made: list[subprocess.Popen[bytes]] = []
    yield made
    for process in made:
        process.kill()
        process.wait()


def pose(as_name: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([mark(as_name), "1000"], executable="/bin/sleep")
    while process.poll() is None and called(process.pid) != mark(
        as_name
    ):  # a new program has no arguments for a moment
        time.sleep(0.001)
    return process


def test_a_chosen_bubblewrap_is_ended(sleeper: list[subprocess.Popen[bytes]]) -> None:
    sleeper.append(pose(f"{owner_tag()}-1-1"))
    assert end_marked(lambda name: name == f"{owner_tag()}-1-1") == [sleeper[0].pid]
    assert sleeper[0].wait() == -signal.SIGKILL


def test_the_bubblewrap_of_a_live_owner_is_left_alone(sleeper: list[subprocess.Popen[bytes]]) -> None:
    sleeper.append(pose(f"{owner_tag()}-1-1"))
    end_marked(is_stale)
    assert sleeper[0].poll() is None


def test_a_process_that_only_mentions_a_mark_is_left_alone(sleeper: list[subprocess.Popen[bytes]]) -> None:
    sleeper.append(subprocess.Popen(["sh", "-c", "sleep 1000; true", mark(f"{DEAD}-1-1")]))
    end_marked(is_stale)
    assert sleeper[0].poll() is None


def test_doctor_clean_ends_the_bubblewrap_of_a_dead_owner(
    sleeper: list[subprocess.Popen[bytes]], steelyard: Steelyard
) -> None:
    sleeper.append(pose(f"{DEAD}-1-1"))
    result = steelyard("doctor", "--clean", "--json")
    assert isinstance(
        result.line["cleaned"]["processes"], list
    )  # another run may have been faster than this one
    assert sleeper[0].wait() == -signal.SIGKILL
