"""`patch.diff` -> the Diff tab: each file with its added and removed lines, and findings where they were made.

A patch may be of any size and have lines of any length; so many files, lines and characters are shown, and the rest is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.evidence.folder.folder import PATCH
from steelyard.filesystem.plain_file import open_plain
from steelyard.report.html.element import Child, Markup, escape, join, tag, url
from steelyard.web.layout import card, empty, notice
from steelyard.web.run.header import run_document
from steelyard.web.run.record import RunRecord
from steelyard.web.words import badge, cut, plural, sentence, size

MOST_BYTES = 4 << 20
MOST_FILES, MOST_LINES, MOST_ALL_LINES, MOST_CHARS = 300, 2000, 10_000, 500
OPEN_LINES = 400  # a longer file starts closed
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_KINDS = {"+": "add", "-": "del", " ": "ctx", "@": "hunk", "\\": "note"}


@dataclass(slots=True)
class Line:
    kind: str
    text: str
    old: int | None = None
    new: int | None = None


@dataclass(slots=True)
class FileDiff:
    path: str
    head: list[str] = field(default_factory=list)  # modes, renames, "Binary files differ"
    lines: list[Line] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    left_out: int = 0


def diff_tab(record: RunRecord) -> Markup:
    try:
        with open_plain(record.folder.file(PATCH)) as file:
            raw = file.read(MOST_BYTES)
            total = file.seek(0, 2)
    except OSError:
        return run_document(
            record, "diff", empty("This run has no patch.", "It ended before its workspace was read.")
        )
    if not raw.strip():
        return run_document(
            record,
            "diff",
            empty("The agent changed nothing.", "Its workspace is the same as the snapshot of the contract."),
        )
    files = list(parse_patch(raw.decode("utf-8", "surrogateescape")))
    return run_document(record, "diff", _summary(record, files, total), _files(record, files))


def parse_patch(text: str) -> Iterator[FileDiff]:
    """The files of a unified diff as git writes it; what stands before the first is a file without a path."""
    current = FileDiff("")
    old = new = 0
    for line in text.split("\n"):
        if line.startswith("diff --git "):
            if current.path or current.head:
                yield current
            current, old, new = FileDiff(_path(line)), 0, 0
        elif hunk := _HUNK.match(line):
            old, new = int(hunk[1]), int(hunk[2])
            _keep(current, Line("hunk", line))
        elif old or new:
            old, new = _count(current, line, old, new)
        else:
            _add_head(current, line)
    if current.path or current.head:
        yield current


def _add_head(current: FileDiff, line: str) -> None:
    """A line before the first hunk: `+++` has the name without git's doubts about it."""
    if line.startswith("+++ ") and line != "+++ /dev/null":
        current.path = line[6:] if line[4:6] == "b/" else line[4:]
    elif line and not line.startswith(("--- ", "+++ ", "index ")):
        current.head.append(line)


def _count(current: FileDiff, line: str, old: int, new: int) -> tuple[int, int]:
    kind = _KINDS.get(line[:1], "ctx")
    if kind == "add":
        current.added += 1
        _keep(current, Line(kind, line, None, new))
        return old, new + 1
    if kind == "del":
        current.removed += 1
        _keep(current, Line(kind, line, old, None))
        return old + 1, new
    if kind == "note" or not line:
        _keep(current, Line("note", line)) if line else None
        return old, new
    _keep(current, Line(kind, line, old, new))
    return old + 1, new + 1


def _keep(current: FileDiff, line: Line) -> None:
    if len(current.lines) < MOST_LINES:
        current.lines.append(line)
    else:
        current.left_out += 1


def _path(line: str) -> str:
    """The new name in `diff --git a/x b/x`; `+++` corrects it where the name is odd."""
    _, _, after = line.partition(" b/")
    return after or line.removeprefix("diff --git ")


def _summary(record: RunRecord, files: Sequence[FileDiff], total: int) -> Markup:
    added, removed = sum(one.added for one in files), sum(one.removed for one in files)
    rest = (
        notice(f"The patch has {size(total)}; the first {size(MOST_BYTES)} are shown.", "warning")
        if total > MOST_BYTES
        else None
    )
    return join(
        tag(
            "p",
            plural(len(files), "file"),
            " changed, ",
            tag("span", f"+{added:,}", class_="added"),
            " ",
            tag("span", f"\N{MINUS SIGN}{removed:,}", class_="removed"),
            ". ",
            tag("a", "Download the patch", href=url("run", record.run, "raw", PATCH)),
            class_="diff-summary",
        ),
        rest,
    )


def _files(record: RunRecord, files: Sequence[FileDiff]) -> Markup:
    findings = _by_path(record.result.get("findings") or ())
    shown: list[Child] = []
    left = MOST_ALL_LINES
    for one in files[:MOST_FILES]:
        shown.append(_file(one, findings.pop(one.path, ()), left))
        left -= len(one.lines)
    if len(files) > MOST_FILES:
        shown.append(notice(f"{len(files) - MOST_FILES:,} more files are in the patch.", "warning"))
    others = [finding for found in findings.values() for finding in found]
    return join(
        shown,
        card(
            "Other findings",
            tag("ul", [tag("li", finding_line(one)) for one in others[:100]], class_="plain"),
        )
        if others
        else None,
    )


def _by_path(findings: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for finding in findings:
        path, _, line = str(finding.get("where", "")).rpartition(":")
        found.setdefault(path if line.isdecimal() and path else str(finding.get("where", "")), []).append(
            finding
        )
    return found


def _line_of(finding: Mapping[str, Any]) -> int | None:
    line = str(finding.get("where", "")).rpartition(":")[2]
    return int(line) if line.isdecimal() and len(line) < 10 else None


def finding_line(finding: Mapping[str, Any]) -> Markup:
    where = str(finding.get("where", ""))
    return join(
        badge(str(finding.get("severity", "info"))),
        " ",
        tag("b", str(finding.get("id", ""))),
        " ",
        cut(where, 200),
        ": ",
        sentence(str(finding.get("why", "")), 600),
    )


def _file(one: FileDiff, findings: Sequence[Mapping[str, Any]], room: int) -> Markup:
    in_place = {line: finding for finding in findings if (line := _line_of(finding)) is not None}
    shown_lines = {line.new for line in one.lines}
    above = [finding for finding in findings if _line_of(finding) not in shown_lines]
    lines = one.lines[: max(0, room)]
    left_out = one.left_out + len(one.lines) - len(lines)
    head = tag(
        "summary",
        tag("code", one.path or "before the first file"),
        tag("span", f"+{one.added:,}", class_="added"),
        tag("span", f"\N{MINUS SIGN}{one.removed:,}", class_="removed"),
        badge("warning", label=plural(len(findings), "finding")) if findings else None,
    )
    return tag(
        "details",
        head,
        [tag("p", finding_line(finding), class_="in-place") for finding in above[:50]],
        tag("p", cut("; ".join(one.head), 600), class_="dim") if one.head else None,
        tag(
            "div",
            Markup("".join(_rows(lines, in_place))),
            class_="diff",
            tabindex="0",
            role="region",
            aria_label=f"Changes of {cut(one.path, 80)}",
        ),
        notice(f"{plural(left_out, 'more line')} of this file in the patch.", "info") if left_out else None,
        open=len(one.lines) <= OPEN_LINES or None,
        class_="file",
    )


def _rows(lines: Sequence[Line], findings: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
    """Plain strings, because there are thousands; every text goes through `escape`."""
    for line in lines:
        text = line.text if line.kind in ("hunk", "note") else line.text[1:]
        more = f"… {len(text) - MOST_CHARS:,} more characters" if len(text) > MOST_CHARS else ""
        sign = {"add": "+", "del": "\N{MINUS SIGN}"}.get(line.kind, " ")
        yield (
            f'<div class="l {line.kind}"><span class="n">{line.old or ""}</span><span class="n">{line.new or ""}</span>'
            f'<span class="s">{sign}</span><span class="t">{escape(text[:MOST_CHARS])}</span>'
            f"{f'<em>{more}</em>' if more else ''}</div>"
        )
        if line.new is not None and line.new in findings:
            yield f'<div class="in-place">{finding_line(findings[line.new])}</div>'
