"""The index of a folder of runs, kept up to date while pages are read.

A page never waits for the folders: a thread compares them with the index every few seconds, as long as pages are asked for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from steelyard.errors import InfraFault, SteelyardError
from steelyard.report.stored.open_store import open_store
from steelyard.store.entry import Entry
from steelyard.store.query import Query
from steelyard.store.store import Store

FACETS = ("state", "judge", "contract", "agent", "study_name")  # what the filter counts and offers
FRESH_S = 2.0  # the index is compared with the folders at most so often


class Records:
    """Listings and counts of one store."""

    def __init__(self, root: Path, store: Store | None = None, url: str | None = None) -> None:
        self.root = root
        self._store = store or open_store(root, url)
        self._lock = threading.Lock()
        # An index in memory has one connection: readers and the thread that compares take turns.
        self._turn: AbstractContextManager[object] = (
            threading.RLock() if self._store.is_in_memory else nullcontext()
        )
        self._looked = 0.0
        self.looked_at = 0.0  # by the clock: when the last comparison with the folders began
        self._pause_s = 0.0
        self._thread: threading.Thread | None = None
        self._facets: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
        self._mark = (0, 0)  # of the index that the facets were counted in
        self.progress = ""  # of a first look that takes long
        self.fault = ""  # why the last look failed

    def sync(self) -> None:
        """Compare the folders with the index now."""
        started, began_at = time.monotonic(), time.time()
        try:
            with self._turn:
                change = self._store.sync(self._on_read)
                if change.read or change.removed or change.mark != self._mark or not self._facets:
                    # Counts over all runs are made here, so that no page waits for them.
                    self._facets = {(name,): self._store.tally((name,)) for name in FACETS}
                    self._mark = change.mark
            self.fault, self.looked_at = "", began_at
        except (SteelyardError, OSError) as fault:
            self.fault = str(fault)
        except SQLAlchemyError as fault:
            self.fault = _words(fault)
        finally:
            self.progress = ""
            self._looked = time.monotonic()
            # At most a tenth of the time is spent on it
            self._pause_s = max(FRESH_S, 10 * (self._looked - started))

    @property
    def mark(self) -> tuple[int, int]:
        """Another one after each change of the index: a run that ended, a review, a run that was removed."""
        return self._mark

    def _on_read(self, read: int, of: int) -> None:
        if not self._looked:  # later looks read only what is new
            self.progress = f"The index is being made: {read:,} of {of:,} runs."

    def refresh(self) -> None:
        """Start a comparison of the folders with the index, and do not wait for it."""
        with self._lock:
            if self._thread and self._thread.is_alive():
                return
            if self._looked and time.monotonic() - self._looked < self._pause_s:
                return
            self._thread = threading.Thread(target=self.sync, name="index", daemon=True)
            self._thread.start()

    def query(self, query: Query, *, lines: bool = False) -> list[Entry]:
        self.refresh()
        with self._turn, _answering():
            return self._store.query(query, lines=lines)

    def count(self, query: Query) -> int:
        with self._turn, _answering():
            return self._store.count(query)

    def tally(self, by: Sequence[str], query: Query | None = None) -> list[Mapping[str, Any]]:
        self.refresh()
        known = self._facets.get(tuple(by)) if query is None else None
        if known is not None:
            return known
        with self._turn, _answering():
            return self._store.tally(by, query)

    def results(self, query: Query) -> Iterator[dict[str, Any]]:
        with self._turn, _answering():
            yield from self._store.results(query=query)

    def close(self) -> None:
        self._store.close()


@contextmanager
def _answering() -> Iterator[None]:
    """A database that does not answer, such as a server that restarts, is a fault of the machine and no defect of a page."""
    try:
        yield
    except SQLAlchemyError as error:
        raise InfraFault(f"the index does not answer: {_words(error)}") from error


def _words(error: SQLAlchemyError) -> str:
    """What the database said: without the statement and its values."""
    first, *_ = str(getattr(error, "orig", None) or type(error).__name__).strip().splitlines() or [""]
    return first
