"""Verify that the record of a run was not altered: every line of its trace, every file, every grading."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from steelyard.cli.console import terminal_width, wrap_message
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.evidence.change.change import Change
from steelyard.evidence.folder.folder import CHANGE, SEAL, RunFolder, find_named
from steelyard.evidence.folder.gradings import grading_files
from steelyard.evidence.folder.seal import Break, leftovers
from steelyard.evidence.folder.signature import check_public_key
from steelyard.evidence.trace.completeness import Completeness, measure_completeness
from steelyard.filesystem.tree import printable
from steelyard.study.verify_record import record_breaks

SCHEMA = "steelyard.verify/1"
NAMES = {
    "acceptance": "acceptance attempts",
    "mutations": "changed paths",
    "exchanges": "prompts",
    "tool_calls": "tool calls",
    "decisions": "monitor decisions",
    "frame": "start and end events",
}
_LEFT_OVER = "left by an interrupted write; ignored"
HELP = "verify that the record of a run was not altered"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="+",
        metavar="RUN",
        help="`last`, a run folder, a folder of runs, or the start or the end of a run's name",
    )
    add_runs_option(parser)
    parser.add_argument(
        "--public-key", type=Path, metavar="PEM", help="seal and gradings must be signed by this ed25519 key"
    )
    parser.add_argument("--deep", action="store_true", help="also check that every blob of the change exists")
    parser.add_argument(
        "--complete",
        action="store_true",
        help="also check that the trace is complete: checks, changes, exchanges with models, tool calls, decisions",
    )
    parser.add_argument("--json", action="store_true", help="one JSON line for each run")


def run(args: argparse.Namespace) -> int:
    worst = 0
    if args.public_key is not None:
        check_public_key(args.public_key)
    for folder in [one for wanted in args.run for one in find_named(args.runs, wanted)]:
        breaks = record_breaks(folder, args.public_key)
        if args.deep and not breaks:
            breaks = list(_absent_blobs(folder))
        trusted = args.public_key is not None
        measured = measure_completeness(folder) if args.complete and not breaks else None
        if args.json:
            sys.stdout.write(_json_line(folder, breaks, measured))
        else:
            lines = _lines(folder, breaks, trusted=trusted)
            lines += "" if measured is None else _complete_lines(folder, measured)
            sys.stdout.write(wrap_message(lines, terminal_width()))
        is_bad = bool(breaks) or (measured is not None and not measured.is_complete)
        worst = max(worst, 1 if is_bad else 0)
    return worst


def _absent_blobs(folder: RunFolder) -> Iterator[Break]:
    """Contents that the change names and the folder does not hold; one over an import cap has no name."""
    if not folder.file(CHANGE).exists():
        return  # the run ended before its capture, and is sealed without a change
    change = Change.from_bytes(folder.read_bytes(CHANGE))
    for entry in change.entries:
        if entry.new is not None and entry.new.sha256 and entry.new.sha256 not in folder.blobs:
            yield Break(CHANGE, f"the contents of {printable(entry.path)} are not among the blobs")


def _lines(folder: RunFolder, breaks: list[Break], *, trusted: bool) -> str:
    if breaks:
        return "".join(f"broken  {printable(folder.run_id)}  {item}\n" for item in breaks)
    seal = folder.read_json(SEAL)
    gradings = len(grading_files(folder))
    counts = (
        _counted(seal["events"], "event"),
        _counted(len(seal["files"]), "file"),
        _counted(gradings, "grading") if gradings else "never graded",
    )
    line = f"ok  {printable(folder.run_id)}  {', '.join(counts)}, seal {seal['digest']}; {_by_whom(seal, trusted=trusted)}\n"
    return line + "".join(
        f"note  {printable(folder.run_id)}  {name}: {_LEFT_OVER}\n" for name in leftovers(folder)
    )


def _complete_lines(folder: RunFolder, measured: Completeness) -> str:
    word = "complete" if measured.is_complete else "incomplete"
    parts = (f"{item.recorded} of {item.expected} {NAMES[item.name]}" for item in measured.items)
    lines = [f"{word}  {printable(folder.run_id)}  {', '.join(parts)}\n"]
    for item in measured.items:
        lines += [
            f"missing  {printable(folder.run_id)}  {NAMES[item.name]}: {what}\n" for what in item.missing
        ]
        more = item.missing_count - len(item.missing)
        lines += [f"missing  {printable(folder.run_id)}  {NAMES[item.name]}: {more} more\n"] if more else []
    return "".join(lines)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _by_whom(seal: Mapping[str, Any], *, trusted: bool) -> str:
    if "signature" not in seal:
        return "not signed: anyone with write access could have forged it"
    return "signed" if trusted else "signed by the key that it names; check that key with --public-key"


def _json_line(folder: RunFolder, breaks: list[Break], measured: Completeness | None) -> str:
    seal = _seal_of(folder)
    data = {
        "schema": SCHEMA,
        "run": folder.run_id,
        "folder": str(folder.path),
        "ok": not breaks,
        "state": folder.state,
        "seal": seal.get("digest"),
        "signed": "signature" in seal,
        "gradings": len(grading_files(folder)),
        "broken": [{"where": item.where, "why": item.why} for item in breaks],
    }
    if measured is not None:
        data["completeness"] = measured.to_json()
    return orjson.dumps(data).decode() + "\n"


def _seal_of(folder: RunFolder) -> dict[str, Any]:
    """What the seal says, true or not; nothing where there is none."""
    try:
        seal = folder.read_json(SEAL)
    except (OSError, ValueError):
        return {}
    return seal if isinstance(seal, dict) else {}
