"""A contract -> how large its task is, by proxies that need no model, and the strata that follow.

    tokens      bytes of its text files / 4
    imports     lines that name another module: import, from, require, use, #include
    test time   of its longest check

Where small ends and large begins is an assumption (`TIERS`), named as one wherever it is shown: the numbers say more.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from steelyard.contract.contract import Contract

BYTES_OF_A_TOKEN = 4
MOST_BYTES = 1 << 20  # of one file; larger ones are data
TIERS = {
    "tokens": ((20_000, "small"), (500_000, "medium"), (None, "large")),
    "imports": ((50, "few-imports"), (1_000, "many-imports"), (None, "dense-imports")),
    "test_s": ((10, "fast-tests"), (120, "slow-tests"), (None, "long-tests")),
}  # the first limit that is not reached names the tier
_IMPORT = re.compile(
    rb"^\s*(?:import\b|from\s+\S+\s+import\b|use\s+\w|#\s*include\b|(?:const|let|var)\b.*\brequire\(|require\b)",
    re.MULTILINE,
)
_LANGUAGES = {
    ".py": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "typescript",
    ".go": "go",
    ".rs": "rust",
    ".c": "c",
    ".h": "c",
    ".cpp": "cpp",
    ".java": "java",
    ".pl": "perl",
    ".pm": "perl",
    ".rb": "ruby",
    ".sh": "shell",
}


class TaskSize(NamedTuple):
    language: str  # as the contract says, or that of most source files; "" where no suffix is known
    files: int
    tokens: int
    imports: int
    test_s: float | None  # None where no check ran

    @property
    def strata(self) -> tuple[str, ...]:
        measured = {"tokens": self.tokens, "imports": self.imports, "test_s": self.test_s}
        tiers = (_tier(name, value) for name, value in measured.items() if value is not None)
        return (*((self.language,) if self.language else ()), *tiers)

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "strata": list(self.strata), "text": self.text}

    @property
    def text(self) -> str:
        tests = "" if self.test_s is None else f", longest check {self.test_s:.1f} s"
        return (
            f"size: {_count(self.files, 'file')}, about {_count(self.tokens, 'token')}, {_count(self.imports, 'import')}{tests}; "
            f"for `metadata.strata`: [{', '.join(self.strata)}] (the limits between tiers are assumptions)"
        )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size_of(contract: Contract, check_seconds: Sequence[float]) -> TaskSize:
    """`check_seconds` is how long each check of the reference took."""
    files = {name: entry for name, entry in contract.snapshot.entries.items() if entry.kind == "file"}
    languages = Counter(
        language for name in files if (language := _LANGUAGES.get(PurePosixPath(name).suffix)) is not None
    )
    tokens = imports = 0
    for name, entry in files.items():
        content = (contract.snapshot.tree / name).read_bytes() if entry.size <= MOST_BYTES else b"\0"
        if b"\0" in content:
            continue
        tokens += len(content) // BYTES_OF_A_TOKEN
        imports += len(_IMPORT.findall(content)) if PurePosixPath(name).suffix in _LANGUAGES else 0
    found = languages.most_common(1)[0][0] if languages else ""
    language = contract.spec.metadata.language or found
    return TaskSize(language, len(files), tokens, imports, max(check_seconds, default=None))


def _tier(name: str, value: float) -> str:
    return next(tier for limit, tier in TIERS[name] if limit is None or value < limit)
