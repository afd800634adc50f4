"""The reference patches of a contract -> what keeps them from being applied, as far as reading them tells.

Only what is certain: `check --reference` has git apply them. Files that setup makes are not looked for, nor are binary
files, links and copies, which only git reads.
"""

from __future__ import annotations

from dataclasses import field, replace
from pathlib import Path

from steelyard.contract.contract import Contract
from steelyard.contract.patches.patch_forms import patch_forms
from steelyard.contract.patches.unified_diff import Section, sections
from steelyard.deferred.data_class import dataclass
from steelyard.errors import Problem
from steelyard.filesystem.tree import printable

MAX_BYTES = 4 << 20
ONLY_GIT_READS = (b"GIT binary patch", b"Binary files ", b"mode 120000", b"mode 160000", b"\ncopy from ")
FIX = "a solution, as `git diff` writes it"


@dataclass
class PatchedNames:
    """The snapshot's names as patch upon patch leaves them, and those whose content is no longer the snapshot's."""

    root: Path
    names: set[str]
    has_setup: bool = False
    touched: set[str] = field(default_factory=set)

    def refuses(self, section: Section) -> str:
        old, new = self._inside(section.old), self._inside(section.new)
        if section.old and old not in self.names:
            return "" if self.has_setup else f"{printable(section.old)} is not in the snapshot"
        if not section.old and new in self.names:
            return f"{printable(section.new)} exists already, so the patch cannot create it"
        wrong = self._other_lines(section, old) if old in self.names - self.touched else ""
        self.touched |= {old, new}
        self.names = (self.names - {old}) | (set() if section.deleted else {new})
        return wrong

    def _inside(self, name: str) -> str:
        """Git takes off whatever the first part is: `a/`, `i/`, `old/`."""
        below = name.partition("/")[2]
        return below if name not in self.names and below in self.names else name

    def _other_lines(self, section: Section, name: str) -> str:
        path = self.root / name
        if not section.hunks or path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES:
            return ""
        content = path.read_bytes()
        odd = next((hunk for hunk in section.hunks if b"".join(hunk.old) not in content), None)
        return "" if odd is None else f"{printable(name)} differs from the patch at line {odd.start + 1}"


def reference_problems(contract: Contract) -> list[Problem]:
    """At most one: after a patch that does not apply, nothing more is known."""
    if contract.spec.answer_path is not None:
        return []  # the reference is the answer itself
    snapshot = contract.snapshot
    standing = PatchedNames(snapshot.tree, set(snapshot.entries), bool(contract.spec.setup))
    steps = [("steps", step.reference) for step in contract.steps]
    for place, path in (("oracle.reference", contract.reference), *steps):
        if not isinstance(path, Path) or path.stat().st_size > MAX_BYTES:
            continue
        patch = path.read_bytes()
        may_be_empty = place == "steps"  # there may be nothing to do in one
        message = why_refused(patch, standing) if patch.strip() or not may_be_empty else ""
        if message:
            return [Problem(str(path), place, message, FIX)]
    return []


def why_refused(patch: bytes, standing: PatchedNames) -> str:
    """Why the patch cannot apply, if that is certain: no form of it may."""
    if any(word in patch for word in ONLY_GIT_READS):
        return ""
    first = ""
    for form in patch_forms(patch):
        after = replace(standing, names={*standing.names}, touched={*standing.touched})
        refused = _why_form_refused(form, after)
        if not refused:
            standing.names, standing.touched = after.names, after.touched
            return ""
        first = first or refused
    return first


def _why_form_refused(patch: bytes, standing: PatchedNames) -> str:
    try:
        found = list(sections(patch))
    except ValueError as error:
        return f"is not a patch that can be read: {error}"
    if not found:
        return "is not a patch: it names no file" if patch.strip() else "is empty"
    return next(filter(None, map(standing.refuses, found)), "")
