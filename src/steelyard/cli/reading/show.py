"""Show a run: its verdict, gates, grades, findings, and the output of what failed."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from steelyard import __version__
from steelyard.cli.console.output import console, print_json
from steelyard.cli.options.require_assurance import add_required, required_by
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.errors import DAMAGED, OperatorFault
from steelyard.evidence.evidence import Evidence, load_evidence
from steelyard.evidence.folder.folder import GRADINGS, RunFolder, find_run, find_runs
from steelyard.evidence.folder.glance import glance
from steelyard.evidence.folder.gradings import grading_files, read_gradings
from steelyard.evidence.live_state import WAITING, live_state
from steelyard.evidence.trace.chain import read_events
from steelyard.evidence.unfinished import unfinished_state
from steelyard.report.explanation import explain
from steelyard.report.explanation import tree as explanation_tree
from steelyard.report.lines.wrapping import width_of, wrap_words
from steelyard.report.one_run import print_run
from steelyard.report.plain import one_line
from steelyard.report.result import result_line
from steelyard.report.terminal import seconds, table_of_results
from steelyard.report.trace.timeline import trace_line
from steelyard.review import record as review_record
from steelyard.review import status
from steelyard.verdict.required import RequiredAssurance

TRACE_INDENT, NARROW_INDENT = 52, 8  # where the words of an event begin, and its time
HELP = "show a run: verdict, gates, grades, findings"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        nargs="?",
        metavar="RUN",
        help="`last`, a run folder, or the start or the end of a run's name; without it, all",
    )
    add_runs_option(parser)
    parser.add_argument("--json", action="store_true", help="the result line, as `run --json` prints it")
    parser.add_argument(
        "--grading",
        type=int,
        default=1,
        metavar="N",
        help="which grading of a regraded run (default 1: the result of record)",
    )
    parser.add_argument(
        "--why",
        action="store_true",
        help="explain every number, from each grade and its evidence to the reward; with --json as one object",
    )
    parser.add_argument(
        "--trace", action="store_true", help="every event of the run, one line each; with --json as recorded"
    )
    add_required(parser)


class _RunView(NamedTuple):
    """A finished run: its result as far as it can be read, and why it cannot be trusted."""

    folder: RunFolder
    result: dict[str, Any] | None
    broken: str | None


def _refuse_options_of_one_run(args: argparse.Namespace) -> None:
    options = {"--grading": args.grading != 1, "--why": args.why, "--trace": args.trace}
    for name, is_given in options.items():
        if is_given:
            raise OperatorFault(f"{name} needs a RUN")


def run(args: argparse.Namespace) -> int:
    if args.run is None:
        _refuse_options_of_one_run(args)
        return _show_all(args)
    folder = find_run(args.runs, args.run)
    if args.trace:
        return _show_trace(folder, as_json=args.json)
    state = unfinished_state(folder)
    if state == "running":
        live = live_state(folder)
        if live.phase == WAITING:
            next_step = f"`steelyard operate {folder.typed}` shows why and decides"
        else:
            next_step = f"`steelyard logs {folder.typed} -f` follows it"
        raise OperatorFault(
            f"{folder.run_id} is running ({live.phase}, {seconds(live.elapsed_s)} so far); {next_step}"
        )
    if state == "interrupted":
        raise OperatorFault(f"{folder.run_id} was interrupted: it has no result; start it again")
    if state == "not graded":
        raise OperatorFault(
            f"{folder.run_id} is not graded yet: "
            f"`steelyard regrade {folder.typed} --contract CONTRACT` grades it"
        )
    shown = _read(folder, required_by(args), args.grading)
    if args.why:
        _print_why(shown, args)
    elif args.json:
        print_json(_line(shown))
    else:
        _print(console(), shown)
    return _code([shown])


def _print_why(shown: _RunView, args: argparse.Namespace) -> None:
    folder = shown.folder
    if shown.broken:
        raise OperatorFault(f"{folder.run_id}: record altered: {shown.broken}; there is nothing to explain")
    review = status.review_status(review_record.list_annotations(folder)).to_json()
    grading = read_gradings(folder)[args.grading - 1]
    explanation = explain.explain_run(
        folder.run_id, folder.path, grading, review=review, show_hidden=not args.json
    )
    if args.json:
        print_json(explanation.to_json())
        return
    out = console()
    out.print(Text(folder.run_id, "bold"), soft_wrap=True)
    for line in explanation_tree.explanation_lines(explanation, out.width if out.is_terminal else None):
        out.print(line, soft_wrap=True)


def _show_trace(folder: RunFolder, *, as_json: bool) -> int:
    """Every event, of a run that is under way or was killed too; 1 when the log is damaged."""
    width = width_of(console())
    try:
        for event in read_events(folder.events):
            if as_json:
                print_json(asdict(event))
            else:
                sys.stdout.write(f"{_fitted(trace_line(event), width)}\n")
    except DAMAGED as error:
        raise OperatorFault(
            f"the events of {folder.run_id} cannot be read: {one_line(str(error))}"
        ) from error
    return 0


def _fitted(line: str, width: int) -> str:
    """The words of an event go on beside its columns where there is room, else below them."""
    if len(line) <= width:
        return line
    is_wide = width >= 2 * TRACE_INDENT
    indent = TRACE_INDENT if is_wide else NARROW_INDENT
    words = wrap_words(line[TRACE_INDENT:], width - indent)
    first = line[:TRACE_INDENT] + words.pop(0) if is_wide else line[:TRACE_INDENT].rstrip()
    return "\n".join([first, *(" " * indent + one for one in words)])


def _code(found: Sequence[_RunView]) -> int:
    """1 when a record was altered, or a verdict is worth less than was required."""
    return 1 if any(one.broken or (one.result and one.result.get("refused")) for one in found) else 0


def _show_all(args: argparse.Namespace) -> int:
    gc.disable()  # thousands of records are read and all are kept: looking for garbage takes a tenth of the time
    folders = find_runs(args.runs)
    least = required_by(args)
    states = [unfinished_state(folder) for folder in folders]
    finished = [folder for folder, state in zip(folders, states, strict=True) if not state]
    # A result line is read by programs, so all of its record is verified; a table is a look at many.
    found = [_read(folder, least) if args.json else _glance_at(folder, least) for folder in finished]
    code = _code(found)
    if args.json:
        for shown in found:
            print_json(_line(shown))
        return code
    out = console()
    if not folders:
        out.print(f"no runs in {args.runs} yet; `steelyard demo` makes some")
        return 0
    for shown in found:
        if shown.broken:
            out.print(Text(_warning(shown).plain.partition("\n")[0], "bold red"))
    sound = [shown.result for shown in found if shown.result is not None and not shown.broken]
    if sound:
        out.print(table_of_results(sound))
    for line in _left_out(states, args.runs):
        out.print(one_line(line))
    return code


def _left_out(states: Sequence[str], runs: Path) -> Iterator[str]:
    """One line for each kind of run that has no result."""
    lines = {
        "running": ("is running", "are running", "`steelyard runs` shows how far"),
        "interrupted": ("was interrupted", "were interrupted", "ignored"),
        "not graded": (
            "is not graded",
            "are not graded",
            f"`steelyard regrade {runs} --contract CONTRACT` grades",
        ),
    }
    for state, (one, several, more) in lines.items():
        if count := states.count(state):
            yield f"1 run {one}; {more}" if count == 1 else f"{count} runs {several}; {more}"


def _read(folder: RunFolder, least: RequiredAssurance, number: int = 1) -> _RunView:
    """A run, with all of its record verified but `report.json`, of which nothing is shown."""
    count = len(grading_files(folder))
    if not 1 <= number <= count and (count or number != 1):
        raise OperatorFault(f"{folder.run_id} has no grading {number}: there {_are(count)}")
    return _result(load_evidence(folder), (), least, number)


def _glance_at(folder: RunFolder, least: RequiredAssurance) -> _RunView:
    return _result(*glance(folder), least, 1)


def _result(
    evidence: Evidence, known: Sequence[Mapping[str, Any]], least: RequiredAssurance, number: int
) -> _RunView:
    folder = evidence.folder
    try:
        gradings = known or read_gradings(folder)
        line = least.applied(result_line(evidence, gradings[number - 1], len(gradings)))
    except DAMAGED:
        return _RunView(folder, None, evidence.broken or f"its grading {number} cannot be read")
    return _RunView(folder, _invalid(line, evidence.broken) if evidence.broken else line, evidence.broken)


def _invalid(line: dict[str, Any], broken: str) -> dict[str, Any]:
    """The result of an altered record: `invalid` without a reward, whatever its grading says."""
    reason = f"record altered: {broken}"
    return {**line, "status": "invalid", "verdict": "invalid", "reward": None, "reason": reason}


def _are(count: int) -> str:
    return "is one" if count == 1 else f"are {count}"


def _print_gradings(out: Console, result: Mapping[str, Any]) -> None:
    """Which of several gradings this is; empty for a single one."""
    number, count = result["grading"]["number"], result["grading"]["of"]
    if number > 1:
        out.print(
            Text(f"grading {number} of {count}: a regrade; the result of record is grading 1", "bold yellow")
        )
    elif count > 1:
        out.print(
            Text(f"grading 1 of {count}: the result of record; --grading {count} shows the newest", "dim")
        )


def _line(shown: _RunView) -> dict[str, Any]:
    line = shown.result or {"run": shown.folder.run_id, "folder": str(shown.folder.path)}
    return {**line, "broken": shown.broken} if shown.broken else line


def _warning(shown: _RunView) -> Text:
    warning = f"record altered: {one_line(str(shown.broken))}; see `steelyard verify {shown.folder.typed}`"
    version = _version_of(shown.folder)
    if version not in ("", __version__):
        warning = f"{warning}\nsteelyard {one_line(version, 40)} graded this run and this is {__version__}: read it with that version"
    return Text(f"{warning}\nthe results below are not verified and do not count", "bold red")


def _version_of(folder: RunFolder) -> str:
    """Which version wrote the first grading, as that says."""
    try:
        return str(folder.read_json(f"{GRADINGS}/0001.json")["harness"]["version"])
    except DAMAGED:
        return ""


def _print(out: Console, shown: _RunView) -> None:
    if shown.broken:
        out.print(_warning(shown))
    if shown.result is None:
        return
    try:
        _print_gradings(out, shown.result)
        print_run(out, shown.result)
    except DAMAGED:
        if not shown.broken:
            raise
        out.print("the rest of its grading cannot be shown")
