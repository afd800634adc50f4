"""What a command printed -> a blob, where it is too long for its event; within what one run may keep.

Of one stream the first 64 MiB are kept (`STREAM_BYTES`), of all streams of a run 256 MiB (`RUN_BYTES`): an agent that
prints without end fills no disk. What was printed beyond that is counted and hashed, and `cut` says how much it is.
"""

from __future__ import annotations

import os
import threading

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.folder.blobs import Blobs
from steelyard.sandboxes.base import CapturedOutput

STREAM_BYTES = 64 << 20
RUN_BYTES = 256 << 20


class StoredStream(NamedTuple):
    """Where a stream is, as far as it was kept."""

    blob: str | None = None
    cut: int = 0  # bytes that are nowhere


class OutputStore:
    """The outputs of one run."""

    def __init__(self, blobs: Blobs, run_bytes: int = RUN_BYTES) -> None:
        self._blobs = blobs
        self._left = run_bytes
        self._lock = threading.Lock()

    def keep(self, stream: CapturedOutput, shown_bytes: int) -> StoredStream:
        """A blob of a stream of which `shown_bytes` stand elsewhere; none if those are all of it."""
        if stream.size <= shown_bytes:
            return StoredStream()
        spool = stream.spool if stream.spool is not None and stream.spool.size else None
        kept = len(stream.head) + len(stream.tail) if spool is None else spool.size
        with self._lock:
            if kept > self._left:
                return StoredStream(None, stream.size - shown_bytes)
            self._left -= kept
        if spool is None:
            return StoredStream(self._blobs.put_bytes(stream.view).sha256, stream.size - kept)
        os.lseek(spool.fd, 0, os.SEEK_SET)
        return StoredStream(self._blobs.put_stream(spool.fd).sha256, stream.size - kept)
