"""`steelyard VERB ...` -> an exit code: 0 passed, 1 did not pass, 2 usage or contract, 3 infrastructure; interrupted by
Ctrl-C 130, by SIGTERM 143, by SIGHUP (a closed terminal) 129.

Only the chosen verb is imported, so that `--help` costs what argparse costs.
"""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from steelyard import __version__
from steelyard.cli.console import RECEIVED, say, terminal_width, wrap_message
from steelyard.cli.console.closed_pipe import CLOSED, lost_output, open_standard_streams, outlive_reader
from steelyard.cli.verbs import GROUPS, VERBS, verb_like
from steelyard.deferred.modules import defer_modules, has_run

OPERATOR = 2
INFRASTRUCTURE = 3
_DOES = "Evaluates coding agents on whole repositories, against executable contracts."
_WORDS_FOR_OPTIONS = {"help": "--help", "version": "--version"}  # as other tools have them
_MAKE_RUNS = ("run", "demo", "grade", "study", "serve")


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code. Without `argv` the command is that of this process, which ends here."""
    code = _command(list(sys.argv[1:] if argv is None else argv))
    if argv is None:
        _end(code)
    return code


def _end(code: int) -> NoReturn:
    """End this process. Threads and exit functions end as ever; modules are not taken apart, which takes as long as Python's start."""
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001  # as the interpreter does
    atexit._run_exitfuncs()  # noqa: SLF001  # as the interpreter does
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def _command(arguments: list[str]) -> int:
    received: list[int] = []
    RECEIVED.clear()
    try:
        is_closed = open_standard_streams()
        _heed_signals(received)
        code = _run_or_help(arguments)
        if is_closed:
            say(CLOSED)
        if why := lost_output():
            kept = "; runs that have ended are kept (`steelyard runs`)" if _makes_runs(arguments) else ""
            say(f"the output could not be written: {why}{kept}")
            code = INFRASTRUCTURE
    except KeyboardInterrupt:
        _end_interrupted(received, makes_runs=_makes_runs(arguments))
    except OSError as error:
        if received:  # the terminal is gone: what we wrote to it on the way out failed too
            _end_interrupted(received, makes_runs=_makes_runs(arguments))
        if isinstance(error, PermissionError) and error.filename is not None:
            say(f"{os.fspath(error.filename)} cannot be used: permission denied for this user")
            return OPERATOR
        # The last resort: a full or read-only disk, no memory for a process, a folder that vanished.
        say(f"an operation failed on this machine: {error}")
        return INFRASTRUCTURE
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        say("no more threads can be started on this machine (see `ulimit -u`)")
        return INFRASTRUCTURE
    return code


def _run_or_help(arguments: list[str]) -> int:
    try:
        return _run(arguments)
    except SystemExit:  # of argparse: --help, or a mistake in the options
        if not lost_output():
            raise
        return INFRASTRUCTURE


def _run(arguments: list[str]) -> int:
    verb = next((word for word in arguments if not word.startswith("-")), None)
    outlive_reader()
    if verb not in VERBS or arguments[0] != verb:
        return _without_verb(arguments)
    _escape_what_stdout_cannot_say()
    defer_modules()
    from steelyard.cli.run_verb import run_verb  # noqa: PLC0415  # what it imports is deferred from here on

    return run_verb(verb, arguments)


def _heed_signals(received: list[int]) -> None:
    """`kill` and a closed terminal end a command as Ctrl-C does; a command under `nohup` ignores the closed terminal."""

    def interrupt(number: int, _: object) -> None:
        received.append(number)
        RECEIVED.append(signal.Signals(number).name)
        raise KeyboardInterrupt(signal.Signals(number).name)

    with suppress(ValueError):  # not in the main thread: then another part of the program handles signals
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, interrupt)


def _makes_runs(arguments: Sequence[str]) -> bool:
    """Whether the command had begun to make runs that `steelyard runs` lists; other verbs try things and keep nothing."""
    return arguments[:1] != [] and arguments[0] in _MAKE_RUNS and has_run("steelyard.study.engine")


def _end_interrupted(received: list[int], *, makes_runs: bool) -> NoReturn:
    """Print a message, and replace this process by a program that removes what is left, so that none of its threads continues."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with suppress(ValueError):
            signal.signal(number, signal.SIG_IGN)
    with suppress(OSError, ValueError):
        kept = (
            "; every run that was sealed is kept (`steelyard runs`), one that was not is lost"
            if makes_runs
            else ""
        )
        say(f"interrupted{kept}")
        sys.stderr.flush()
    code = 128 + (received[0] if received else signal.SIGINT)
    if has_run("steelyard.filesystem.cache"):  # otherwise nothing was begun
        with suppress(OSError):
            line = [sys.executable, "-P", "-m", "steelyard.cli.console.interrupt", str(code)]
            os.execv(sys.executable, line)  # noqa: S606  # no shell is the point
    os._exit(code)


def _escape_what_stdout_cannot_say() -> None:
    """A name that a Latin-1 or ASCII terminal has no letter for is escaped, not a crash."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _without_verb(arguments: list[str]) -> int:
    """`--help`, `--version`, nothing at all, or a verb that does not exist."""
    import argparse  # noqa: PLC0415  # inside, so that Ctrl-C during its import is no traceback

    verbs = "\n\n".join(
        "\n".join([f"{title}:", *(_verb_line(name, does) for name, does in group.items())])
        for title, group in GROUPS.items()
    )
    parser = argparse.ArgumentParser(
        prog="steelyard",
        usage="steelyard VERB [options]",
        description=wrap_message(_DOES, terminal_width()),
        epilog=f"{verbs}\n\n`steelyard VERB --help` shows the options.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"steelyard {__version__}")
    parser.add_argument("verb", choices=list(VERBS), metavar="VERB", help=argparse.SUPPRESS)
    if not arguments:
        parser.print_help()
        return 2
    verb = next((word for word in arguments if not word.startswith("-")), "")
    if verb in _WORDS_FOR_OPTIONS and arguments[0] == verb:
        return _run([*(arguments[1:2] if verb == "help" else ()), _WORDS_FOR_OPTIONS[verb]])
    if verb and verb not in VERBS and "-h" not in arguments and "--help" not in arguments:
        hint = verb_like(verb)
        say(
            f"there is no verb {verb!r}; "
            + (f"did you mean `steelyard {hint}`?" if hint else "`steelyard --help` lists them")
        )
        return 2
    if not {"-h", "--help", "--version"}.intersection(arguments):
        say(f"there is no option {arguments[0]} before a verb; `steelyard --help` lists the verbs")
        return OPERATOR
    parser.parse_args(arguments)
    return 2


def _verb_line(name: str, does: str) -> str:
    """What a verb does, in lines that fit the terminal."""
    import textwrap  # noqa: PLC0415  # as argparse
    from shutil import get_terminal_size  # noqa: PLC0415  # as argparse

    head = f"  {name:<{max(map(len, VERBS))}}  "
    width = max(get_terminal_size().columns, len(head) + 20)
    return textwrap.fill(does, width, initial_indent=head, subsequent_indent=" " * len(head))


if __name__ == "__main__":
    sys.exit(main())
