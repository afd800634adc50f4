"""A `Change` and its blobs -> `patch.diff`, for people and for `git apply`, and the renames that git sees.

`change.json` is what counts; this is its rendering. What git cannot carry (empty directories, files over the
limits below, names it refuses) is said in comment lines before the first hunk:

    # not in this patch: docs/blob.bin: 268435456 bytes
    diff --git a/src/a.py b/src/a.py
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import BinaryIO

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.change.oddities import stands_for_git
from steelyard.evidence.change.renames import with_renames
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem import trusted_git
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.tree import Entry, printable

__all__ = ["RenderedPatch", "render_patch", "with_renames"]

FILE_BYTES = 8 << 20
TOTAL_BYTES = 64 << 20
FILES = 20_000
_DIFF: tuple[str, ...] = (
    "diff-tree",
    "-r",
    "--raw",
    "-z",
    "-p",
    "--binary",
    "--full-index",
    "-M",
    "-l1000",
    "--no-ext-diff",
)
_DIFF += ("--no-textconv", "--no-color", "--ignore-submodules=all", "--src-prefix=a/", "--dst-prefix=b/")


class RenderedPatch(NamedTuple):
    patch: bytes
    renames: Mapping[str, str]  # new path -> old path, as git sees them: equal or similar contents


class _SortedEntries(NamedTuple):
    entries: list[ChangeEntry]
    comments: list[str]


def render_patch(change: Change, blobs: Blobs) -> RenderedPatch:
    carried, comments = _sort_out(change, blobs)
    diff = _diff(carried, blobs) if carried else RenderedPatch(b"", {})
    if diff is None:
        comments.append("# this patch is empty: git could not render it; change.json has the whole change")
        diff = RenderedPatch(b"", {})
    header = "".join(f"{line}\n" for line in comments).encode()
    return RenderedPatch(header + diff.patch, diff.renames)


def _sort_out(change: Change, blobs: Blobs) -> _SortedEntries:
    """What git can carry, and comments on the rest."""
    result, size = _SortedEntries([], []), 0
    if not change.complete:
        result.comments.append("# incomplete: the workspace was over a limit of the import")
    for entry in change.entries:
        why = _obstacle(entry, blobs)
        size += 0 if why else sum(side.size for side in (entry.old, entry.new) if side)
        if not why and (size > TOTAL_BYTES or len(result.entries) >= FILES):
            why = "the patch would be too large"
        if why:
            result.comments.append(f"# not in this patch: {printable(entry.path)}: {why}")
        else:
            result.entries.append(entry)
    return result


def _obstacle(entry: ChangeEntry, blobs: Blobs) -> str:
    sides = [side for side in (entry.old, entry.new) if side is not None]
    if all(side.kind == "dir" for side in sides):
        return "an empty directory appeared" if entry.new else "the directory was removed"
    if any(stands_for_git(part) for path in entry.paths for part in path.split("/")):
        return "git refuses the name"
    for side in sides:
        if side.kind == "file" and (side.size > FILE_BYTES or side.sha256 not in blobs):
            return f"{side.size} bytes"
    return ""


def _diff(entries: list[ChangeEntry], blobs: Blobs) -> RenderedPatch | None:
    with Cache.default().temporary() as folder:
        repository = trusted_git.make_repository(folder / "git")
        with (folder / "stream").open("w+b") as stream:
            _write_stream(stream, entries, blobs)
            stream.seek(0)
            if trusted_git.run_git(repository, "fast-import", "--quiet", "--done", stdin=stream) is None:
                return None
        output = trusted_git.run_git(repository, *_DIFF, "refs/heads/old", "refs/heads/new")
    return None if output is None else _parse(output)


def _write_stream(stream: BinaryIO, entries: list[ChangeEntry], blobs: Blobs) -> None:
    """Two commits that hold only what changed: the old side and the new side, as `git fast-import` reads them."""
    old = [(entry.renamed_from or entry.path, entry.old) for entry in entries]
    new = [(entry.path, entry.new) for entry in entries]
    marks: dict[str, int] = {}
    for branch, side in (("old", old), ("new", new)):
        there = [(path, entry) for path, entry in side if entry is not None and entry.kind != "dir"]
        for _, entry in there:
            if entry.kind == "file" and entry.sha256 not in marks:
                marks[entry.sha256] = len(marks) + 1
                stream.write(b"blob\nmark :%d\n" % marks[entry.sha256] + _data(blobs.read(entry.sha256)))
        stream.write(b"commit refs/heads/%b\ncommitter steelyard <> 0 +0000\ndata 0\n" % branch.encode())
        for path, entry in there:
            stream.write(_modify(path, entry, marks))
    stream.write(b"done\n")


def _modify(path: str, entry: Entry, marks: Mapping[str, int]) -> bytes:
    if entry.kind == "symlink":
        return b"M 120000 inline %b\n%b" % (_quote(path), _data(os.fsencode(entry.target)))
    mode = b"755" if int(entry.mode, 8) & 0o100 else b"644"  # git knows no other
    return b"M 100%b :%d %b\n" % (mode, marks[entry.sha256], _quote(path))


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _quote(path: str) -> bytes:
    plain = range(0x20, 0x7F)
    return b'"%b"' % b"".join(
        b"%c" % byte if byte in plain and byte not in b'"\\' else b"\\%03o" % byte
        for byte in os.fsencode(path)
    )


def _parse(output: bytes) -> RenderedPatch:
    r"""`:mode mode id id R090\0old\0new\0 ... \0patch`; read from the front, for a patch may hold NULs itself."""
    renames, at = {}, 0
    while output[at : at + 1] == b":":
        status, at = _field(output, at)
        path, at = _field(output, at)
        if status.rsplit(b" ", 1)[1].startswith(b"R"):
            new_path, at = _field(output, at)
            renames[os.fsdecode(new_path)] = os.fsdecode(path)
    return RenderedPatch(output[at + 1 :], renames)


def _field(output: bytes, at: int) -> tuple[bytes, int]:
    end = output.index(b"\0", at)
    return output[at:end], end + 1
