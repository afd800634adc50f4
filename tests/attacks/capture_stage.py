"""A baseline, a workspace an agent may do anything to, and the capture of what differs."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.evidence.change.change import Change
from steelyard.evidence.change.importer import import_folder
from steelyard.evidence.folder.blobs import Blobs

ROOT = "0" * 64
FILES = {
    "src/cart.py": "def total(prices):\n    return sum(prices)\n",
    "tests/test_cart.py": "def test_total():\n    assert total([3, 1, 2]) == 6\n",
    "docs/guide.md": "# Guide\n",
}
REDIRECT = "trusted.overlay.redirect"


class Stage:
    """Two plain folders; the workspace begins as a copy of the baseline, with a repository of its own."""

    def __init__(self, root: Path, *, git: bool = False) -> None:
        self.baseline, self.workspace = root / "baseline", root / "workspace"
        self.blobs = Blobs(root / "blobs")
        for name, text in FILES.items():
            (self.baseline / name).parent.mkdir(parents=True, exist_ok=True)
            (self.baseline / name).write_text(text)
        if git:
            run_git(self.baseline, "init", "--quiet", "--initial-branch=main")
            run_git(self.baseline, "add", "--all")
            run_git(self.baseline, "commit", "--quiet", "--message=baseline")
        shutil.copytree(self.baseline, self.workspace, symlinks=True)

    def git(self, *arguments: str) -> str:
        return run_git(self.workspace, *arguments)

    def capture(self, **options: Any) -> Change:
        return import_folder(self.workspace, self.baseline, baseline_root=ROOT, blobs=self.blobs, **options)


def run_git(folder: Path, *arguments: str) -> str:
    """Git as an agent would use it, with the agent's own configuration in force."""
    identity = (
        "-c",
        "user.name=agent",
        "-c",
        "user.email=agent@example.com",
        "-c",
        "protocol.file.allow=always",
    )
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)
    return os.fsdecode(done.stdout).strip("\n")


def changed(change: Change) -> dict[str, str]:
    """Path -> added, deleted, changed or renamed, of everything that is not just a directory."""
    words = {}
    for entry in change.file_entries:
        word = "added" if entry.old is None else "deleted" if entry.new is None else "changed"
        words[entry.path] = word if entry.renamed_from is None else f"renamed from {entry.renamed_from}"
    return words


def found(change: Change) -> set[tuple[str, str, str]]:
    return {(finding.id, finding.severity, finding.where) for finding in change.findings}


@contextmanager
def overlay(baseline: Path, scratch: Path, *command: str) -> Iterator[CapturedTree]:
    """Mount `baseline` under an overlay in a mount namespace of its own, run `command` there, hand out what remains."""
    ours, theirs = socket.socketpair()
    script = Path(__file__).with_name("overlay_stage.py")
    with ours, theirs:
        arguments = [sys.executable, str(script), str(theirs.fileno()), str(baseline), str(scratch), *command]
        subprocess.run(
            ["unshare", "--mount", "--propagation", "private", *arguments],
            check=True,
            pass_fds=[theirs.fileno()],
        )
        _, fds, _, _ = socket.recv_fds(ours, 1, 3)
    try:
        yield CapturedTree(workspace=fds[0], baseline=fds[1], touched=fds[2], redirects=REDIRECT)
    finally:
        for fd in fds:
            os.close(fd)
