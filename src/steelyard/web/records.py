"""The index of a folder of runs, kept up to date while pages are read.

A page never waits for the folders: a thread compares them with the index every few seconds, as long as pages are asked for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.errors import SteelyardError
from steelyard.report.stored.open_store import open_store
from steelyard.store.entry import Entry
from steelyard.store.query import Query
from steelyard.store.store import Store

FRESH_S = 2.0  # the index is compared with the folders at most so often


class Records:
    """Listings and counts of one store."""

    def __init__(self, root: Path, store: Store | None = None, url: str | None = None) -> None:
        self.root = root
        self._store = store or open_store(root, url)
        self._lock = threading.Lock()
        self._looked = 0.0
        self._thread: threading.Thread | None = None
        self._facets: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
        self.progress = ""  # of a first look that takes long
        self.fault = ""  # why the last look failed

    def sync(self) -> None:
        """Compare the folders with the index now."""
        try:
            change = self._store.sync(self._on_read)
            self.fault = ""
            if change.read or change.removed:
                self._facets.clear()
        except (SteelyardError, OSError) as fault:
            self.fault = str(fault)
        finally:
            self.progress = ""
            self._looked = time.monotonic()

    def _on_read(self, read: int, of: int) -> None:
        self.progress = f"The index is being made: {read:,} of {of:,} runs."
        self._facets.clear()

    def refresh(self) -> None:
        """See to it that somebody compares the folders with the index, and do not wait for it."""
        with self._lock:
            if self._thread and self._thread.is_alive():
                return
            if time.monotonic() - self._looked < FRESH_S:
                return
            self._thread = threading.Thread(target=self.sync, name="index", daemon=True)
            self._thread.start()

    def query(self, query: Query, *, lines: bool = False) -> list[Entry]:
        self.refresh()
        return self._store.query(query, lines=lines)

    def count(self, query: Query) -> int:
        return self._store.count(query)

    def tally(self, by: Sequence[str], query: Query | None = None) -> list[Mapping[str, Any]]:
        self.refresh()
        if query is not None:
            return self._store.tally(by, query)
        key = tuple(by)
        if key not in self._facets:
            self._facets[key] = self._store.tally(by)
        return self._facets[key]

    def results(self, query: Query) -> Iterator[dict[str, Any]]:
        return self._store.results(query=query)

    def close(self) -> None:
        self._store.close()
