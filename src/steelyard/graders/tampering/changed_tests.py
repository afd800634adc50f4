"""A change -> the outlines of every changed test file, before and after, within limits.

Files are read up to a size and parsed up to a smaller one; a file that does not parse cleanly, or whose language
has no grammar here, is looked at line by line instead, and a finding says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from steelyard.evidence.change.change import ChangeEntry
from steelyard.evidence.finding import Finding
from steelyard.filesystem.tree import Entry, printable
from steelyard.graders.base import Case
from steelyard.graders.files.paths import matches
from steelyard.graders.syntax.reading.outline import Outline, finish
from steelyard.graders.syntax.reading.reader import Reader
from steelyard.graders.syntax.reading.untrusted import UNPARSED_BYTES, parse_untrusted
from steelyard.grammars import Grammar, grammar_of

# What counts as a test file unless a contract says otherwise. `*` crosses `/`. Rust keeps tests beside the code, so
# a .rs file counts when it holds one.
TEST_GLOBSET = (
    *(
        "test_*",
        "*/test_*",
        "*_test.*",
        "*_tests.*",
        "tests.py",
        "*/tests.py",
        "conftest.py",
        "*/conftest.py",
    ),
    *("*.test.*", "*.spec.*", "*_spec.*", "*Test.*", "*Tests.*", "*TestCase.*", "*.rs"),
    *("test/*", "*/test/*", "tests/*", "*/tests/*", "spec/*", "*/spec/*", "__tests__/*", "*/__tests__/*"),
)
# Where each language's runners look for tests: a test that is moved elsewhere is not run.
COLLECTED = {
    "python": re.compile(r"(^|/)(test_[^/]*|[^/]*_test|tests)\.py$"),
    "javascript": re.compile(r"\.(test|spec)\.\w+$|(^|/)(__tests__|tests?|spec)/|(^|/)test[^/]*\.\w+$"),
    "go": re.compile(r"_test\.go$"),
    "rust": re.compile(r"\.rs$"),
    "java": re.compile(r"(^|/)(Test[^/]*|[^/]*(Test|Tests|TestCase|IT|Spec))\.java$"),
    "ruby": re.compile(r"(_test|_spec)\.rb$|(^|/)test_[^/]*\.rb$"),
}
_RUST_TESTS = re.compile(rb"#\[[^\]]*\b(test|rstest|test_case)\b")
READ_BYTES, PARSED_BYTES = 2 << 20, 256 << 10  # of one file
TOTAL_READ_BYTES, TOTAL_PARSED_BYTES = 32 << 20, 2 << 20


class Lines(NamedTuple):
    """A file that is compared line by line; None: it was not there."""

    path: str
    old: str
    new: str


@dataclass
class ChangedTests:
    """Both sides of every changed test file."""

    count: int = 0
    old: list[Outline] = field(default_factory=list)
    new: list[Outline] = field(default_factory=list)
    renamed: dict[str, str] = field(default_factory=dict)
    by_line: list[Lines] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)


def changed_tests(case: Case, globset: tuple[str, ...]) -> ChangedTests:
    reading = _Reading(case, globset)
    # Files that were there before first: only they can have been weakened, and the limits are not endless.
    for entry in sorted(case.change.file_entries, key=lambda one: one.old is None):
        reading.add(entry)
    finish(reading.found.old)
    finish(reading.found.new)
    return reading.found


class _Reading:
    def __init__(self, case: Case, globset: tuple[str, ...]) -> None:
        self.case, self.globset = case, globset
        self.found = ChangedTests()
        self.may_read, self.may_parse = TOTAL_READ_BYTES, TOTAL_PARSED_BYTES

    def add(self, entry: ChangeEntry) -> None:
        old_path = entry.renamed_from or entry.path
        if not any(matches(path, self.globset) for path in entry.paths):
            return
        old, new = self._read(old_path, entry.old), self._read(entry.path, entry.new)
        if self._is_plain_rust(entry, old, new):
            return
        self.found.count += 1
        if old_path != entry.path:
            self.found.renamed[old_path] = entry.path
        grammar = grammar_of(entry.path) if entry.new is not None else grammar_of(old_path)
        sides = ((old_path, old, self.found.old), (entry.path, new, self.found.new))
        outlines = [
            self._outline(path, data, grammar) if data is not None else Outline(path)
            for path, data, _ in sides
        ]
        if all(outline is not None for outline in outlines):
            for outline, (_, data, side) in zip(outlines, sides, strict=True):
                if data is not None and outline is not None:
                    side.append(outline)
            return
        if grammar is not None:
            self._note("not_parsed", entry.path, "does not parse, or is very large: compared line by line")
        self.found.by_line.append(Lines(entry.path, _text(old), _text(new)))

    def _is_plain_rust(self, entry: ChangeEntry, old: bytes | None, new: bytes | None) -> bool:
        if self.globset != TEST_GLOBSET or not entry.path.endswith(".rs"):
            return False
        others = tuple(pattern for pattern in TEST_GLOBSET if pattern != "*.rs")
        return not matches(entry.path, others) and not any(
            _RUST_TESTS.search(data or b"") for data in (old, new)
        )

    def _read(self, path: str, entry: Entry | None) -> bytes | None:
        """A side of a file, if it is one and counts as a test file: a test moved out of sight is gone."""
        if entry is None or entry.kind != "file" or not matches(path, self.globset):
            return None
        size = min(entry.size, READ_BYTES, max(0, self.may_read))
        if size < entry.size:
            self._note("partly_read", path, f"only the first {size} bytes were read")
        self.may_read -= size
        if not size:
            return b""
        with self.case.blobs.open(entry.sha256) as stream:
            return stream.read(size)

    def _outline(self, path: str, data: bytes, grammar: Grammar | None) -> Outline | None:
        if grammar is None or len(data) > PARSED_BYTES or len(data) > self.may_parse or b"\0" in data:
            return None
        self.may_parse -= len(data)
        tree = parse_untrusted(data, grammar)
        if tree is None:
            self.may_parse -= UNPARSED_BYTES
            return None
        collected = self.globset != TEST_GLOBSET or bool(COLLECTED[grammar.language].search(path))
        return Reader(path, grammar, collected=collected).run(tree.root_node)

    def _note(self, slug: str, path: str, why: str) -> None:
        if len(self.found.notes) < 20:
            self.found.notes.append(Finding(slug, "info", printable(path), why))


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "replace")
