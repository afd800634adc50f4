"""A run's folder -> why the run has no result, if it has none."""

from __future__ import annotations

import os
from typing import Literal

from steelyard.evidence.folder.folder import GRADINGS_HEAD, REPORT, RunFolder
from steelyard.evidence.folder.gradings import grading_files
from steelyard.evidence.in_use import is_in_use

Unfinished = Literal["", "running", "interrupted", "not graded"]


def unfinished_state(folder: RunFolder) -> Unfinished:
    """`interrupted` is a run that nothing runs and that has no seal; "" is a run with a result."""
    # Of a run whose gradings were removed there is more to say: its record does not hold.
    traces = (f"{folder.path}/{name}" for name in (GRADINGS_HEAD, REPORT))
    is_sealed = folder.state == "sealed"
    if is_sealed and (any(map(os.path.lexists, traces)) or grading_files(folder)):
        return ""
    if is_in_use(folder.path):
        return "running"
    return "not graded" if is_sealed else "interrupted"
