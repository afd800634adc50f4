"""The sandbox without walls: same commands, same ends, and an honest label."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from steelyard.errors import InfraFault
from steelyard.sandboxes.base import Command, ExitStats, FileOverlay, Limits, SandboxSpec
from steelyard.sandboxes.catalogue import backend
from steelyard.sandboxes.local import LocalBackend, LocalSandbox
from steelyard.sandboxes.toolchains import resolve

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Tree


@pytest.fixture
def sandbox(tree: Tree) -> Iterator[LocalSandbox]:
    with LocalBackend().start(SandboxSpec(layers=(tree(a="upper"), tree(a="lower", b="2")))) as started:
        yield started


def sh(sandbox: LocalSandbox, line: str, **fields: object) -> str:
    return sandbox.run(Command(("sh", "-c", line), **fields)).stdout.text  # type: ignore[arg-type]


UNIQUE = f"sleep 4711.{os.getpid()}"  # other tests may be sleeping on this host


def is_sleeping() -> bool:
    return subprocess.run(["pgrep", "-f", UNIQUE], check=False, capture_output=True).returncode == 0


def names(descriptor: int) -> set[str]:
    return set(os.listdir(descriptor))  # a descriptor has no path


def test_it_says_that_it_isolates_nothing(sandbox: LocalSandbox) -> None:
    assert (sandbox.facts.isolation, sandbox.facts.network) == ("none", "host")


def test_its_workspace_is_a_copy_of_the_layers(sandbox: LocalSandbox) -> None:
    assert sh(sandbox, "cat a b") == "upper2"


def test_a_cwd_under_workspace_is_understood(sandbox: LocalSandbox) -> None:
    assert sh(sandbox, "mkdir d; cat a", cwd="/workspace") == "upper"
    assert sh(sandbox, "cat ../a", cwd="/workspace/d") == "upper"


def test_no_variable_of_the_host_gets_in(sandbox: LocalSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "x")
    assert "SECRET" not in sh(sandbox, "env")


def test_stop_kills_daemons_that_left_their_session(sandbox: LocalSandbox) -> None:
    sh(sandbox, f"(setsid {UNIQUE} >/dev/null 2>&1 &); setsid {UNIQUE} >/dev/null 2>&1 &")
    while not is_sleeping():  # a process that is just starting its program has no words
        time.sleep(0.01)
    sandbox.stop()
    assert not is_sleeping()


def test_a_timeout_kills_what_the_command_started(sandbox: LocalSandbox) -> None:
    done = sandbox.run(Command(("sh", "-c", f"setsid {UNIQUE} & {UNIQUE}"), timeout_s=0.3))
    assert done.timed_out
    assert not is_sleeping()


def test_a_killed_init_is_not_passed_over(sandbox: LocalSandbox) -> None:
    """Init is killed once its own last words have arrived, the number of the process that is left."""
    shown: list[bytes] = []

    def go_on(_: str, data: bytes) -> None:
        shown.append(data)
        (sandbox.workspace / "go").touch()

    line = "echo $$; until [ -e go ]; do sleep 0.01; done; kill -9 $PPID; exec sleep 4713"
    assert sandbox.run(Command(("sh", "-c", line)), go_on).lost
    with pytest.raises(InfraFault, match="may still be running"):
        sandbox.stop()
    os.kill(int(b"".join(shown)), signal.SIGKILL)  # the one that was left, by its own number
    sandbox._exit_stats = ExitStats()  # nothing more to say when it is closed


def test_the_remains_are_compared_in_full(sandbox: LocalSandbox) -> None:
    sh(sandbox, "echo new > c; rm b")
    sandbox.stop()
    captured_tree = sandbox.captured_tree()
    assert names(captured_tree.workspace) == {"a", "c"}
    assert names(captured_tree.baseline) == {"a", "b"}
    assert captured_tree.touched is None


def test_a_kept_copy_is_complete(tree: Tree, tmp_path: Path) -> None:
    base, keep = tree(a="1", gone="2"), tmp_path / "keep"
    with LocalBackend().start(SandboxSpec(layers=(base,), keep=keep)) as first:
        sh(first, "rm gone; touch made")
    with LocalBackend().start(SandboxSpec(layers=(keep / "workspace", base))) as second:
        assert sh(second, "ls") == "a\nmade\n"


def test_its_folder_is_gone_afterwards(sandbox: LocalSandbox) -> None:
    folder = sandbox.workspace
    sandbox.close()
    assert not folder.exists()


def test_links_and_written_data_are_there(tree: Tree, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("laid")
    spec = SandboxSpec(
        layers=(tree(a="1"),),
        overlays=(FileOverlay("x/y", "file", source=tmp_path / "s"),),
        links={"say": Path("/bin/echo")},
    )
    with LocalBackend().start(spec) as sandbox:
        assert sh(sandbox, "cat x/y; say hi") == "laidhi\n"


def test_a_virtual_environment_points_to_the_real_python(tree: Tree) -> None:
    """The folder with the box's programs is gone when the sandbox is; what setup made must outlive it."""
    (python,) = resolve({"python": "3"})
    with LocalBackend().start(SandboxSpec(layers=(tree(a="1"),), links=dict(python.binaries))) as sandbox:
        made = sh(sandbox, "python3 -m venv --without-pip v && readlink -f v/bin/python3 && cat v/pyvenv.cfg")
    real = python.binaries["python3"]
    assert made.startswith(f"{real}\nhome = {real.parent}\n")


def test_too_much_memory_is_noticed(tree: Tree) -> None:
    limits = Limits(memory_mb=64, guaranteed_mb=16)
    code = (
        "import mmap, time; m = mmap.mmap(-1, 1); l = [b'x' * 20_000_000 for _ in range(2)]; time.sleep(600)"
    )
    line = f'for i in 1 2 3; do python3 -c "{code}" & done; wait'
    with LocalBackend().start(SandboxSpec(layers=(tree(a="1"),), limits=limits)) as sandbox:
        assert sandbox.run(Command(("sh", "-c", line))).signal == 9
        assert sandbox.stop().oom_kills >= 1


def test_the_catalogue_has_it_by_name() -> None:
    assert isinstance(backend("local"), LocalBackend)
