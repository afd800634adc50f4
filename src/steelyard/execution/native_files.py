"""Session files that a client left in its sandbox -> `agent/native/`, bounded and under names of our own.

    agent/native/01-rollout-2026.jsonl      the first file of the first message
    agent/native/01-session-2.jsonl         of the second message

The names and contents were chosen by the agent: a name is only shown, and no path is made of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from steelyard.agents.traces.items import NativeFile
from steelyard.execution.live_run import LiveRun
from steelyard.filesystem.tree import printable

FOLDER = "agent/native"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 60


def keep_native_files(run: LiveRun, files: Sequence[NativeFile], suffix: str) -> list[dict[str, Any]]:
    """What the event says of each: its name in the sandbox, its digest, and where it is kept."""
    entries = []
    for number, file in enumerate(files, start=1):
        pointer = f"{FOLDER}/{number:02}-{_safe(file.name, suffix)}"
        run.folder.write_bytes(pointer, file.content)
        digest = hashlib.sha256(file.content).hexdigest()
        entries.append(
            {
                "name": printable(file.name)[:500],
                "pointer": pointer,
                "bytes": file.size,
                "cut": file.cut,
                "digest": digest,
            }
        )
    return entries


def _safe(name: str, suffix: str) -> str:
    plain = _UNSAFE.sub("_", name.rpartition("/")[2]).strip("._")[-_LONGEST:] or "file"
    stem, dot, extension = plain.partition(".")
    return f"{stem}{suffix}{dot}{extension}"
