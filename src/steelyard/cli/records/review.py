"""Record what a person thinks of a run, beside its automated result; list what was recorded, and what should be looked at.

steelyard review RUN                     on a terminal: show the run, ask, and measure the time
steelyard review RUN --verdict fail --by ada --category "wrong unit" --reason "mm, not m" --minutes 12
steelyard review RUN --adjudicate --verdict pass --by eve      decide where reviewers disagree
steelyard review RUN --list              every annotation of a run
steelyard review --disagreements         runs about which checks, judge and people do not agree
steelyard review --queue                 runs that a person should look at, and why
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

from rich.text import Text

from steelyard.cli.console.output import console, print_json
from steelyard.cli.options.decision_options import PERSON, add_decision_options, named_person, written_reason
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.errors import DAMAGED, OperatorFault
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.folder import RunFolder, find_run, find_runs
from steelyard.evidence.folder.gradings import read_gradings
from steelyard.evidence.folder.signature import check_private_key
from steelyard.report.one_run import print_run
from steelyard.report.plain import one_line
from steelyard.report.result import result_line
from steelyard.review.disagreement import KINDS, disagreements
from steelyard.review.queue import changed_paths, reasons_to_review
from steelyard.review.record import ReviewEntry, adjudicate, annotate, list_annotations
from steelyard.review.status import review_status
from steelyard.verdict.evaluation import Annotation

HELP = "record what a person thinks of a run; list disagreements"
_JUDGMENTS = {"p": "pass", "pass": "pass", "f": "fail", "fail": "fail", "d": "defer", "defer": "defer"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "run", nargs="?", metavar="RUN", help="`last`, a run folder, or the start or the end of a run's name"
    )
    add_runs_option(parser)
    parser.add_argument(
        "--verdict", choices=("pass", "fail", "defer"), help="what you decide; without it you are asked"
    )
    parser.add_argument(
        "--category", action="append", default=[], metavar="TEXT", help="of what is wrong; may be repeated"
    )
    add_decision_options(parser, reason="kept as the notes of the annotation", has_default=False)
    parser.add_argument("--discipline", metavar="TEXT", help="what you are an expert of")
    parser.add_argument(
        "--minutes", type=float, metavar="N", help="how long you took; asked questions measure it"
    )
    parser.add_argument("--adjudicate", action="store_true", help="decide between reviewers who disagree")
    parser.add_argument("--sign", type=Path, metavar="KEY", help="ed25519 private key (PEM)")
    parser.add_argument("--list", action="store_true", help="print the annotations of the run")
    parser.add_argument("--disagreements", action="store_true", help="list runs about which not all agree")
    parser.add_argument("--queue", action="store_true", help="list runs that a person should look at")
    parser.add_argument("--json", action="store_true", help="JSON lines")


def run(args: argparse.Namespace) -> int:
    if args.disagreements or args.queue:
        return _list_disagreements(args) if args.disagreements else _list_queue(args)
    if args.run is None:
        raise OperatorFault("name a RUN, or give --disagreements or --queue")
    folder = find_run(args.runs, args.run)
    if args.list:
        return _list_annotations(folder, args)
    if args.sign:
        check_private_key(args.sign)
    began = time.monotonic()
    annotation = _annotation(folder, args)
    minutes = args.minutes
    if minutes is None and args.verdict is None:
        minutes = round((time.monotonic() - began) / 60, 2)
    record = adjudicate if args.adjudicate else annotate
    entry = record(folder, annotation, minutes=minutes, signer=args.sign)
    if args.json:
        print_json({"run": folder.run_id, **entry.to_json()})
    else:
        status = review_status(list_annotations(folder))
        sys.stdout.write(
            f"annotation {entry.number} of {folder.run_id}: {annotation.judgment}; "
            f"people: {status.decision}; the automated verdict stays {entry.grading['verdict']}\n"
        )
    return 0


def _annotation(folder: RunFolder, args: argparse.Namespace) -> Annotation:
    reviewer, notes = named_person(args), written_reason(args)
    judgment, categories = args.verdict, list(args.category)
    if judgment is None:
        if not sys.stdin.isatty() or args.json:
            raise OperatorFault("give --verdict pass, fail or defer; only a terminal can be asked")
        _show(folder)
        reviewer = reviewer or _ask("your name: ")
        judgment = _ask_judgment()
        categories += [
            one.strip()
            for one in _ask("categories, separated by commas (may be empty): ").split(",")
            if one.strip()
        ]
        notes = notes or _ask("reason (may be empty): ")
    if not reviewer:
        raise OperatorFault(f"give --by NAME or set {PERSON}: an annotation names its author")
    return Annotation(
        reviewer_id=reviewer,
        reviewer_discipline=args.discipline,
        timestamp=datetime.now(UTC),
        judgment=cast("Literal['pass', 'fail', 'defer']", judgment),
        categories=categories,
        notes=notes or None,
    )


def _show(folder: RunFolder) -> None:
    evidence = load_evidence(folder)
    if evidence.broken:
        raise OperatorFault(f"{folder.run_id} was altered: {evidence.broken}")
    gradings = read_gradings(folder)
    if not gradings:
        raise OperatorFault(f"{folder.run_id} is not graded, so there is no result to review")
    print_run(console(), result_line(evidence, gradings[0], len(gradings)))


def _ask(question: str) -> str:
    sys.stdout.write(question)
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        raise OperatorFault("the input ended; nothing was recorded")
    return line.strip()


def _ask_judgment() -> str:
    while True:
        if found := _JUDGMENTS.get(_ask("pass, fail or defer? ").lower()):
            return found


def _list_annotations(folder: RunFolder, args: argparse.Namespace) -> int:
    entries = list_annotations(folder)
    if args.json:
        for entry in entries:
            print_json({"run": folder.run_id, **entry.to_json()})
        return 0
    out = console()
    for entry in entries:
        out.print(_line(entry), soft_wrap=True)
    status = review_status(entries)
    spent = "not measured" if status.minutes is None else f"{status.minutes:g} minutes"
    reviewers = "1 reviewer" if status.reviewers == 1 else f"{status.reviewers} reviewers"
    out.print(Text(f"people: {status.decision} ({reviewers}, {spent})", "bold"))
    return 0


def _line(entry: ReviewEntry) -> Text:
    annotation = entry.annotation
    who = one_line(annotation.reviewer_id) + (
        f" ({one_line(annotation.reviewer_discipline)})" if annotation.reviewer_discipline else ""
    )
    named = f"  [{one_line(', '.join(annotation.categories))}]" if annotation.categories else ""
    note = f"  {one_line(annotation.notes)}" if annotation.notes else ""
    word = "adjudicates " if entry.kind == "adjudication" else ""
    return Text(
        f"{entry.number}  {annotation.timestamp:%Y-%m-%d %H:%M}  {who}  {word}{annotation.judgment}{named}{note}"
    )


def _list_disagreements(args: argparse.Namespace) -> int:
    rows = disagreements(_chosen(args))
    if args.json:
        for row in rows:
            print_json(row.to_json())
        return 0
    out = console()
    for row in rows:
        head = f"{row.run}  checks {row.verdict}  judge {row.judge or '-'}  people {row.people}"
        out.print(Text(one_line(head), "bold"), soft_wrap=True)
        for kind in row.kinds:
            out.print(Text(f"  {kind}: {KINDS[kind]}"), soft_wrap=True)
        if row.broken:
            out.print(Text(f"  {one_line(row.broken)}", "red"), soft_wrap=True)
    counts = {kind: sum(kind in row.kinds for row in rows) for kind in KINDS}
    line = ", ".join(f"{kind} {count}" for kind, count in counts.items() if count)
    out.print(Text(line or "no disagreement", "dim"))
    return 0


def _list_queue(args: argparse.Namespace) -> int:
    found = []
    for folder in _chosen(args):
        try:
            grading = read_gradings(folder)[0]
            reasons = reasons_to_review(grading, _threshold(grading), changed_paths(folder))
            is_open = review_status(list_annotations(folder)).decision in ("none", "defer", "disputed")
        except (OperatorFault, *DAMAGED):
            continue  # not graded, or damaged: `steelyard verify` names it
        if reasons and is_open:
            found.append((folder, grading, reasons))
    out = console()
    for folder, grading, reasons in found:
        verdict = grading["verdict"]["verdict"]
        if args.json:
            print_json({"run": folder.run_id, "verdict": verdict, "reasons": list(reasons)})
            continue
        out.print(Text(one_line(f"{folder.run_id}  {verdict}"), "bold"), soft_wrap=True)
        for reason in reasons:
            out.print(Text(f"  {one_line(reason)}"), soft_wrap=True)
    if not args.json and not found:
        out.print(Text("no run needs a person", "dim"))
    return 0


def _threshold(grading: Mapping[str, Any]) -> float:
    return float(grading["verdict"].get("pass_threshold", 1.0))


def _chosen(args: argparse.Namespace) -> list[RunFolder]:
    return [find_run(args.runs, args.run)] if args.run is not None else find_runs(args.runs)
