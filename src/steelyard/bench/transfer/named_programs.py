"""The text of a command or of a program, and paths of tests -> those that the text may start, read or load.

    nice -n 5 python3.11 tests/check.py        a path, whatever stands before it
    python3 -m tests.check                     a module
    for t in tests/cases/*.sh; do sh $t        a pattern
    . "$HERE/lib/assert.sh"                    what comes after a variable is the end of a path
    from cases import CASES                    what Python and JavaScript import from beside them

Words can mean more than is started: a program that they only name counts too.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from itertools import pairwise

from steelyard.bench.transfer.shell_scripts import commands, in_workspace

_GLOB = re.compile(r"[*?\[]")
_VARIABLE = re.compile(r"^.*\$\{?\w+\}?/+")
_PYTHON = re.compile(r"(?m)^\s*(?:from\s+([\w.]+)\s+import\s+\(?([\w, ]+)|import\s+([\w., ]+))")
_JAVASCRIPT = re.compile(r"(?:\brequire\(|\bfrom\s|\bimport\s*\(?)\s*['\"](\.{1,2}/[^'\"\n]+)['\"]")
_NODE_ENDINGS = ("", ".js", ".cjs", ".mjs", ".ts", "/index.js")


def named_programs(text: str, folder: str, programs: Collection[str]) -> set[str]:
    """Of shell words; `folder` is the script's."""
    found: set[str] = set()
    place = ""
    for words in commands(text):
        if words[0] == "cd" and len(words) > 1:
            place = posixpath.join(place, words[1])
        for before, word in pairwise(("", *words)):
            found.update(_programs_of_word(before, word.lstrip("<"), (place, "", folder), programs))
    return found


def imported_programs(text: str, path: str, programs: Collection[str]) -> set[str]:
    """Of a program in Python or JavaScript at this path."""
    folder = posixpath.dirname(path)
    if path.endswith(".py"):
        names = (
            posixpath.join(place, name)
            for module in _modules(text)
            for place in (folder, "")
            for name in _files_of(module)
        )
    else:
        names = (
            posixpath.normpath(posixpath.join(folder, found[1] + ending))
            for found in _JAVASCRIPT.finditer(text)
            for ending in _NODE_ENDINGS
        )
    return set(names) & set(programs)


def _programs_of_word(
    before: str, word: str, places: tuple[str, ...], programs: Collection[str]
) -> Iterator[str]:
    if before == "-m":
        yield from {*_files_of(word)} & {*programs}
        return
    tail = _VARIABLE.sub("", word)
    if tail != word or word.startswith("/"):
        tail = in_workspace("", tail).lstrip("/")
        if tail:
            yield from (one for one in programs if one == tail or fnmatchcase(one, f"*/{tail}"))
    elif _GLOB.search(word):
        paths = {in_workspace(place, word) for place in places}
        for one in programs:
            name = one if "/" in word else posixpath.basename(one)
            if any(fnmatchcase(name, path) for path in (paths if "/" in word else [word])):
                yield one
    else:
        yield from {in_workspace(place, word) for place in places} & {*programs}


def _modules(text: str) -> Iterator[str]:
    for found in _PYTHON.finditer(text):
        package, names, plain = found.groups()
        for name in (names or plain).split(","):
            words = name.split()
            if words and package is None:
                yield words[0]
            elif words:
                inner = package.lstrip(".")
                yield from filter(None, (inner, f"{inner}.{words[0]}".lstrip(".")))


def _files_of(module: str) -> tuple[str, str, str]:
    path = module.replace(".", "/")
    return f"{path}.py", f"{path}/__init__.py", f"{path}/__main__.py"
