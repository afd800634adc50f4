"""What the launcher does before an order comes: little is loaded, and a spare has a network of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import steelyard
from steelyard.sandboxes.base import Command, Limits, Sandbox, SandboxSpec
from steelyard.sandboxes.bubblewrap.backend import BubblewrapBackend

SMALL = Limits(cpu=1, memory_mb=256, guaranteed_mb=64, disk_mb=16, tmp_mb=4, processes=64)
SOURCE = Path(steelyard.__file__).parents[1]


def test_the_launcher_loads_neither_threads_nor_the_specification_of_a_sandbox() -> None:
    """Each module that it loads makes every fork slower, and `threading` runs code in each child."""
    code = (
        f"import sys; sys.path[:0] = [{str(SOURCE)!r}]; import steelyard.sandboxes.bubblewrap.launcher; "
        "print(*sorted({'threading', 'hashlib', 'subprocess', 'steelyard.sandboxes.base'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def network_of(sandbox: Sandbox) -> str:
    return sandbox.run(Command(("/usr/bin/readlink", "/proc/self/ns/net"))).stdout.text.strip()


def test_a_sandbox_with_the_network_of_the_host_is_on_it_and_others_are_not(
    tree: Callable[..., Path],
) -> None:
    """The spare that takes the order has left the network of the host already, and goes back."""
    backend, layers = BubblewrapBackend(), (tree(),)
    host = os.readlink("/proc/self/ns/net")  # noqa: PTH115  # its target is no path
    with backend.start(SandboxSpec(layers=layers, limits=SMALL, network="host")) as shared:
        assert network_of(shared) == host
    spec = SandboxSpec(layers=layers, limits=SMALL)
    with backend.start(spec) as own, backend.start(spec) as other:
        assert len({network_of(own), network_of(other), host}) == 3
