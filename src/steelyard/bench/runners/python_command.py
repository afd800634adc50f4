"""The words of a command -> which interpreter runs which runner with what, if it is a Python test command.

python3 -W error -m pytest -q tests     interpreter python3 -W error, pytest, -q tests
.venv/bin/python -m unittest -v         interpreter .venv/bin/python, unittest, -v
pytest -x                               the interpreter in the first line of the `pytest` that PATH finds
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Module = Literal["pytest", "unittest"]
_PYTHON = re.compile(r"(.*/)?python(3(\.\d+)?t?)?$")
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
    script: str = ""
    cwd_on_path: bool = True

    def started_with(self, *words: str) -> tuple[str, ...]:
        """The command line that starts the interpreter in question with these words instead."""
        if self.script:
            return ("/bin/sh", "-c", _BY_SCRIPT, self.script, *words)
        return (*self.interpreter, *words)


def python_command(argv: Sequence[str]) -> PythonCommand | None:
    if not argv:
        return None
    if _SCRIPT.match(argv[0]):
        return PythonCommand("pytest", tuple(argv[1:]), script=argv[0], cwd_on_path=False)
    if not _PYTHON.match(argv[0]):
        return None
    options, rest = _options(list(argv[1:]))
    if rest is None or not rest or rest[0] not in _MODULES:
        return None
    on_path = not any(_NO_TREE.match(option) for option in options)
    return PythonCommand(
        _MODULES[rest[0]], tuple(rest[1:]), interpreter=(argv[0], *_kept(options)), cwd_on_path=on_path
    )


def _options(words: list[str]) -> tuple[list[str], list[str] | None]:
    """The interpreter's options, and what follows `-m`; None when there is something else."""
    options: list[str] = []
    while words:
        word = words.pop(0)
        if word == "-m":
            return options, words
        if word.startswith("-m"):
            return options, [word[2:], *words]
        if word in {"-W", "-X"} and words:
            options += [word, words.pop(0)]
        elif _FLAGS.match(word) or word.startswith(("-W", "-X")):
            options.append(word)
        else:
            break
    return options, None


def _kept(options: list[str]) -> list[str]:
    """Without what would keep the variables of the contract from the interpreter, or is ours to decide."""
    return [option for option in options if not _FLAGS.match(option) or re.match(r"-[bOu]+$", option)]
