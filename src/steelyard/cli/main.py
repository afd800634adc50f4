"""`steelyard VERB ...` -> an exit code: 0 passed, 1 did not pass, 2 usage or contract, 3 infrastructure; interrupted by
Ctrl-C 130, by SIGTERM 143, by SIGHUP (a closed terminal) 129.

Only the chosen verb is imported, so that `--help` costs what argparse costs.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

from steelyard import __version__
from steelyard.cli.console import RECEIVED
from steelyard.cli.console.closed_pipe import CLOSED, lost_output, open_standard_streams, outlive_reader
from steelyard.deferred.modules import defer_modules

if TYPE_CHECKING:
    import argparse

    from steelyard.errors import ContractFault

# verb -> what it does; its module is steelyard.cli.<folder>.<verb>
GROUPS = {
    "begin, and write contracts": {
        "demo": "run honest and cheating agents on the bundled contracts",
        "init": "write a new contract to start from",
        "import": "import SWE-bench rows, touchstone cases, Harbor and aec-bench tasks, scorers",
        "check": "find mistakes in a contract before any agent runs",
        "certify": "try a contract before money is spent: reference, empty change, repeats, known cheats",
        "schema": "print a JSON Schema: contract, result line, evaluation, annotation, why",
    },
    "run agents, grade changes": {
        "run": "run agents on contracts",
        "agents": "list agents; `agents install NAME` installs the client of one",
        "grade": "grade a patch or a folder against a contract, without an agent",
        "serve": "grade patches that arrive over HTTP, for programs that train or rank",
        "plan": "write a study down before it runs: contracts, agents, order, budgets, stopping rules",
        "study": "run a planned study, resume it, show its progress",
        "operate": "decide about paused runs: list, show the alert, resume, terminate or quarantine",
    },
    "read results": {
        "runs": "list runs: when, contract, agent, verdict; `runs rm`, `runs gc` remove some",
        "show": "show a run: verdict, gates, grades, findings",
        "view": "read results in a browser: explorer, runs, contracts, agents, studies",
        "report": "summarise a study or runs: rates with intervals, comparisons, cost, disclosures",
        "compare": "compare two agents on the contracts that they share; an exit code for CI",
        "power": "how many contracts and repeats a comparison needs",
        "logs": "print what the agent of a run printed; -f follows it",
        "diff": "show what a run changed, or how two runs differ",
    },
    "review, verify, repeat": {
        "review": "record what a person thinks of a run; list disagreements",
        "judge": "measure how far the judge agrees with people",
        "verify": "verify that the record of a run was not altered",
        "replay": "make the recorded changes of a run again and compare the results",
        "regrade": "grade sealed runs again; the original result still counts",
        "rescore": "what the results would be under other caps or weights: counterfactual, never mixed with results",
    },
    "look after this machine": {
        "doctor": "report what this machine can enforce, and how to fix what it cannot",
        "cache": "show the cache and its size; `cache prune` removes old entries",
        "store": "the index of runs: `store rebuild` makes it again from the run folders",
        "completion": "print a completion script for bash, zsh or fish",
    },
}
VERBS = {verb: does for group in GROUPS.values() for verb, does in group.items()}
_MODULES = {
    "authoring": ("demo", "init", "import_", "check", "certify", "schema"),
    "running": ("run", "agents", "grade", "serve", "plan", "study", "operate"),
    "reading": ("list_runs", "show", "view", "report", "compare", "power", "logs", "diff"),
    "records": ("review", "judge", "verify", "replay", "regrade", "rescore"),
    "machine": ("doctor", "cache", "store_index", "completion"),
}  # folder -> its verbs
_NAMES = {
    "import": "import_",
    "runs": "list_runs",
    "store": "store_index",
}  # a keyword, and modules that others import
_SYNONYMS = {  # words of other tools, and what they are here
    "list": "runs",
    "ls": "runs",
    "eval": "run",
    "test": "run",
    "validate": "check",
    "lint": "check",
    "certificate": "certify",
    "new": "init",
    "log": "logs",
    "score": "grade",
    "clean": "doctor",
    "resume": "operate",
    "pause": "operate",
}
_STARTS_SANDBOXES = {"run", "grade"}
_STARTS_NONE = frozenset({"-h", "--help", "docker", "local", "--sandbox=docker", "--sandbox=local"})
_GLANCE_BYTES = 1 << 16
OPERATOR = 2
INFRASTRUCTURE = 3


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
            _say(CLOSED)
        if why := lost_output():
            _say(f"the output could not be written: {why}; runs that have ended are kept (`steelyard runs`)")
            code = INFRASTRUCTURE
    except KeyboardInterrupt:
        _end_interrupted(received)
    except OSError as error:
        if received:  # the terminal is gone: what we wrote to it on the way out failed too
            _end_interrupted(received)
        if isinstance(error, PermissionError) and error.filename is not None:
            _say(f"{os.fspath(error.filename)} cannot be used: permission denied for this user")
            return OPERATOR
        # The last resort: a full or read-only disk, no memory for a process, a folder that vanished.
        _say(f"an operation failed on this machine: {error}")
        return INFRASTRUCTURE
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        _say("no more threads can be started on this machine (see `ulimit -u`)")
        return INFRASTRUCTURE
    return code


def _say(line: str) -> None:
    print(f"steelyard: {line}", file=sys.stderr)  # noqa: T201  # this is the command line


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
    from steelyard.errors import ContractFault, SteelyardError  # noqa: PLC0415  # dataclasses cost as much as argparse

    module = _import_verb(verb, starts_sandboxes=_starts_sandboxes(arguments))
    parser = parser_of(verb)
    try:
        code: int = module.run(_parse(parser, arguments[1:]))
    except SteelyardError as error:
        _say(_problems(error) if isinstance(error, ContractFault) else str(error))
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()  # a reader such as `head` had enough
        return 0
    finally:
        _tell_what_was_rebuilt()
    return code


def _starts_sandboxes(arguments: Sequence[str]) -> bool:
    """Whether a command will probably start a sandbox of bubblewrap. A wrong guess costs time alone."""
    return (
        arguments[0] in _STARTS_SANDBOXES
        and not _STARTS_NONE.intersection(arguments)
        and not any(map(_asks_for_container, arguments[1:]))
    )


def _asks_for_container(word: str) -> bool:
    """Whether a word names a task or a contract with an image: a glance, as the contract is read later."""
    if os.path.isfile(f"{word}/environment/Dockerfile"):  # noqa: PTH113  # pathlib is not loaded yet
        return True
    with suppress(OSError, ValueError):
        path = f"{word}/contract.yaml" if os.path.isdir(word) else word  # noqa: PTH112  # as above
        if path.endswith(".yaml"):
            with open(path, "rb") as file:  # noqa: PTH123  # as above
                return b"\n  image:" in file.read(_GLANCE_BYTES)
    return False


def _import_verb(verb: str, *, starts_sandboxes: bool = False) -> ModuleType:
    """The module of a verb. Modules, classes and functions stay until the end: the collector need not look at them."""
    defer_modules()
    # Plugins of pydantic watch how programs validate; looking for them reads the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.disable()
    try:
        if starts_sandboxes:
            from steelyard.sandboxes.bubblewrap import launcher_client  # noqa: PLC0415  # only for such a verb

            launcher_client.start_early()
        module = importlib.import_module(module_of(verb))
        assert callable(module.run)  # its code, and that of the modules whose names it needs, runs here
        return module
    finally:
        gc.freeze()
        gc.enable()


def parser_of(verb: str) -> argparse.ArgumentParser:
    """The options of one verb, whose module is imported for them."""
    from steelyard.cli.options.option_parser import OptionParser  # noqa: PLC0415  # inside, so that Ctrl-C during its import is no traceback

    module = importlib.import_module(module_of(verb))
    parser = OptionParser(prog=f"steelyard {verb}", description=module.__doc__, allow_abbrev=False)
    module.arguments(parser)
    return parser


def _parse(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """A misspelt option is named before anything else that is wrong, with the option that it resembles."""
    known = parser._option_string_actions  # noqa: SLF001  # argparse has no other list of them
    for word in words:
        if word == "--":
            break
        name = word.partition("=")[0]
        if name.startswith("--") and " " not in word and name not in known:
            hint = _similar(name, known)
            parser.error(f"there is no option {name}" + (f"; did you mean {hint}?" if hint else ""))
    return parser.parse_args(words)


def _similar(word: str, words: Iterable[str]) -> str:
    """The one that `word` was probably meant to be, or nothing."""
    import difflib  # noqa: PLC0415  # only where something is wrong

    return next(iter(difflib.get_close_matches(word, words, n=1, cutoff=0.6)), "")


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


def _end_interrupted(received: list[int]) -> NoReturn:
    """Print a message, and replace this process by a program that removes what is left, so that none of its threads continues."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with suppress(ValueError):
            signal.signal(number, signal.SIG_IGN)
    with suppress(OSError, ValueError):
        has_runs = "steelyard.study.engine" in sys.modules
        kept = (
            "; every run that was sealed is kept (`steelyard runs`), one that was not is lost"
            if has_runs
            else ""
        )
        _say(f"interrupted{kept}")
        sys.stderr.flush()
    code = 128 + (received[0] if received else signal.SIGINT)
    if "steelyard.filesystem.cache" in sys.modules:  # otherwise nothing was begun
        with suppress(OSError):
            line = [sys.executable, "-P", "-m", "steelyard.cli.console.interrupt", str(code)]
            os.execv(sys.executable, line)  # noqa: S606  # no shell is the point
    os._exit(code)


def _tell_what_was_rebuilt() -> None:
    """A damaged cache costs no verdict, but its owner should know."""
    cache = sys.modules.get("steelyard.filesystem.cache")
    for note in cache.rebuilt() if cache is not None and not sys.stderr.closed else ():
        _say(f"note: {note}")


def _problems(fault: ContractFault) -> str:
    """As `check` prints them: the fix comes before the output of a program."""
    from steelyard.report.plain import problem_lines  # noqa: PLC0415  # only where something is wrong

    return "\n".join(line for problem in fault.problems for line in problem_lines(problem))


def module_of(verb: str) -> str:
    name = _NAMES.get(verb, verb)
    folder = next(folder for folder, names in _MODULES.items() if name in names)
    return f"steelyard.cli.{folder}.{name}"


def _escape_what_stdout_cannot_say() -> None:
    """A name that a Latin-1 or ASCII terminal has no letter for is escaped, not a crash."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def _without_verb(arguments: list[str]) -> int:
    """`--help`, `--version`, nothing at all, or a verb that does not exist."""
    import argparse  # noqa: PLC0415  # see above

    width = max(map(len, VERBS))
    verbs = "\n\n".join(
        "\n".join([f"{title}:", *(f"  {name:<{width}}  {does}" for name, does in group.items())])
        for title, group in GROUPS.items()
    )
    parser = argparse.ArgumentParser(
        prog="steelyard",
        usage="steelyard VERB [options]",
        description="Evaluates coding agents on whole repositories, against executable contracts.",
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
    if verb and verb not in VERBS and "-h" not in arguments and "--help" not in arguments:
        hint = _similar(verb, [*VERBS, *_SYNONYMS])
        hint = _SYNONYMS.get(hint, hint)
        _say(
            f"there is no verb {verb!r}; "
            + (f"did you mean `steelyard {hint}`?" if hint else "`steelyard --help` lists them")
        )
        return 2
    parser.parse_args(arguments)
    return 2


if __name__ == "__main__":
    sys.exit(main())
