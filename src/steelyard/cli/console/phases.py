"""The folder of runs -> what each run of this command is doing: (contract, agent, repeat) -> `check hidden`."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.folder.folder import GRADINGS_HEAD, MANIFEST, RunFolder
from steelyard.evidence.in_use import is_in_use
from steelyard.evidence.live_state import phase_of

_EVERY_S = 0.4


class RunKey(NamedTuple):
    contract: str
    agent: str
    repeat: int


class Phases:
    """Looks at folders that appeared since it was made, at most every `_EVERY_S` seconds."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._since = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
        self._keys: dict[str, RunKey] = {}
        self._ended: set[str] = set()
        self._at = 0.0
        self._found: dict[RunKey, str] = {}

    def now(self) -> dict[RunKey, str]:
        if time.monotonic() - self._at >= _EVERY_S:
            self._at = time.monotonic()
            self._found = {key: phase_of(folder) for key, folder in self._running()}
        return self._found

    def _running(self) -> list[tuple[RunKey, RunFolder]]:
        try:
            with os.scandir(self._out) as entries:
                names = [
                    one.name for one in entries if one.name >= self._since and one.name not in self._ended
                ]
        except OSError:
            return []
        found = []
        for name in sorted(names):
            folder = RunFolder(self._out / name)
            key = self._key(folder)
            if key is None:
                continue
            if folder.file(GRADINGS_HEAD).exists():
                self._ended.add(name)
            elif is_in_use(folder.path):
                found.append((key, folder))
        return found

    def _key(self, folder: RunFolder) -> RunKey | None:
        if folder.run_id not in self._keys:
            try:
                manifest = folder.read_json(MANIFEST)
                self._keys[folder.run_id] = RunKey(
                    str(manifest["contract"]["id"]),
                    str(manifest["agent"]["name"]),
                    int(manifest["seeds"]["repeat"]),
                )
            except (OSError, ValueError, LookupError, TypeError):
                return None  # not written yet
        return self._keys[folder.run_id]
