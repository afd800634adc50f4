"""An agent makes a folder in a folder, thousands of levels deep: the harness, which watches each level, must not be busy for minutes.

Each level took as long as the way to it, so 16,000 levels kept a run with a limit of 24 seconds going for more than 8 minutes.
What is deeper than the import allows is not watched, and the record says that something was missed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.trace.events import EventLog, read_events
from steelyard.execution.mutations.watch_workspace import MOST_DEPTH, WorkspaceWatch

# In a process of its own, because this process must not change its working directory.
DIGGING = """import os, sys
os.chdir(sys.argv[1])
for _ in range(int(sys.argv[2])):
    os.mkdir("d")
    os.chdir("d")
"""


def test_folders_deeper_than_the_import_allows_are_not_watched(tmp_path: Path) -> None:
    for name in ("workspace", "baseline"):
        (tmp_path / name).mkdir()
    workspace, baseline = (
        os.open(tmp_path / name, os.O_RDONLY | os.O_DIRECTORY) for name in ("workspace", "baseline")
    )
    events = EventLog(tmp_path / "events.jsonl")
    watch = WorkspaceWatch(CapturedTree(workspace, baseline), events, Blobs(tmp_path / "blobs"))
    subprocess.run(
        [sys.executable, "-c", DIGGING, str(tmp_path / "workspace"), str(2 * MOST_DEPTH)], check=True
    )
    watch.finish()
    seen = [one.payload["path"] for one in read_events(tmp_path / "events.jsonl")]
    counts = watch.counts
    watch.close()
    assert max(path.count("/") for path in seen) == MOST_DEPTH
    assert counts["missed"]
    subprocess.run(["rm", "-rf", tmp_path / "workspace"], check=True)
