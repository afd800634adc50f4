"""Folders beside the workspace: what is laid in them, who may write, and what they count for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from steelyard.errors import InfraFault
from steelyard.sandboxes.base import Command, FileOverlay, Mount, SandboxSpec
from steelyard.sandboxes.local import LocalBackend

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Start

KINDS = ["bubblewrap", "docker"]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "only for its owner" / "verify.sh"
    path.parent.mkdir(mode=0o700)
    path.write_text("echo verified\n")
    path.chmod(0o600)
    return path


def test_a_place_holds_what_is_written_in_it(start: Start, secret: Path) -> None:
    place = Mount(
        "/tests", (FileOverlay("deep/verify.sh", "file", mode="755", source=secret),), read_only=True
    )
    done = start(extra_mounts=(place,)).run(Command(("sh", "/tests/deep/verify.sh")))
    assert done.stdout.text == "verified\n"


def test_a_read_only_place_cannot_be_written(start: Start) -> None:
    done = start(extra_mounts=(Mount("/tests", read_only=True),)).run(Command(("touch", "/tests/new")))
    assert "Read-only file system" in done.stderr.text or "Permission denied" in done.stderr.text


def test_a_writable_place_begins_empty_and_takes_files(start: Start) -> None:
    sandbox = start(extra_mounts=(Mount("/logs"),))
    done = sandbox.run(
        Command(("sh", "-c", "ls -A /logs; mkdir /logs/a && echo 1 > /logs/a/b && cat /logs/a/b"))
    )
    assert done.stdout.text == "1\n"


@pytest.mark.parametrize("kind", ["bubblewrap"], indirect=True)  # a container's disk is looked at, not sized
def test_what_is_written_to_a_place_counts_against_the_disk(start: Start) -> None:
    done = start(extra_mounts=(Mount("/logs"),)).run(
        Command(("sh", "-c", "head -c 64000000 /dev/zero > /logs/big"))
    )
    assert "No space left" in done.stderr.text


def test_a_place_is_no_part_of_the_workspace(start: Start) -> None:
    sandbox = start(extra_mounts=(Mount("/logs"),))
    sandbox.run(Command(("touch", "/logs/new")))
    sandbox.stop()
    assert not Path(f"/proc/self/fd/{sandbox.captured_tree().workspace}/logs").exists()


def test_the_local_sandbox_refuses_a_place_by_name() -> None:
    with pytest.raises(InfraFault, match="no /logs"):
        LocalBackend().start(SandboxSpec(layers=(), extra_mounts=(Mount("/logs"),)))


@pytest.mark.parametrize(
    ("cwd", "workspace", "runs_in"),
    [
        ("", "/", "/"),
        ("src", "/", "/src"),
        ("", "/app", "/app"),
        ("src/", "/app", "/app/src"),
        ("/etc", "/app", "/etc"),
    ],
)
def test_a_command_runs_below_its_workspace_unless_it_says_where(
    cwd: str, workspace: str, runs_in: str
) -> None:
    assert Command(("true",), cwd=cwd).folder(workspace) == runs_in
