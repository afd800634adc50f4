"""`steelyard VERB ...` -> an exit code: 0 passed, 1 did not pass, 2 usage or contract, 3 infrastructure; interrupted by
Ctrl-C 130, by SIGTERM 143, by SIGHUP (a closed terminal) 129.

Only the chosen verb is imported, so that `--help` costs what argparse costs.
"""

from __future__ import annotations

import importlib
import io
import keyword
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from steelyard import __version__
from steelyard.cli.closed_pipe import outlive_reader

# verb -> what it does; the module is steelyard.cli.<verb>, with a `_` after a word of Python's
VERBS = {
    "demo": "run honest and cheating agents on the bundled contracts",
    "init": "write a new contract to start from",
    "import": "import SWE-bench rows, touchstone cases, Harbor and aec-bench tasks, scorers",
    "check": "find mistakes in a contract before any agent runs",
    "run": "run agents on contracts",
    "grade": "grade a patch or a folder against a contract, without an agent",
    "regrade": "grade sealed runs again; the original result still counts",
    "show": "show a run: verdict, gates, grades, findings",
    "diff": "show what a run changed, or how two runs differ",
    "verify": "verify that the record of a run was not altered",
    "doctor": "report what this machine can enforce, and how to fix what it cannot",
    "schema": "print the JSON Schema of a contract or of a result line",
}
INFRASTRUCTURE = 3


def main(argv: Sequence[str] | None = None) -> int:
    received: list[int] = []
    try:
        _heed_signals(received)
        return _run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:
        _end_interrupted(received)
    except OSError as error:
        if received:  # the terminal is gone: what we wrote to it on the way out failed too
            _end_interrupted(received)
        # The last resort: a full or read-only disk, no memory for a process, a folder that vanished.
        print(f"steelyard: an operation failed on this machine: {error}", file=sys.stderr)  # noqa: T201  # this is the command line
        return INFRASTRUCTURE
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        print("steelyard: no more threads can be started on this machine (see `ulimit -u`)", file=sys.stderr)  # noqa: T201
        return INFRASTRUCTURE


def _run(arguments: list[str]) -> int:
    import argparse  # noqa: PLC0415  # inside, so that Ctrl-C during its import is no traceback

    verb = next((word for word in arguments if not word.startswith("-")), None)
    if verb not in VERBS or arguments[0] != verb:
        return _without_verb(arguments)
    _escape_what_stdout_cannot_say()
    outlive_reader()
    from steelyard.errors import SteelyardError  # noqa: PLC0415  # dataclasses cost as much as argparse

    module = importlib.import_module(module_of(verb))
    parser = argparse.ArgumentParser(prog=f"steelyard {verb}", description=module.__doc__, allow_abbrev=False)
    module.arguments(parser)
    try:
        code: int = module.run(parser.parse_args(arguments[1:]))
    except SteelyardError as error:
        print(f"steelyard: {_told(error)}", file=sys.stderr)  # noqa: T201  # this is the command line
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()  # a reader such as `head` had enough
        return 0
    finally:
        _tell_what_was_rebuilt()
    return code


def _heed_signals(received: list[int]) -> None:
    """`kill` and a closed terminal end a command as Ctrl-C does; who said `nohup` is left in peace."""

    def interrupt(number: int, _: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    with suppress(ValueError):  # not in the main thread: then the signals are somebody else's
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, interrupt)


def _end_interrupted(received: list[int]) -> NoReturn:
    """Tell it, and go on as another program that removes what is left: no thread of this one runs any further."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with suppress(ValueError):
            signal.signal(number, signal.SIG_IGN)
    with suppress(OSError, ValueError):
        print("steelyard: interrupted; unfinished runs are lost, every sealed run is kept", file=sys.stderr)  # noqa: T201
        sys.stderr.flush()
    code = 128 + (received[0] if received else signal.SIGINT)
    if "steelyard.filesystem.cache" in sys.modules:  # otherwise nothing was begun
        with suppress(OSError):
            line = [sys.executable, "-P", "-m", "steelyard.cli.interrupt", str(code)]
            os.execv(sys.executable, line)  # noqa: S606  # no shell is the point
    os._exit(code)


def _tell_what_was_rebuilt() -> None:
    """A damaged cache costs no verdict, but its owner should know."""
    cache = sys.modules.get("steelyard.filesystem.cache")
    for note in cache.rebuilt() if cache is not None and not sys.stderr.closed else ():
        print(f"steelyard: note: {note}", file=sys.stderr)  # noqa: T201  # this is the command line


def _told(error: Exception) -> str:
    """As `check` tells it: what mends a contract stands before what a program printed, not after it."""
    from steelyard.errors import ContractFault  # noqa: PLC0415  # see above
    from steelyard.report.plain import problem_lines  # noqa: PLC0415  # only where something is wrong

    if not isinstance(error, ContractFault):
        return str(error)
    return "\n".join(line for problem in error.problems for line in problem_lines(problem))


def module_of(verb: str) -> str:
    return f"steelyard.cli.{verb}{'_' if keyword.iskeyword(verb) else ''}"


def _escape_what_stdout_cannot_say() -> None:
    """A name that a Latin-1 or ASCII terminal has no letter for is escaped, not a crash."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _without_verb(arguments: list[str]) -> int:
    """`--help`, `--version`, nothing at all, or a verb that does not exist."""
    import argparse  # noqa: PLC0415  # see above

    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {name:<{width}}  {does}" for name, does in VERBS.items())
    parser = argparse.ArgumentParser(
        prog="steelyard",
        usage="steelyard VERB [options]",
        description="Evaluates coding agents on whole repositories, against executable contracts.",
        epilog=f"verbs:\n{verbs}\n\n`steelyard VERB --help` shows the options.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"steelyard {__version__}")
    parser.add_argument("verb", choices=list(VERBS), metavar="VERB", help=argparse.SUPPRESS)
    if not arguments:
        parser.print_help()
        return 2
    parser.parse_args(arguments)
    return 2


if __name__ == "__main__":
    sys.exit(main())
