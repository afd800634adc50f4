"""Files of a contract -> those that do not parse, with the line.

Python by its own parser, JavaScript and TypeScript by their grammars. A file may be meant to be broken, or be written in a
newer Python than this one: what is found is a warning.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from steelyard.contract.contract import Contract
from steelyard.errors import Problem
from steelyard.grammars import Grammar, first_error, grammar_of

if TYPE_CHECKING:
    from steelyard.contract.catalogue import ContractFile

MAX_BYTES = 1 << 20  # of one file
MAX_ALL_BYTES = 16 << 20


def syntax_problems(contract: Contract) -> list[Problem]:
    return list(_each(contract))


def _each(contract: Contract) -> Iterator[Problem]:
    left = MAX_ALL_BYTES
    for name, file in sorted(contract.files.items()):
        grammar = grammar_of(name)
        source = _source(file) if grammar is not None else None
        if grammar is None or source is None or len(source) > left:
            continue
        left -= len(source)
        line = _wrong_line(source, grammar)
        if line:
            fix = "correct it, or leave it if this is intended"
            yield Problem(
                f"{contract.folder / name}:{line}", "", f"is not valid {_LANGUAGES[grammar.language]}", fix
            )


_LANGUAGES = {"python": "Python", "javascript": "JavaScript or TypeScript"}


def _source(file: ContractFile) -> bytes | None:
    if file.mode == "link" or file.path.stat().st_size > MAX_BYTES:
        return None
    return file.path.read_bytes()


def _wrong_line(source: bytes, grammar: Grammar) -> int | None:
    if grammar.language == "python":
        return _wrong_python(source)
    return first_error(source, grammar) if grammar.language in _LANGUAGES else None


def _wrong_python(source: bytes) -> int | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(source)
    except SyntaxError as error:
        return error.lineno or 1
    except (ValueError, RecursionError, MemoryError):  # a NUL byte; nested beyond all reason
        return 1
    return None
