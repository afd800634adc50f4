"""Show what a run changed; with two runs, show how their changes and outcomes differ."""

from __future__ import annotations

import argparse
import sys

import orjson
from rich.text import Text

from steelyard.cli.console import say
from steelyard.cli.console.output import console, print_json
from steelyard.cli.options.runs_option import add_runs_option
from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import CHANGE, PATCH, RunFolder, find_run
from steelyard.report.compare import compare_runs
from steelyard.report.plain import ESCAPED_PATCH, escaped_patch, shown_lines
from steelyard.report.terminal import print_comparison

HELP = "show what a run changed, or how two runs differ"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        metavar="RUN",
        nargs="?",
        default="last",
        help="`last` (default), a run folder, or the start or the end of a run's name",
    )
    parser.add_argument("other", nargs="?", metavar="RUN2", help="a second run, to compare with")
    add_runs_option(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the change, or the comparison, as JSON")
    form.add_argument(
        "--raw",
        action="store_true",
        help="every byte of the patch as it is, for `git apply` or `steelyard grade --patch -`; never for a terminal",
    )


def run(args: argparse.Namespace) -> int:
    if args.raw and args.other is not None:
        raise OperatorFault("--raw needs exactly one run")
    folder = find_run(args.runs, args.run)
    if args.other is None:
        return _show_patch(folder, args)
    comparison = compare_runs(folder, find_run(args.runs, args.other))
    if args.json:
        print_json(comparison.to_json())
    else:
        print_comparison(console(), comparison)
    return 0


def _show_patch(folder: RunFolder, args: argparse.Namespace) -> int:
    if args.json:
        print_json(orjson.loads(_captured(folder, CHANGE)))
        return 0
    patch = _captured(folder, PATCH)
    if not patch and not sys.stdout.isatty():
        say(f"{folder.run_id}: no change")  # stdout stays empty: it may be a patch
    if args.raw:
        sys.stdout.buffer.write(patch)
    elif sys.stdout.isatty() and not patch:
        console().print("no change")
    elif sys.stdout.isatty():
        console().print(_coloured(shown_lines(patch.decode(errors="replace"))), soft_wrap=True)
    else:
        _write_escaped(patch)
    return 0


_STYLES = (("+++", "bold"), ("---", "bold"), ("diff ", "bold"), ("@@", "cyan"), ("+", "green"), ("-", "red"))


def _coloured(patch: str) -> Text:
    """The lines of a patch, each whole: the terminal wraps them, and nothing is cut."""
    found = Text()
    for line in patch.removesuffix("\n").split("\n"):
        style = next((style for start, style in _STYLES if line.startswith(start)), "")
        found.append(f"{line}\n", style)
    found.rstrip()
    return found


def _captured(folder: RunFolder, name: str) -> bytes:
    try:
        return folder.read_bytes(name)
    except FileNotFoundError:
        raise OperatorFault(
            f"{folder.run_id} has no recorded change: it ended before its workspace was captured"
        ) from None
    except OSError as error:
        raise OperatorFault(f"{folder.run_id}: {name} cannot be read: {error.strerror or error}") from None


def _write_escaped(patch: bytes) -> None:
    """What is piped may be read by `less` or `cat`, so a terminal must find nothing in it that it obeys."""
    safe = escaped_patch(patch)
    if safe != patch:
        sys.stdout.buffer.write(ESCAPED_PATCH + b"\n")
        sys.stderr.write(
            "steelyard: control characters in this change are written escaped, so this is not the patch; "
            "--raw writes it byte for byte\n"
        )
    sys.stdout.buffer.write(safe)
