"""Whether anything was written at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from steelyard.bench.transfer.oracle.files import OracleFiles
from steelyard.contract.model import NonEmpty
from steelyard.evidence.change.change import ChangeEntry
from steelyard.filesystem.tree import Entry, printable
from steelyard.graders.base import Case, Grader
from steelyard.graders.files.paths import list_paths, matches
from steelyard.graders.grade import Grade
from steelyard.graders.syntax.reading.untrusted import UNPARSED_BYTES, parse_untrusted
from steelyard.graders.syntax.substance import Substance, real_change, substance
from steelyard.grammars import Grammar, grammar_of

READ_BYTES, PARSED_BYTES = 2 << 20, 256 << 10  # of one file
TOTAL_READ_BYTES, TOTAL_PARSED_BYTES = 64 << 20, 2 << 20
LINE_CHARS = 1000
# What is read or configured, not run; a contract for which it is the work names it in `files`.
_NOT_SOURCE = re.compile(
    r"\.(md|mdx|rst|txt|adoc|org|log|csv|tsv|json|jsonl|ya?ml|toml|lock|sum|cfg|ini|conf|xml|svg|po|pot|diff|patch)$"
    r"|(^|/)(README|LICEN[CS]E|COPYING|CHANGES|CHANGELOG|NEWS|AUTHORS|NOTICE|CODEOWNERS|\.[^/]*)[^/.]*$",
    re.IGNORECASE,
)
# How a comment begins, by the ending of the file; `*` alone is the middle of a block, `*p` is not.
_BLOCKS = r"//|/\*|\*(\s|/|$)"
_COMMENT = (
    (re.compile(r"\.(c|h|cc|hh|cpp|hpp|cxx|m|mm|cs|java|kts?|scala|swift|dart|go|rs|[cm]?[jt]sx?|css|scss|less|zig)$"), _BLOCKS),
    (re.compile(r"\.(sql|lua|hs|elm|ada|adb|ads|vhdl?)$"), rf"--|{_BLOCKS}"),
    (re.compile(r"\.(clj|cljs|lisp|el|scm|rkt|asm|s)$"), r";|#\s"),
    (re.compile(r"\.(erl|hrl|tex|pro)$"), r"%"),
    (re.compile(r"\.(html?|vue|svelte)$"), rf"<!--|{_BLOCKS}"),
    (re.compile(""), rf"#(?!\[)|{_BLOCKS}"),
)  # fmt: skip


class _FunctionCounts(NamedTuple):
    real: str | None  # what shows that code was written
    by_line: bool


@dataclass(frozen=True)
class Implemented(Grader):
    """Code was written: some changed source file is more than comments, docstrings, stubs, dead code and layout.

    Python, JavaScript, TypeScript, Go, Rust, Java and Ruby are read as syntax trees; in other languages, and in files
    that do not parse, lines that are not comments are compared. `pass`, `...`, `raise NotImplementedError`,
    `todo!()`, `throw new Error("not implemented")` and, unless more code was there before, `return None` are stubs; so
    are mere declarations. A deletion counts if code is left in the file; a deleted file does not. Test files, documents
    and configuration are ignored, unless `files` (paths or patterns) lists them.

    Why: a run that wrote nothing must not get credit for tests that passed before.
    Example: `{type: implemented, files: ["src/cart.py"]}`
    Fooled by: code that does nothing useful; only tests detect that.
    """

    TYPE = "implemented"
    UNDER = "acceptance"
    REQUIRED = False
    WEIGHT = 1.0
    GATE: ClassVar[bool] = True

    files: tuple[NonEmpty, ...] = ()

    def grade(self, case: Case) -> Grade:
        looking = _Looking(case)
        sources = self._sources(case)
        by_line = []
        for entry in sources:
            seen = looking.at(entry)
            by_line += [entry.path] if seen.by_line else []
            if seen.real is not None:
                where = f"{printable(entry.path)}{f' ({printable(seen.real)})' if seen.real else ''}"
                return Grade.of(True, f"code was written in {where}{_lines(by_line)}")
        if not sources:
            return Grade.of(False, "no source file was changed")
        return Grade.of(
            False,
            f"only comments, stubs or layout changed in {list_paths([one.path for one in sources])}{_lines(by_line)}",
        )

    def _sources(self, case: Case) -> list[ChangeEntry]:
        """Changed files that are there in the end, small ones first."""
        tests = OracleFiles(case.baseline)
        found = [
            entry
            for entry in case.change.file_entries
            if entry.new is not None and entry.new.kind == "file" and entry.new.size
            if (matches(entry.path, self.files) if self.files else _is_source(entry.path, tests))
        ]
        return sorted(found, key=lambda one: one.new.size if one.new else 0)


def _is_source(path: str, tests: OracleFiles) -> bool:
    return path not in tests and not _NOT_SOURCE.search(path)


def _lines(paths: list[str]) -> str:
    return f"; compared line by line: {list_paths(paths)}" if paths else ""


class _Looking:
    """At one file after the other, within limits."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.may_read, self.may_parse = TOTAL_READ_BYTES, TOTAL_PARSED_BYTES

    def at(self, entry: ChangeEntry) -> _FunctionCounts:
        old, new = self._read(entry.old), self._read(entry.new)
        if old == new or b"\0" in new[:8192]:
            return _FunctionCounts(None, by_line=False)
        grammar = grammar_of(entry.path)
        before, after = self._parse(old, grammar), self._parse(new, grammar)
        if before is not None and after is not None:
            return _FunctionCounts(real_change(before, after), by_line=False)
        code = _code_lines(new, entry.path)
        return _FunctionCounts("" if code and code != _code_lines(old, entry.path) else None, by_line=True)

    def _read(self, entry: Entry | None) -> bytes:
        if entry is None or entry.kind != "file" or not entry.size or not entry.sha256:
            return b""
        size = min(entry.size, READ_BYTES, max(0, self.may_read))
        self.may_read -= size
        with self.case.blobs.open(entry.sha256) as stream:
            return stream.read(size)

    def _parse(self, data: bytes, grammar: Grammar | None) -> Substance | None:
        if grammar is None or len(data) > min(PARSED_BYTES, self.may_parse):
            return None
        self.may_parse -= len(data)
        tree = parse_untrusted(data, grammar)
        if tree is None:
            self.may_parse -= UNPARSED_BYTES
            return None
        return substance(tree.root_node, grammar)


def _code_lines(data: bytes, path: str) -> list[str]:
    begins = next(begins for ending, begins in _COMMENT if ending.search(path))
    comment = re.compile(rf"\s*({begins})")
    lines = (line[:LINE_CHARS] for line in data.decode("utf-8", "replace").splitlines())
    return ["".join(line.split()) for line in lines if line.strip() and not comment.match(line)]
