"""The change of a run without a workspace -> whether there is an answer at all."""

from __future__ import annotations

from steelyard.evidence.change.change import Change
from steelyard.evidence.folder.blobs import Blobs
from steelyard.verdict.auto_fail import AnswerStatus

_CHUNK = 1 << 16


def answer_status(change: Change, blobs: Blobs) -> AnswerStatus:
    """No file, an empty one, and one of nothing but blanks are the same: nothing."""
    new = next((entry.new for entry in change.entries), None)
    if new is None:
        return "nothing"
    if not new.sha256:
        return "too_large"  # for the import, so its content was not kept
    return "given" if _has_words(blobs, new.sha256) else "nothing"


def _has_words(blobs: Blobs, sha256: str) -> bool:
    try:
        with blobs.open(sha256) as stream:
            while chunk := stream.read(_CHUNK):
                if not chunk.isspace():
                    return True
    except OSError:  # a damaged record is no failure of the agent
        return True
    return False
