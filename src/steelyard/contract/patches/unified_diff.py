r"""A unified diff of the contract's own -> the files after it, exactly or not at all.

    diff --git a/tests/test_a.py b/tests/test_a.py
    --- a/tests/test_a.py
    +++ b/tests/test_a.py
    @@ -1,2 +1,3 @@

Every hunk stands where it says, and every line of it is as it says: a test patch that nearly fits tests something
else. A final newline that was cut off and line ends in CRLF are read as `patch` reads them (patch_forms.py). An agent's patch never comes here; git applies that, inside a sandbox.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import NamedTuple

from steelyard.contract.patches.patch_forms import patch_forms
from steelyard.deferred.data_class import dataclass
from steelyard.filesystem.tree import Entry, printable

_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = b"\\ No newline"
_NOWHERE = "/dev/null"


class PatchedFile(NamedTuple):
    """What a patch leaves at a path; `content` is None where it leaves nothing."""

    content: bytes | None
    mode: str = "644"


class Hunk(NamedTuple):
    start: int  # the first of its old lines, from 0
    old: list[bytes]
    new: list[bytes]


@dataclass
class Section:
    """What the patch says about one file."""

    old: str = ""
    new: str = ""
    mode: str = ""
    deleted: bool = False
    hunks: list[Hunk] = field(default_factory=list)


def apply_unified(
    patch: bytes, baseline: Mapping[str, Entry], read: Callable[[str], bytes]
) -> dict[str, PatchedFile]:
    """Path -> what is there afterwards; raises ValueError with the first reason why the patch does not apply."""
    first: ValueError | None = None
    for form in patch_forms(patch):
        try:
            return _apply_form(form, baseline, read)
        except ValueError as refused:
            first = first or refused
    raise first or ValueError("the patch names no file")


def _apply_form(
    patch: bytes, baseline: Mapping[str, Entry], read: Callable[[str], bytes]
) -> dict[str, PatchedFile]:
    after: dict[str, PatchedFile] = {}
    for section in sections(patch):
        path, source = section.new or section.old, section.old
        if path in after:
            raise ValueError(f"{printable(path)} is in the patch twice")
        before = baseline.get(source) if source else None
        if source and (before is None or before.kind != "file"):
            raise ValueError(f"{printable(source)} is not a file of the snapshot")
        if not source and path in baseline:
            raise ValueError(f"{printable(path)} exists already")
        content = _apply(section, read(source) if source else b"")
        if source and source != path:
            after[source] = PatchedFile(None)
        mode = section.mode or (before.mode if before else "644")
        after[path] = PatchedFile(None) if section.deleted else PatchedFile(content, mode)
    if not after:
        raise ValueError("the patch names no file")
    return after


def _apply(section: Section, content: bytes) -> bytes:
    lines, at = _lines(content), 0
    done: list[bytes] = []
    for hunk in section.hunks:
        if hunk.start < at or lines[hunk.start : hunk.start + len(hunk.old)] != hunk.old:
            raise ValueError(
                f"{printable(section.old or section.new)} differs from the patch at line {hunk.start + 1}"
            )
        done += lines[at : hunk.start] + hunk.new
        at = hunk.start + len(hunk.old)
    if section.deleted and lines[at:]:
        raise ValueError(f"{printable(section.old)} would not be empty when it is deleted")
    return b"".join(done + lines[at:])


def _lines(content: bytes) -> list[bytes]:
    """With their ends. Only a newline ends a line, whatever else the text holds."""
    *whole, last = content.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])


def sections(patch: bytes) -> Iterator[Section]:
    """Each file of the patch; raises ValueError at the first line that makes no sense."""
    reader = _Reader(_lines(patch))
    while (section := reader.section()) is not None:
        yield section


class _Reader:
    def __init__(self, lines: list[bytes]) -> None:
        self.lines, self.at = lines, 0

    def section(self) -> Section | None:
        while self.at < len(self.lines) and not self.line.startswith((b"diff --git ", b"--- ")):
            if self.line.startswith(b"@@ "):
                raise self._wrong("a hunk without a file")
            self.at += 1
        if self.at == len(self.lines):
            return None
        section = Section()
        if self.line.startswith(b"diff --git "):
            self._git_header(section)
        if self.line.startswith(b"--- "):
            section.old = self._name(self._take()[4:], b"a/") or ""
            if not self.line.startswith(b"+++ "):
                raise self._wrong("a line that begins with +++ is missing")
            new = self._name(self._take()[4:], b"b/")
            section.deleted, section.new = new is None, new or section.old
        while self.line.startswith(b"@@ "):
            section.hunks.append(self._hunk())
        return section

    def _git_header(self, section: Section) -> None:
        """The lines before the first hunk: modes, renames, and files that were or became empty."""
        first, created = self._take(), False
        while self.at < len(self.lines) and not self.line.startswith((b"diff --git ", b"--- ", b"@@ ")):
            words = self._take().rstrip(b"\r\n")
            key, _, value = words.rpartition(b" ")
            if words.startswith((b"Binary files", b"GIT binary patch")):
                raise self._wrong("a binary file")
            if key in (b"new mode", b"new file mode", b"deleted file mode"):
                if value not in (b"100644", b"100755"):
                    raise self._wrong("neither a plain nor an executable file")
                section.mode = value[3:].decode()
                section.deleted = key == b"deleted file mode"
            section.old = _path(words[12:]) if words.startswith(b"rename from ") else section.old
            section.new = _path(words[10:]) if words.startswith(b"rename to ") else section.new
            created = created or key == b"new file mode"
        if section.new or self.line.startswith(b"--- "):
            return
        # Without contents only this line has the name, twice.
        names = first[len(b"diff --git ") :].rstrip(b"\r\n")
        half = names[: len(names) // 2]
        section.new = self._name(half, b"a/") or ""
        section.old = "" if created else section.new

    def _hunk(self) -> Hunk:
        match = _HUNK.match(self.line)
        if match is None:
            raise self._wrong("not the head of a hunk")
        self.at += 1
        start, old_count, _, new_count = (1 if part is None else int(part) for part in match.groups())
        old: list[bytes] = []
        new: list[bytes] = []
        while len(old) < old_count or len(new) < new_count:
            line = self._take()
            sign, text = (b" ", line) if line == b"\n" else (line[:1], line[1:])
            if sign not in (b" ", b"+", b"-"):
                raise self._wrong("a line that belongs to no hunk")
            sides = [side for side, signs in ((old, b" -"), (new, b" +")) if sign in signs]
            for side in sides:
                side.append(text)
            if self.line.startswith(_NO_NEWLINE):
                self.at += 1
                for side in sides:
                    side[-1] = text.removesuffix(b"\n")
        if (len(old), len(new)) != (old_count, new_count):
            raise self._wrong("a hunk with more lines than its head says")
        return Hunk(start - 1 if old_count else start, old, new)

    @property
    def line(self) -> bytes:
        return self.lines[self.at] if self.at < len(self.lines) else b""

    def _take(self) -> bytes:
        if self.at >= len(self.lines):
            raise self._wrong("it ends too early")
        self.at += 1
        return self.lines[self.at - 1]

    def _name(self, raw: bytes, prefix: bytes) -> str | None:
        name = _path(raw.rstrip(b"\r\n").partition(b"\t")[0])
        return None if name == _NOWHERE else _inside(name.removeprefix(prefix.decode()))

    def _wrong(self, what: str) -> ValueError:
        return ValueError(f"line {min(self.at + 1, len(self.lines))} of the patch: {what}")


def _path(raw: bytes) -> str:
    if raw.startswith(b'"') and raw.endswith(b'"'):
        raw = codecs.escape_decode(raw[1:-1])[0]  # as git quotes names
    path = raw.decode("utf-8", "surrogateescape")
    return path if path == _NOWHERE else _inside(path)


def _inside(path: str) -> str:
    """Also of a name without its prefix: `b//etc/passwd` is /etc/passwd then."""
    if path.startswith("/") or {"..", ".git"} & set(path.split("/")):
        raise ValueError(f"{printable(path)} is not a path inside the repository")
    return path
