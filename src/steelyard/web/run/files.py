"""A run folder -> the Files tab: what the agent changed, and every file of the record, to read or to download.

A file is opened by a name of this list only, without following a link. Its bytes are shown as text, or sent as a download
that a browser neither runs nor guesses the type of.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import BinaryIO

from steelyard.errors import DAMAGED
from steelyard.evidence.change.change import Change, ChangeEntry
from steelyard.evidence.folder.folder import BLOBS, CHANGE
from steelyard.filesystem.plain_file import open_plain
from steelyard.filesystem.tree import Entry
from steelyard.report.html.element import Child, Markup, join, tag, url
from steelyard.web.access import FILE_POLICY
from steelyard.web.layout import card, digest, empty, notice, table
from steelyard.web.message import NotThere, Request, Response
from steelyard.web.run.header import run_document
from steelyard.web.run.record import RunRecord
from steelyard.web.words import cut, plural, shorten_middle, size

MOST_LISTED = 1000
MOST_SHOWN = 256 << 10
_PIECE = 1 << 18


def files_tab(record: RunRecord) -> Markup:
    return run_document(record, "files", _changed(record), _record_files(record))


def _changed(record: RunRecord) -> Markup:
    try:
        change = Change.from_bytes(record.folder.read_bytes(CHANGE))
    except DAMAGED:
        return card(
            "Changed by the agent",
            empty("The workspace was not read.", "The run ended before its change was captured."),
        )
    if not change.entries:
        return card(
            "Changed by the agent",
            empty("Nothing.", "The workspace is the same as the snapshot of the contract."),
        )
    rows = [_entry(record, entry) for entry in change.entries[:MOST_LISTED]]
    more = f" ({MOST_LISTED:,} of {len(change.entries):,} shown)" if len(change.entries) > MOST_LISTED else ""
    return card(
        "Changed by the agent",
        None
        if change.complete
        else notice("The import reached a limit, so this is not the whole change.", "warning"),
        table(("path", "what", "before", "after"), rows, caption=f"Changed files{more}"),
        tag(
            "p",
            f"Generated files that are not graded: {plural(change.generated.count, 'file')}, {size(change.generated.bytes)}.",
            class_="dim",
        )
        if change.generated.count
        else None,
    )


def _entry(record: RunRecord, entry: ChangeEntry) -> tuple[Child, ...]:
    what = "added" if entry.old is None else "removed" if entry.new is None else "changed"
    if entry.renamed_from:
        what = f"renamed from {cut(entry.renamed_from, 200)}"
    sides = [_blob(record, one) for one in (entry.old, entry.new)]
    return (tag("code", cut(entry.path, 400)), what, *sides)


def _blob(record: RunRecord, entry: Entry | None) -> Child:
    if entry is None:
        return "\N{EN DASH}"
    sha256, amount = entry.sha256, size(entry.size)
    if not sha256:
        return f"{entry.kind}, {amount}"
    if sha256 not in record.folder.blobs:
        return join(f"{amount}, ", digest(sha256), " not stored")
    return tag("a", f"{amount}", href=url("run", record.run, "file", BLOBS, sha256), title=sha256)


def record_files(record: RunRecord) -> Iterator[tuple[str, int]]:
    """Every regular file of the folder and its size, in order; links are not followed."""
    root = record.folder.path
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = f"{folder}/{name}"
            found = os.lstat(path)
            if os.path.isfile(path) and not os.path.islink(path):  # noqa: PTH113, PTH114  # thousands of blobs
                yield os.path.relpath(path, root), found.st_size


def _record_files(record: RunRecord) -> Markup:
    sealed = _sealed(record)
    rows: list[tuple[Child, ...]] = []
    left_out = 0
    for name, amount in record_files(record):
        if len(rows) >= MOST_LISTED:
            left_out += 1
            continue
        parts = PurePosixPath(name).parts
        rows.append(
            (
                tag("a", cut(name, 300), href=url("run", record.run, "file", *parts)),
                size(amount),
                digest(sealed.get(name)) if name in sealed else tag("span", "not in the seal", class_="dim"),
                tag(
                    "a",
                    "download",
                    href=url("run", record.run, "raw", *parts),
                    aria_label=f"Download {cut(name, 300)}",
                ),
            )
        )
    more = f" ({left_out:,} more in the folder)" if left_out else ""
    return card(
        "Files of the record",
        tag("p", tag("code", str(record.folder.path)), class_="dim"),
        table(
            ("file", "size", "sealed SHA-256", ""),
            rows,
            caption=f"Files of the run folder{more}",
            numeric=(1,),
        ),
    )


def _sealed(record: RunRecord) -> dict[str, str]:
    try:
        files = record.folder.read_json("seal.json")["files"]
    except DAMAGED:
        return {}
    return {str(name): str(sha256) for name, sha256 in files.items()} if isinstance(files, dict) else {}


def _check(request: Request) -> str:
    """A name below the folder: no empty, hidden or upward part."""
    name = request.parts.get("name", "")
    parts = name.split("/")
    if not name or "\x00" in name or any(part in ("", ".", "..") or part.startswith(".") for part in parts):
        raise NotThere("This run has no such file.")
    return name


def _open(record: RunRecord, name: str) -> BinaryIO:
    """The file, if no part of its path below the run folder is a link."""
    path = record.folder.path
    for part in name.split("/")[:-1]:
        path /= part
        if path.is_symlink():
            raise NotThere("This run has no such file.")
    try:
        return open_plain(path / name.rsplit("/", maxsplit=1)[-1])
    except (OSError, ValueError):
        raise NotThere("This run has no such file.") from None


def file_page(record: RunRecord, request: Request) -> Markup:
    name = _check(request)
    with _open(record, name) as file:
        data = file.read(MOST_SHOWN)
        total = file.seek(0, os.SEEK_END)
    parts = name.split("/")
    is_text = b"\x00" not in data[:8192]
    text = data.decode("utf-8", "surrogateescape") if is_text else _hex(data[:4096])
    shown = len(data) if is_text else min(len(data), 4096)
    return run_document(
        record,
        "files",
        card(
            name,
            tag("p", size(total), ". ", tag("a", "Download", href=url("run", record.run, "raw", *parts))),
            notice(f"The first {size(shown)} are shown{'' if is_text else ' in hexadecimal digits'}.", "info")
            if shown < total or not is_text
            else None,
            tag("pre", shorten_middle(text, MOST_SHOWN), tabindex="0"),
        ),
    )


def _hex(data: bytes) -> str:
    return "\n".join(f"{at:08x}  {data[at : at + 16].hex(' ')}" for at in range(0, len(data), 16))


def raw_file(record: RunRecord, request: Request) -> Response:
    """The bytes as they are, as a download."""
    name = _check(request)
    file = _open(record, name)

    def pieces() -> Iterator[bytes]:
        with file:
            while piece := file.read(_PIECE):
                yield piece

    last = name.split("/")[-1]
    plain = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "_" for char in last)
    headers = {
        "Content-Disposition": f'attachment; filename="{plain}"',
        "Content-Security-Policy": FILE_POLICY,
    }
    return Response(pieces(), "application/octet-stream", 200, headers)
