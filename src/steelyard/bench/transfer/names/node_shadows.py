"""Paths that a change adds -> whether Node would find one where a test asks for a module of the oracle's.

checks/util, checks/util.js     while the oracle has checks/util.ts: a name without an ending finds them first
checks/util.js                  while the oracle has checks/util/index.js
checks/util/index.js            behind checks/util.js: not found first
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from steelyard.bench.transfer.oracle.files import OracleFiles, is_test_file
from steelyard.deferred.pattern import deferred_pattern

_SCRIPT = deferred_pattern(r"\.([cm]?[jt]sx?|json|node)$")
_INDEX = deferred_pattern(r"/index\.([cm]?[jt]sx?|json|node)$")


class NodeShadows:
    def __init__(self, baseline: Collection[str], hidden: Collection[str]) -> None:
        self._baseline = baseline
        self._hidden = frozenset(hidden)

    def of(self, path: str) -> bool:
        if path in self._baseline or path in self._hidden or _INDEX.search(path):
            return False
        return _SCRIPT.sub("", path) in self._modules

    @cached_property
    def _modules(self) -> frozenset[str]:
        """The oracle's scripts, as a test would ask for them; no test asks for another test."""
        tests = OracleFiles((*self._baseline, *self._hidden))
        own = (path for path in (*self._baseline, *self._hidden) if path in self._hidden or path in tests)
        scripts = {path for path in own if _SCRIPT.search(path) and not is_test_file(path)}
        found = {_INDEX.sub("", path) if _INDEX.search(path) else _SCRIPT.sub("", path) for path in scripts}
        known = {
            _SCRIPT.sub("", path) for path in self._baseline if path not in tests and _SCRIPT.search(path)
        }
        return frozenset(found - known)
