"""How git applies a patch in a sandbox."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from steelyard.bench.apply_patch import script

PATCH = b"""--- a/greeting
+++ b/greeting
@@ -1 +1 @@
-hello
+good morning
"""


def test_without_isolation_a_patch_needs_no_folder_that_other_users_and_runs_have_too(tmp_path: Path) -> None:
    """/tmp/steelyard.git belonged to the first user of a machine, and every other user's reference was refused."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "greeting").write_text("hello\n")
    line = ["/bin/sh", "-c", script("none")]
    subprocess.run(line, cwd=workspace, input=PATCH, env={"PATH": os.environ["PATH"]}, check=True)
    assert (workspace / "greeting").read_text() == "good morning\n"
    assert (tmp_path / "steelyard.git/HEAD").is_file()
