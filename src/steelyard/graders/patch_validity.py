"""Gate G1, built in: the change is whole, applies, and every check could start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.filesystem.tree import printable
from steelyard.graders.base import Case, Grader
from steelyard.graders.grade import Grade

SCANNED_BYTES = 4 << 20


@dataclass(frozen=True)
class PatchValidity(Grader):
    """The change applies, was imported whole, holds no conflict markers, and every check could start.

    Why: what does not apply or cannot start says nothing about the work.
    Example: built in; every contract has it.
    Fooled by: nothing known; it reads the imported change, not the agent's own patch.
    """

    TYPE = "patch_validity"
    UNDER = "patch"

    def grade(self, case: Case) -> Grade:
        if case.patch_refused:
            # A failure of the patch, tagged as an evaluation error as well: no check has run.
            why = f"the patch does not apply: {case.patch_refused}"
            return Grade.of(False, why, data={"evaluation_error": True})
        if not case.change.complete:
            return Grade.of(False, "the change is larger than the import allows")
        conflicted = _conflicted(case.change, case)
        if conflicted:
            return Grade.of(False, f"unresolved conflict markers in {printable(conflicted)}")
        unstarted = [one for one in (case.outcomes or {}).values() if not one.started]
        if kept := [one for one in unstarted if one.outcome == "fail"]:
            return Grade.of(False, f"check `{kept[0].id}` cannot start with this change")
        if unstarted:
            return Grade.error(f"check `{unstarted[0].id}`: {unstarted[0].why}")
        return Grade.of(True, f"applies; files changed: {len(case.change.file_entries)}")


def _conflicted(change: Change, case: Case) -> str | None:
    return next((entry.path for entry in change.file_entries if _gained_markers(entry, case)), None)


def _gained_markers(entry: ChangeEntry, case: Case) -> bool:
    new, old = entry.new, entry.old
    if new is None or new.kind != "file" or not _has_markers(case.blobs.path(new.sha256)):
        return False
    # A file about merging may hold markers; only new ones count.
    return not (old is not None and old.kind == "file" and _has_markers(case.blobs.path(old.sha256)))


def _has_markers(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        text = b"\n" + file.read(SCANNED_BYTES)
    start = text.find(b"\n<<<<<<< ")
    middle = text.find(b"\n=======\n", start + 1)
    return 0 <= start < middle < text.find(b"\n>>>>>>> ", middle + 1)
