"""A contract without a workspace -> its one output, as a change: the answer file, or the agent's last output.

Every other file that an agent wrote is left out of the change, so that no bench sees it.
"""

from __future__ import annotations

from dataclasses import replace

from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.finding import Finding
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.tree import Entry
from steelyard.sandboxes.base import CapturedOutput

MAX_ANSWER_BYTES = 1 << 20


def only_answer(change: Change, path: str) -> Change:
    """The answer file out of everything that the agent wrote; a link or a folder in its place is none."""
    found = [
        entry for entry in change.entries if entry.path == path and entry.new and entry.new.kind == "file"
    ]
    entries = tuple(ChangeEntry(path, None, entry.new) for entry in found)
    carried = bool(entries) and all(entry.new and entry.new.sha256 for entry in entries)
    return replace(change, entries=entries, complete=change.complete or carried)


def change_from_output(output: CapturedOutput | None, path: str, root: str, blobs: Blobs) -> Change:
    """What the agent's process printed in the end, as a file at `path`; nothing if it printed nothing."""
    content = b"" if output is None else output.head + output.tail
    if output is None or not content.strip():
        return Change(root)
    cut = output.size > len(content) or len(content) > MAX_ANSWER_BYTES
    stored = blobs.put_bytes(content[:MAX_ANSWER_BYTES])
    entry = ChangeEntry(path, None, Entry("file", "644", stored.size, stored.sha256))
    why = f"the agent printed {output.size} bytes; only the first {stored.size} are its answer"
    return Change(root, (entry,), findings=(Finding("answer_cut", "warning", path, why),) if cut else ())
