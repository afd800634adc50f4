"""The id of a result -> the file that it is in, whatever the report says about that.

    tests/test_a.py::Cart::test_x       tests/test_a.py
    tests.test_a.Cart.test_x            tests/test_a.py, if the oracle has one such file
    example.com/shop/cart::TestAdd      cart/cart_test.go, if the oracle has it (go_packages.py)
    shop/acceptance::adds               tests/acceptance.rs, the same (cargo_targets.py)

A forged report could leave the file out, and with it every control of that test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace

from steelyard.bench.suite.cargo_targets import NO_TARGETS, CargoTargets
from steelyard.bench.suite.go_packages import NO_PACKAGES, GoPackages
from steelyard.bench.suite.reported import Result, SuiteReport
from steelyard.deferred.data_class import dataclass

_SOURCE = re.compile(r"\.(py|[cm]?[jt]sx?)$")
_ORACLE = re.compile(r"\.(py|[cm]?[jt]sx?)$|_test\.go$|(^|/)tests/.*\.rs$")
UNLOADED = "unittest.loader._FailedTest."  # unittest's name of a module that cannot be imported


@dataclass(frozen=True, slots=True)
class ResultFiles:
    """The oracle's files, by the ends of their paths: a command may run below the root."""

    files: frozenset[str] = frozenset()
    cwd: str = ""
    _by_name: Mapping[str, list[str]] = field(default_factory=dict)
    packages: GoPackages = NO_PACKAGES
    targets: CargoTargets = NO_TARGETS

    @classmethod
    def of(
        cls,
        files: Iterable[str],
        cwd: str = "",
        packages: GoPackages = NO_PACKAGES,
        targets: CargoTargets = NO_TARGETS,
    ) -> ResultFiles:
        kept = frozenset(path for path in files if _ORACLE.search(path))
        by_name: dict[str, list[str]] = {}
        for path in kept:
            by_name.setdefault(path.rpartition("/")[2], []).append(path)
        return cls(kept, cwd, by_name, packages, targets)

    def with_files(self, reported: SuiteReport) -> SuiteReport:
        if reported.channel == "exit_code":
            return reported
        return replace(
            reported, results=tuple(replace(one, file=self.file_of(one)) for one in reported.results)
        )

    def file_of(self, result: Result) -> str:
        """What the id says; what the report says only where the id says nothing."""
        head, found, _ = result.id.partition("::")
        if _SOURCE.search(head) and (found or head == result.id):
            return self._path(head, result.file)
        if not found:
            modules = (self._path(path, result.file) for path in _module_paths(result.id))
            return next((path for path in modules if path in self.files), result.file)
        return self.packages.file_of(result.id) or self.targets.file_of(result.id) or result.file

    def _path(self, claimed: str, reported: str) -> str:
        """A path that may be relative to a folder below the root."""
        below = f"{self.cwd}/{claimed}" if self.cwd else claimed
        for path in (reported, below, claimed):
            if path in self.files and (path == claimed or path.endswith(f"/{claimed}")):
                return path
        ends = [
            path for path in self._by_name.get(claimed.rpartition("/")[2], ()) if path.endswith(f"/{claimed}")
        ]
        return ends[0] if len(ends) == 1 else claimed


def _module_paths(name: str) -> Iterator[str]:
    """The files that a dotted name may begin with, the longest first."""
    parts = name.removeprefix(UNLOADED).split(".")
    for length in range(min(len(parts), 12), 0, -1):
        yield "/".join(parts[:length]) + ".py"


def is_load_failure(result: Result) -> bool:
    """A file that could not be read or imported, reported instead of its tests."""
    head, found, _ = result.id.partition("::")
    of_a_file = not found and bool(_SOURCE.search(head))
    return result.outcome in {"failed", "error"} and (of_a_file or result.id.startswith(UNLOADED))


def known_files(results: Iterable[Result]) -> frozenset[str]:
    return frozenset(one.file for one in results if one.file)
