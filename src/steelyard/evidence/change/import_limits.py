"""Limits of one import, and what was spent and seen -> findings, never a crash and never without bound."""

from __future__ import annotations

import hashlib
import os
from dataclasses import field

from steelyard.deferred.data_class import dataclass
from steelyard.evidence.change.change import GeneratedFiles
from steelyard.evidence.finding import Finding, Severity
from steelyard.filesystem.tree import printable

_EXACT = (1 << 53) - 1  # the largest integer that every reader of JSON takes as it is


@dataclass(frozen=True, slots=True)
class Caps:
    """What one workspace may bring. Over any of these the change is not complete, and that is a violation."""

    files: int = 100_000  # carried entries
    # Carried contents; as many again for the baseline's side and for generated files
    total_bytes: int = 1 << 30
    file_bytes: int = 256 << 20
    depth: int = 400
    name_bytes: int = 255
    path_bytes: int = 4096  # PATH_MAX: nothing on a bench could open a longer one
    paths_bytes: int = 64 << 20  # all paths together
    visits: int = 500_000  # names looked at
    findings: int = 1000  # of each severity


@dataclass(slots=True)
class Ledger:
    """Everything an import counts. One `import_cap` finding for each cap, at the first path that was over it."""

    caps: Caps
    files: int = 0
    carried_bytes: int = 0
    paths: int = 0
    visits: int = 0
    old_bytes: int = 0
    generated_files: int = 0
    generated_bytes: int = 0
    generated_read: int = 0
    complete: bool = True
    _generated: hashlib._Hash = field(default_factory=hashlib.sha256)
    _findings: dict[Severity, list[Finding]] = field(default_factory=dict)
    _left_out: dict[Severity, int] = field(default_factory=dict)
    _over: set[str] = field(default_factory=set)

    def note(self, slug: str, severity: Severity, path: str, why: str) -> None:
        kept = self._findings.setdefault(severity, [])
        if len(kept) < self.caps.findings:
            kept.append(Finding(slug, severity, printable(path[:4096]) or ".", why))
        else:
            self._left_out[severity] = self._left_out.get(severity, 0) + 1

    def over(self, cap: str, path: str) -> None:
        self.complete = False
        if cap not in self._over:
            self._over.add(cap)
            limit = getattr(self.caps, cap)
            self.note(
                "import_cap",
                "violation",
                path,
                f"over the limit of {limit} {cap}; the rest is not imported",
            )

    def admits(self, path: str) -> bool:
        """Whether one more entry at `path` may be carried; spends it if so."""
        length = len(os.fsencode(path))
        if len(os.fsencode(path.rpartition("/")[2])) > self.caps.name_bytes:
            self.over("name_bytes", path)
        elif length > self.caps.path_bytes:
            self.over("path_bytes", path)
        elif self.paths + length > self.caps.paths_bytes:
            self.over("paths_bytes", path)
        elif self.files >= self.caps.files:
            self.over("files", path)
        else:
            self.files += 1
            self.paths += length
            return True
        return False

    def enters(self, path: str) -> bool:
        """Whether a new directory may be walked; spends its path, for it has to be remembered."""
        length = len(os.fsencode(path))
        if path.count("/") >= self.caps.depth:
            self.over("depth", path)
        elif length > self.caps.path_bytes:
            self.over("path_bytes", path)
        elif self.paths + length > self.caps.paths_bytes:
            self.over("paths_bytes", path)
        else:
            self.paths += length
            return True
        return False

    def affords(self, path: str, size: int) -> bool:
        """Whether `size` more bytes may be read and kept; spends them if so."""
        if size > self.caps.file_bytes:
            self.over("file_bytes", path)
        elif self.carried_bytes + size > self.caps.total_bytes:
            self.over("total_bytes", path)
        else:
            self.carried_bytes += size
            return True
        return False

    def affords_old(self, size: int) -> bool:
        """Whether a blob may be kept of this much of the baseline; if not it is only hashed, which is no fault."""
        if size > self.caps.file_bytes or self.old_bytes + size > self.caps.total_bytes:
            return False
        self.old_bytes += size
        return True

    def affords_generated(self, size: int) -> bool:
        if size > self.caps.file_bytes or self.generated_read + size > self.caps.total_bytes:
            return False
        self.generated_read += size
        return True

    def generated(self, path: str, size: int, content: bytes) -> None:
        self.generated_files += 1
        # Three empty files may claim more bytes than a JSON number can say.
        self.generated_bytes = min(self.generated_bytes + size, _EXACT)
        for part in (os.fsencode(path), str(size).encode(), content):
            self._generated.update(len(part).to_bytes(8, "big") + part)

    def generated_total(self) -> GeneratedFiles:
        return GeneratedFiles(self.generated_files, self.generated_bytes, self._generated.hexdigest())

    def findings(self) -> tuple[Finding, ...]:
        for severity, count in self._left_out.items():
            why = f"{count} more findings of severity {severity} are left out"
            self._findings[severity].append(Finding("findings_cap", severity, ".", why))
        everything = (finding for kept in self._findings.values() for finding in kept)
        return tuple(sorted(everything, key=lambda finding: (finding.id, finding.where, finding.why)))
