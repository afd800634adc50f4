"""Decide about runs that wait for an operator: list them, show the alert and its evidence, or resume, terminate or quarantine one.

Works on run folders, so from any terminal that sees them. Every decision needs a name and a reason, and becomes an event of the run.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.markup import escape
from rich.text import Text

from steelyard.cli.console.output import console, print_json
from steelyard.cli.options.decision_options import add_decision_options, deciding_person, written_reason
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import find_run, find_runs
from steelyard.evidence.held_run import HeldRun, held_run
from steelyard.execution.supervision.decisions import CATEGORIES, CHOICES, Decision
from steelyard.execution.supervision.submit_decision import describe_ended, make_decision, submit_decision
from steelyard.report.lines.wrapping import print_wrapped
from steelyard.report.plain import one_line

HELP = "decide about paused runs: list, show the alert, resume, terminate or quarantine"
_EXCERPT = 300
LIST = "list"  # no run has this name: the name of each begins with a time


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        metavar="RUN",
        nargs="?",
        help="`last`, a run folder, or the start or the end of a run's name; `list`, or nothing, lists all that wait",
    )
    parser.add_argument(
        "decision", nargs="?", choices=CHOICES, help="without it, the alert and its evidence are shown"
    )
    add_decision_options(parser, reason="needed with a decision")
    parser.add_argument(
        "--category", choices=CATEGORIES, default="other", help="what kind of reason (default other)"
    )
    parser.add_argument("--json", action="store_true", help="JSON, one line for each run")
    add_runs_option(parser)


def run(args: argparse.Namespace) -> int:
    if args.run is None or (args.run == LIST and args.decision is None):
        return _list(
            [held for folder in find_runs(args.runs) if (held := held_run(folder))],
            args.runs,
            as_json=args.json,
        )
    folder = find_run(args.runs, args.run)
    held = held_run(folder)
    if held is None:
        raise OperatorFault(
            f"{folder.run_id} does not wait for a decision; `steelyard operate` lists the runs that do"
        )
    if args.decision is None:
        if args.json:
            print_json(held.to_json())
        else:
            _show(held)
        return 0
    return _decide(held, _decision(args), as_json=args.json)


def _decision(args: argparse.Namespace) -> Decision:
    if not written_reason(args):
        raise OperatorFault(f"`{args.decision}` needs a reason: --reason TEXT")
    return make_decision(args.decision, deciding_person(args), args.reason, args.category)


def _decide(held: HeldRun, decision: Decision, *, as_json: bool) -> int:
    decided = submit_decision(held, decision)
    _print_decision(held, decided, as_json=as_json)
    return 0 if decided.get("by") == decision.by else 1


def _print_decision(held: HeldRun, decided: Mapping[str, object], *, as_json: bool) -> None:
    if as_json:
        print_json({"run": held.folder.run_id, **decided})
    else:
        line = (
            f"{held.folder.run_id}: {decided.get('decision')} by {decided.get('by')}: {decided.get('reason')}"
        )
        console().print(Text(one_line(line)))


def _list(held: Sequence[HeldRun], runs: Path, *, as_json: bool) -> int:
    if as_json:
        for one in held:
            print_json(one.to_json())
        return 0
    if not held:
        where = "" if runs.is_dir() else f": there is no folder {runs}"
        print_wrapped(console(), Text(f"no run waits for a decision{where}"))
    for one in held:
        state = (
            f"{one.action}, {one.left_s:.0f} s left, then {one.default}" if one.is_running else "interrupted"
        )
        print_wrapped(console(), Text(one_line(f"{one.folder.run_id}: {state}"), "bold"))
        why = one.alert.payload.get("why", one.alert.payload.get("code"))
        print_wrapped(console(), Text(f"  {one_line(str(why))}"))
        if not one.is_running:
            print_wrapped(console(), Text(f"  {describe_ended(one)}", "dim"))
    return 0


def _measured(signals: object, threshold: object) -> str | None:
    """`idle_s 1300, calls 4 (threshold: minutes 20, calls 100)`; nothing where a single match is enough."""
    if not isinstance(signals, Mapping) or not isinstance(threshold, Mapping) or signals == threshold:
        return None
    shown, least = (
        ", ".join(f"{name} {value}" for name, value in one.items()) for one in (signals, threshold)
    )
    return f"{shown} (threshold: {least})"


def _show(held: HeldRun) -> None:
    out, alert = console(), held.alert.payload
    out.print(Text(one_line(held.folder.run_id), "bold"))
    if not held.is_running:
        out.print(Text(describe_ended(held), "yellow"))
    else:
        out.print(Text(f"{held.action} since {held.since}; {held.left_s:.0f} s left, then {held.default}"))
    rows = {
        "alert": f"event {held.alert.seq}: {alert.get('monitor')} {alert.get('code')}",
        "why": alert.get("why"),
        "rule": alert.get("rule"),
        "format": alert.get("format"),
        "stage": alert.get("stage"),
        "measured": _measured(alert.get("signals"), alert.get("threshold")),
    }
    for name, value in rows.items():
        if value is not None:
            out.print(f"  {name:<10} {escape(one_line(str(value)))}", highlight=False)
    out.print("  evidence")
    for event in held.events:
        what = event.payload.get("argv") or event.payload
        text = " ".join(map(str, what)) if isinstance(what, list) else str(what)
        out.print(
            f"    {event.seq} {event.type} by {event.actor}: {escape(one_line(text)[:_EXCERPT])}",
            highlight=False,
        )
    if held.is_running:
        out.print(
            f"  decide: steelyard operate {escape(held.folder.typed)} {'|'.join(CHOICES)} --reason TEXT",
            highlight=False,
        )
