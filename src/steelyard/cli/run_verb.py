"""The words of a command -> its verb is imported, its options are read, it runs -> an exit code.

This module is imported after the finder of `deferred/modules.py` is installed, so what it imports as modules waits for its use.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

from steelyard.cli.console import harmless, say, width_of, wrap_message
from steelyard.cli.verbs import module_of, similar
from steelyard.deferred.modules import has_run
from steelyard.errors import ContractFault, OperatorFault, SteelyardError
from steelyard.filesystem import cache
from steelyard.report import plain
from steelyard.sandboxes.bubblewrap import launcher_client

if TYPE_CHECKING:
    import argparse

_STARTS_SANDBOXES = {"run", "grade"}
_STARTS_NONE = frozenset({"-h", "--help", "docker", "local", "--sandbox=docker", "--sandbox=local"})
_GLANCE_BYTES = 1 << 16


def run_verb(verb: str, arguments: list[str]) -> int:
    module = _import_verb(verb, starts_sandboxes=_starts_sandboxes(arguments))
    parser = parser_of(verb)
    try:
        code: int = module.run(_parse(parser, arguments[1:]))
    except SteelyardError as error:
        say(_problems(error) if isinstance(error, ContractFault) else str(error))
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()  # a reader such as `head` had enough
        return 0
    finally:
        _say_what_was_rebuilt()
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
    # Plugins of pydantic watch how programs validate; looking for them reads the metadata of every installed package.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    gc.disable()
    try:
        if starts_sandboxes:
            launcher_client.start_early()
        module = importlib.import_module(module_of(verb))
        assert callable(module.run)  # its code, and that of the modules whose names it needs, runs here
        return module
    finally:
        gc.freeze()
        gc.enable()


def parser_of(verb: str) -> argparse.ArgumentParser:
    """The options of one verb, whose module is imported for them."""
    import argparse  # noqa: PLC0415  # after the launcher was started

    class OptionParser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            """One line, as every other mistake is, not a page of usage with the reason below."""
            plain_words = _in_plain_words(harmless(message)) + self._study_hint(message)
            end = "" if plain_words.endswith("?") else ";"
            line = f"{self.prog}: {plain_words}{end} `{self.prog} --help` shows the options"
            self.exit(OperatorFault.exit_code, f"{wrap_message(line, width_of(sys.stderr))}\n")

        def _study_hint(self, message: str) -> str:
            """The plan of a study as a word too many, where it is the value of an option."""
            _, _, word = message.partition("unrecognized arguments: ")
            is_plan = word.endswith((".yaml", ".yml")) and " " not in word
            has_option = "--study" in self._option_string_actions
            return f"; a study is chosen with --study {harmless(word)}" if is_plan and has_option else ""

    module = importlib.import_module(module_of(verb))
    parser = OptionParser(prog=f"steelyard {verb}", description=module.__doc__, allow_abbrev=False)
    module.arguments(parser)
    _refuse_empty_paths(parser)
    return parser


def _refuse_empty_paths(parser: argparse.ArgumentParser) -> None:
    """An empty word is a variable without a value, as in `--out "$OUT"`. pathlib takes it for the current folder."""
    import argparse  # noqa: PLC0415  # after the launcher was started
    from pathlib import Path  # noqa: PLC0415  # as argparse

    def path(word: str) -> Path:
        if not word:
            raise argparse.ArgumentTypeError("the path is empty; is a variable of the shell not set?")
        return Path(word)

    for action in parser._actions:  # noqa: SLF001  # argparse has no other list of them
        if action.type is Path:
            action.type = path


def _in_plain_words(message: str) -> str:
    """A mistake as argparse words it -> for somebody who does not know Python's types, with the word that was meant."""
    import re  # noqa: PLC0415  # only where something is wrong

    if found := re.fullmatch(r"argument (\S+): (the path is empty; .*)", message):
        return ": ".join(found.groups())
    for kind, name in (("int", "whole number"), ("float", "number"), ("share", "number or a percentage")):
        message = re.sub(rf"argument (\S+): invalid {kind} value: ('.*')$", rf"\1 \2: not a {name}", message)
    message = re.sub(r"argument (\S+): invalid \S+ value: ('.*')$", r"\1 \2: not a valid value", message)
    if found := re.fullmatch(r"argument (\S+): invalid choice: '(.*)' \(choose from (.*)\)", message):
        where, word, listed = found.groups()
        where = "the action" if "|" in where else where  # `run|resume|...` is the list of its choices
        choices = [one.strip("'") for one in listed.split(", ")]
        hint = similar(word, choices)
        meant = f"did you mean {hint}?" if hint else f"there are {', '.join(choices)}"
        message = f"{where} {word!r} does not exist; {meant}"
    return message


def _parse(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """A misspelt option is named before anything else that is wrong, with the option that it resembles."""
    known = parser._option_string_actions  # noqa: SLF001  # argparse has no other list of them
    for word in words:
        if word == "--":
            break
        name = word.partition("=")[0]
        if name.startswith("--") and " " not in word and name not in known:
            hint = similar(name, known)
            parser.error(f"there is no option {name}" + (f"; did you mean {hint}?" if hint else ""))
    return parser.parse_args(words)


def _say_what_was_rebuilt() -> None:
    """A damaged cache costs no verdict, but its owner should know."""
    if has_run("steelyard.filesystem.cache") and not sys.stderr.closed:
        for note in cache.rebuilt():
            say(f"note: {note}")


def _problems(fault: ContractFault) -> str:
    """As `check` prints them: the fix comes before the output of a program."""
    return "\n".join(line for problem in fault.problems for line in plain.problem_lines(problem))
