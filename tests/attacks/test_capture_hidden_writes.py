"""Writes of which the kernel sends no notice, and floods of notices: the capture finds what the watch missed.

The attacker wants a change without an event, so that the record does not say when it was made. It closes a file, waits, and writes
through a memory mapping that it kept.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.evidence.change.importer import import_workspace
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.trace.events import EventLog
from steelyard.execution.mutations.watch_workspace import WorkspaceWatch

FOLDER = os.O_RDONLY | os.O_DIRECTORY


def watched(tmp_path: Path) -> tuple[WorkspaceWatch, CapturedTree]:
    for name in ("workspace", "baseline"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kept").write_text("0000")
    tree = CapturedTree(os.open(tmp_path / "workspace", FOLDER), os.open(tmp_path / "baseline", FOLDER))
    return WorkspaceWatch(tree, EventLog(tmp_path / "events.jsonl"), Blobs(tmp_path / "blobs")), tree


def gaps(watch: WorkspaceWatch, tree: CapturedTree) -> list[str]:
    watch.finish()
    change = import_workspace(tree, baseline_root="", blobs=None)
    return [entry.path for entry in change.entries if not watch.covers(entry)]


def test_a_write_through_a_mapping_is_a_gap(tmp_path: Path) -> None:
    watch, tree = watched(tmp_path)
    with (tmp_path / "workspace/kept").open("r+b") as file:
        mapping = mmap.mmap(file.fileno(), 4)
    watch.finish()
    mapping[:4] = b"evil"
    mapping.flush()
    assert gaps(watch, tree) == ["kept"]
    watch.close()


def test_a_link_out_of_the_workspace_is_not_followed(tmp_path: Path) -> None:
    """The watch reads as the controller, which may read what the agent may not."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("of the host")
    watch, tree = watched(tmp_path)
    work = tmp_path / "workspace"
    (work / "folder").mkdir()
    watch.finish()
    (work / "folder").rmdir()
    (work / "folder").symlink_to(secret)
    (work / "file").symlink_to(secret / "key")
    (secret / "key").write_text("of the host, changed")
    assert gaps(watch, tree) == []
    log = (tmp_path / "events.jsonl").read_text()
    assert "of the host" not in log
    assert not any("of the host" in blob.read_text() for blob in (tmp_path / "blobs").glob("*"))
    watch.close()


def test_a_fifo_does_not_block_the_watch(tmp_path: Path) -> None:
    watch, tree = watched(tmp_path)
    (tmp_path / "workspace/kept").unlink()
    os.mkfifo(tmp_path / "workspace/kept")
    assert gaps(watch, tree) == []
    watch.close()
