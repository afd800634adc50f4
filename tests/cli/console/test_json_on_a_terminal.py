"""`--json` where stderr is a terminal: the progress bar goes there, and result lines go to stdout all the same."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from authoring import Author


@pytest.mark.parametrize("verb", ["run", "grade"])
def test_result_lines_go_to_stdout_where_stderr_is_a_terminal(
    verb: str, author: Author, tmp_path: Path, cache: Path
) -> None:
    contract = author.write()
    how = ["--agent", "noop"] if verb == "run" else ["--patch", str(contract / "reference.patch")]
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "steelyard", verb, str(contract), *how, "--json"],
            stdout=subprocess.PIPE,
            stderr=theirs,
            cwd=tmp_path,
            env={**os.environ, "STEELYARD_CACHE": str(cache), "TERM": "xterm"},
            check=False,
        )
    finally:
        os.close(theirs)
        os.close(ours)
    (line,) = done.stdout.decode().splitlines()
    assert json.loads(line)["verdict"] == ("fail" if verb == "run" else "pass")
