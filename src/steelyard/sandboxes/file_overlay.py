"""One path that is put into a sandbox as data. A module of its own: the launcher loads it, and little else."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from steelyard.deferred.data_class import dataclass


@dataclass(frozen=True, slots=True)
class FileOverlay:
    """One path put into the workspace as data before anything starts; `source` is a host file to copy.

    `read_only`: nothing is put there; the regular file at that path cannot be written, replaced or removed.
    """

    path: str  # relative to the workspace
    kind: Literal["file", "symlink", "dir", "gone", "read_only"]
    mode: str = "644"
    source: Path | None = None
    target: str = ""
