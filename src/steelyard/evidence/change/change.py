"""What an agent changed, as data -> `change.json`.

    {"schema": "steelyard.change/1", "baseline": "<content root>", "complete": true,
     "entries": [{"path": "src/a.py", "old": {...}|null, "new": {...}|null, "renamed_from": null}],
     "generated": {"count": 3, "bytes": 812, "sha256": "..."}, "findings": [...]}

The bytes of every old and new file are blobs beside it, by sha256. This file and those blobs are
authoritative: the bench is rebuilt from them, and `patch.diff` is only their rendering.
"""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from steelyard.deferred.data_class import dataclass
from steelyard.evidence.finding import Finding
from steelyard.evidence.redact import Secrets
from steelyard.filesystem.tree import Entry, path_from_json, path_to_json

SCHEMA = "steelyard.change/1"


@dataclass(frozen=True, slots=True)
class ChangeEntry:
    """One path before and after. A rename is one entry at the new path, with `renamed_from`."""

    path: str
    old: Entry | None
    new: Entry | None
    renamed_from: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path,) if self.renamed_from is None else (self.renamed_from, self.path)


@dataclass(frozen=True, slots=True)
class GeneratedFiles:
    """Files under the contract's `generated` patterns: counted and digested, never carried to the bench."""

    count: int = 0
    bytes: int = 0
    sha256: str = hashlib.sha256().hexdigest()


@dataclass(frozen=True, slots=True)
class Change:
    """Everything between the seeded baseline and the dead workspace."""

    baseline: str
    entries: tuple[ChangeEntry, ...] = ()
    generated: GeneratedFiles = GeneratedFiles()
    findings: tuple[Finding, ...] = ()
    complete: bool = True  # False: the import hit a cap, so this is not the whole change

    @property
    def changed_paths(self) -> tuple[str, ...]:
        """Every changed file and symlink, both names of a rename."""
        return tuple(path for entry in self.file_entries for path in entry.paths)

    @property
    def file_entries(self) -> tuple[ChangeEntry, ...]:
        """The entries that concern a file or a symlink, not only an empty directory."""
        return tuple(
            entry
            for entry in self.entries
            if any(side is not None and side.kind != "dir" for side in (entry.old, entry.new))
        )

    def to_bytes(self) -> bytes:
        return orjson.dumps(
            {
                "schema": SCHEMA,
                "baseline": self.baseline,
                "complete": self.complete,
                "entries": [
                    {
                        "path": path_to_json(entry.path),
                        "old": entry.old.to_json() if entry.old else None,
                        "new": entry.new.to_json() if entry.new else None,
                        "renamed_from": None
                        if entry.renamed_from is None
                        else path_to_json(entry.renamed_from),
                    }
                    for entry in self.entries
                ],
                "generated": {
                    "count": self.generated.count,
                    "bytes": self.generated.bytes,
                    "sha256": self.generated.sha256,
                },
                "findings": [finding.to_json() for finding in self.findings],
            },
            option=orjson.OPT_SORT_KEYS,
        )

    @classmethod
    def from_bytes(cls, raw: bytes) -> Change:
        data = orjson.loads(raw)
        if data.get("schema") != SCHEMA:
            raise ValueError(f"not a {SCHEMA} file")
        return cls(
            baseline=data["baseline"],
            entries=tuple(_entry(item) for item in data["entries"]),
            generated=GeneratedFiles(**data["generated"]),
            findings=tuple(Finding.from_json(item) for item in data["findings"]),
            complete=data["complete"],
        )

    def redacted(self, secrets: Secrets) -> Change:
        """The same without secrets in names of files, targets of links and findings; blobs are redacted as they are stored."""
        if not secrets:
            return self
        text = secrets.redact_text
        entries = tuple(
            ChangeEntry(
                text(entry.path),
                entry.old,
                entry.new if entry.new is None else replace(entry.new, target=text(entry.new.target)),
                None if entry.renamed_from is None else text(entry.renamed_from),
            )
            for entry in self.entries
        )
        findings = tuple(
            Finding(one.id, one.severity, text(one.where), text(one.why)) for one in self.findings
        )
        return replace(self, entries=entries, findings=findings)

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.to_bytes()).hexdigest()


def claimed_paths(entry: ChangeEntry) -> tuple[str, ...]:
    """Every path that an entry lays claim to: both names, and for a symlink what it stands for and points at."""
    paths = list(entry.paths)
    if entry.new is not None and entry.new.kind == "symlink":
        # A link named like a forbidden folder, or one that points into it, is as good as a file in it.
        paths.append(f"{entry.path}/-")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(entry.path), entry.new.target))
        paths += [target, f"{target}/-"]
    return tuple(paths)


def _entry(data: Mapping[str, Any]) -> ChangeEntry:
    return ChangeEntry(
        path=path_from_json(data["path"]),
        old=Entry.from_json(data["old"]) if data["old"] else None,
        new=Entry.from_json(data["new"]) if data["new"] else None,
        renamed_from=None if data["renamed_from"] is None else path_from_json(data["renamed_from"]),
    )
