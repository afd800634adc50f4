"""Which files of a tree are the oracle's: the tests that judge, not the work that is judged.

On the bench they are the baseline's or the contract's. A test that the candidate wrote or changed is no evidence
about the candidate; one that it deleted is there again.

    tests/test_cart.py          looks like a test of its language
    tests/helpers.py            in a folder for tests that really holds some
    django/test/client.py       not: no test is in that folder
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from steelyard.deferred.pattern import deferred_pattern

_TEST_FILE = deferred_pattern(
    r"(^|/)(test_[^/]*|[^/]*_test|tests)\.py$"
    r"|\.(test|spec)\.[cm]?[jt]sx?$"
    r"|_test\.go$"
    r"|(^|/)(Test[^/]*|[^/]*(Test|Tests|TestCase|IT|Spec))\.(java|kt|scala|groovy|php|cs)$"
    r"|(_test|_spec)\.rb$|(^|/)test_[^/]*\.rb$"
    r"|\.bats$|(^|/)t/[^/]+\.t$"
)
_TEST_FOLDER = deferred_pattern(r"(^|/)(tests?|spec|__tests__)/")


class OracleFiles:
    """Made from the paths of the baseline, once; asked of every path of a change."""

    def __init__(self, baseline: Iterable[str], patterns: tuple[str, ...] = ()) -> None:
        self._patterns = patterns
        self._folders = set() if patterns else {folder for path in baseline for folder in _folders(path)}

    def __contains__(self, path: str) -> bool:
        if self._patterns:
            return any(fnmatchcase(path, pattern) for pattern in self._patterns)
        if _TEST_FILE.search(path):
            return True
        return any(path[: match.end()] in self._folders for match in _TEST_FOLDER.finditer(path))


def is_test_file(path: str) -> bool:
    """Whether it looks like a test of its language, wherever it is."""
    return _TEST_FILE.search(path) is not None


def _folders(path: str) -> list[str]:
    """The folders for tests above a baseline file, if that file is a test."""
    matches = list(_TEST_FOLDER.finditer(path))
    if not matches or not (_TEST_FILE.search(path) or _runs_by_place(path)):
        return []
    return [path[: match.end()] for match in matches]


def _runs_by_place(path: str) -> bool:
    """Rust and plain Node find tests by folder alone: `tests/cart.rs`, `test/cart.js`."""
    return bool(re.search(r"(^|/)(tests/[^/]+\.rs|tests?/[^/]+\.[cm]?[jt]s)$", path))
