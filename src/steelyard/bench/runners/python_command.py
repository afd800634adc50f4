"""The words of a command -> which interpreter runs which runner with what, if it is a Python test command.

python3 -W error -m pytest -q tests     interpreter python3 -W error, pytest, -q tests
.venv/bin/python -m unittest -v         interpreter .venv/bin/python, unittest, -v
pytest -x                               the interpreter in the first line of the `pytest` that PATH finds
python3 tests/run.py -v                 a program, which may run unittest; also ./tests/run.py -v
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from steelyard.deferred.data_class import dataclass

Module = Literal["pytest", "unittest"]
_PYTHON = re.compile(r"(.*/)?python(3(\.\d+)?t?)?$")
_PROGRAM = re.compile(r".*/[^/]+\.py$")
_SCRIPT = re.compile(r"(.*/)?(pytest|py\.test)(-3)?$")
_MODULES: dict[str, Module] = {"pytest": "pytest", "py.test": "pytest", "unittest": "unittest"}
_FLAGS = re.compile(r"-[bBdEIOPRqsSuvx]+$")
_NO_TREE = re.compile(r"-[bBdEIOPRqsSuvx]*[IP]")  # these keep the working folder off the path
# A console script names its interpreter in its first line; one whose line would be too long lies beside it.
_BY_SCRIPT = """found=$(command -v "$0") || { echo "$0: not found" >&2; exit 127; }
IFS= read -r line < "$found"
case $line in "#!"*python*) exec ${line#??} "$@";; esac
[ -x "${found%/*}/python" ] && exec "${found%/*}/python" "$@"
exec python3 "$@\""""


@dataclass(frozen=True, slots=True)
class PythonCommand:
    module: Module
    arguments: tuple[str, ...]
    interpreter: tuple[str, ...] = ()  # with its own options; () when a script leads to it
    script: str = ""  # whose first line names the interpreter
    program: str = ""  # a file of the tree instead of the module itself
    cwd_on_path: bool = True

    def started_with(self, *words: str) -> tuple[str, ...]:
        """The command line that starts the interpreter in question with these words instead."""
        if self.script:
            return ("/bin/sh", "-c", _BY_SCRIPT, self.script, *words)
        return (*self.interpreter, *words)


def python_command(argv: Sequence[str]) -> PythonCommand | None:
    first = argv[0] if argv else ""
    if _SCRIPT.match(first):
        return PythonCommand("pytest", tuple(argv[1:]), script=first, cwd_on_path=False)
    if _PROGRAM.match(first):
        return _program(argv, PythonCommand("unittest", (), script=first))
    if not _PYTHON.match(first):
        return None
    options, rest, is_module = _options(list(argv[1:]))
    found = PythonCommand("unittest", (), interpreter=(first, *_kept_options(options)))
    if not is_module:
        return _program(rest, found)
    if not rest or rest[0] not in _MODULES:
        return None
    on_path = not any(_NO_TREE.match(option) for option in options)
    return replace(found, module=_MODULES[rest[0]], arguments=tuple(rest[1:]), cwd_on_path=on_path)


def _program(words: Sequence[str], started: PythonCommand) -> PythonCommand | None:
    if not words or not words[0].endswith(".py"):
        return None
    return replace(started, program=words[0], arguments=tuple(words[1:]), cwd_on_path=False)


def _options(words: list[str]) -> tuple[list[str], list[str], bool]:
    """The interpreter's options, what follows them, and whether that is a module (`-m`)."""
    options: list[str] = []
    while words:
        word = words.pop(0)
        if word == "-m":
            return options, words, True
        if word.startswith("-m"):
            return options, [word[2:], *words], True
        if word in {"-W", "-X"} and words:
            options += [word, words.pop(0)]
        elif _FLAGS.match(word) or word.startswith(("-W", "-X")):
            options.append(word)
        else:
            return options, [word, *words], False
    return options, [], False


def _kept_options(options: list[str]) -> list[str]:
    """Without what would keep the variables of the contract from the interpreter, or is ours to decide."""
    return [option for option in options if not _FLAGS.match(option) or re.match(r"-[bOu]+$", option)]
