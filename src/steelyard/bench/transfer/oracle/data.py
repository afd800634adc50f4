"""A changed data file -> whether it belongs to the tests, and so comes from the baseline on the bench.

    __snapshots__/a.snap, x.golden, y.approved.txt    what a test tool recorded: the tests', wherever it lies
    testdata/a.json, fixtures/a.json, cassettes/...    the tests', unless product code of the snapshot reads it
    expected.json, named by a test                     the tests', unless product code, brief or reference name it
    locale/de.json, named by a test and by product     the product's: carried, and a finding says so

A change that may rewrite what a test compares with needs no work. A contract says otherwise by `runner_files`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from typing import Literal

from steelyard.bench.transfer.names.shadowing import is_named
from steelyard.bench.transfer.oracle.files import is_test_file
from steelyard.bench.transfer.oracle.source_texts import SourceTexts, data_folder, is_code
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.pattern import deferred_pattern
from steelyard.evidence.change.change import ChangeEntry
from steelyard.evidence.finding import Finding
from steelyard.filesystem.tree import Entry, prefixes, printable

_RECORDED = deferred_pattern(
    r"(^|/)(__(image_|file_|screen)?snapshots__|__recordings__|__cassettes__|[^/]+-snapshots)/"
    r"|\.(snap|ambr|golden|approved|verified|expected|storyshot)$"
    r"|\.(approved|verified|golden|expected|snap|snapshot|storyshot)\.[^/.]+$"
    r"|_(golden|approved)\.[^/.]+$"
)
# Part of every project, and looked at by tests that are about the project itself.
_PROJECT = deferred_pattern(
    r"(^|/)(README|LICEN[CS]E|CHANGE(S|LOG)|HISTORY|NOTICE|AUTHORS|Dockerfile|Makefile|MANIFEST|requirements)[^/]*$"
    r"|(^|/)(package(-lock)?\.json|pyproject\.toml|setup\.cfg|Cargo\.(toml|lock)|go\.(mod|sum)|pom\.xml|tsconfig[^/]*\.json)$"
    r"|\.(md|rst|adoc)$",
    re.IGNORECASE,
)
DATA = "oracle_data_changed"
NAMED = "data_named_by_test"
_OWN = "is test data; the bench uses the baseline's file. `runner_files` can allow it"
_OWN_NEW = "is new test data; not on the bench. `runner_files` can allow it"
_BY_A_TEST = "is named only by a test; the bench uses the baseline's file. `runner_files` can allow it"
_BOTH = "is named by a test, and the product uses it too; kept on the bench"

Belongs = Literal["recorded", "folder", "named", "both", "no"]


@dataclass(frozen=True)
class OracleData:
    """Asked of every path of a change. `referenced`: what the contract's reference changes."""

    baseline: Mapping[str, Entry]
    texts: SourceTexts
    brief: str = ""
    referenced: Callable[[], Collection[str]] = frozenset
    has_suite: bool = True  # a verifier has its data beside its script

    def left_behind(self, entry: ChangeEntry) -> Finding | None:
        for path in reversed(entry.paths):
            belongs = self.belongs(path, is_file=_is_file(entry))
            if path not in self.baseline:
                # What comes with tests of the change's own is no harm, and they need it.
                if belongs == "recorded" and self.is_of_a_test(path):
                    return Finding(DATA, "info", printable(path), _OWN_NEW)
            elif belongs in {"recorded", "folder", "named"}:
                return Finding(DATA, "warning", printable(path), _BY_A_TEST if belongs == "named" else _OWN)
        return None

    def is_of_a_test(self, path: str) -> bool:
        """Whether a recording is called like a test of the snapshot or a hidden one: `cart.test.js.snap`."""
        return any(name.startswith(stem) for name in path.split("/") for stem in self._stems)

    @cached_property
    def _stems(self) -> frozenset[str]:
        tests = (
            path.rsplit("/", 1)[-1] for path in (*self.baseline, *self.texts.hidden()) if is_test_file(path)
        )
        return frozenset(name.rpartition(".")[0] for name in tests)

    def carried_finding(self, entry: ChangeEntry) -> Finding | None:
        """Of a file that is carried."""
        for path in entry.paths:
            if self.belongs(path, is_file=_is_file(entry)) == "both":
                return Finding(NAMED, "info", printable(path), _BOTH)
        return None

    def keeps(self, path: str) -> bool:
        """Whether the bench keeps this file of the baseline, whatever becomes of the folder around it."""
        return self.belongs(path) in {"recorded", "folder", "named"}

    def belongs(self, path: str, *, is_file: bool = True) -> Belongs:
        if path in self.texts.oracle and not _RECORDED.search(path):
            return "no"  # with the tests, of which nothing of the change is on the bench of a suite
        if not is_code(path) and (_RECORDED.search(path) or self._is_beside_its_test(path)):
            return "recorded"
        if not self.has_suite or not is_file:
            return "no"
        folder = data_folder(path)
        if folder is not None:
            return self._in_folder(path, folder)
        if (
            path not in self.baseline
            or self._is_program(path)
            or _PROJECT.search(path)
            or not self.texts.named_by_tests(path)
        ):
            return "no"
        is_work = is_named(path, self.brief) or path in self.referenced() or self.texts.named_by_product(path)
        return "both" if is_work else "named"

    def _is_program(self, path: str) -> bool:
        return is_code(path) or "." not in path.rsplit("/", 1)[-1] or self.baseline[path].mode == "755"

    def _is_beside_its_test(self, path: str) -> bool:
        """`test_cart/total.yml` of `test_cart.py`, where plugins of pytest keep data."""
        return any(is_test_file(f"{one}.py") and f"{one}.py" in self.baseline for one in prefixes(path)[:-1])

    def _in_folder(self, path: str, folder: str) -> Belongs:
        if is_code(path):
            is_tests = self.texts.imported_by_tests(folder) and not self.texts.imported_by_product(folder)
            return "folder" if is_tests else "no"
        if self.texts.named_by_product(path) or self.texts.imported_by_product(folder):
            return "both" if self.texts.named_by_tests(path) else "no"
        return "folder"


def _is_file(entry: ChangeEntry) -> bool:
    return all(side is None or side.kind != "dir" for side in (entry.old, entry.new))
