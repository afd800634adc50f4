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
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import pairwise

from steelyard.bench.transfer.shell_scripts import GOES, commands, in_workspace, next_word

_GOES_FOR_ONE = frozenset({"-C"})  # `env -C tests sh run.sh`
_GLOB = re.compile(r"[*?\[]")
_VARIABLE = re.compile(r"^.*\$\{?\w+\}?/+")
_PYTHON = re.compile(r"(?m)^[ \t]*(?:from\s+([\w.]+)\s+import\s+\(?([\w, ]+)|import\s+([\w., ]+))")
_JAVASCRIPT = re.compile(r"(?:\brequire\(|\bfrom\s|\bimport\s*\(?)\s*['\"](\.{1,2}/[^'\"\n]+)['\"]")
_NODE_ENDINGS = ("", ".js", ".cjs", ".mjs", ".ts", "/index.js")


def named_programs(text: str, folder: str, programs: set[str]) -> set[str]:
    """Of shell words; `folder` is the script's."""
    found: set[str] = set()
    place = ""
    for words in commands(text):
        place = posixpath.join(place, next_word(words, GOES))
        there = next_word(words, _GOES_FOR_ONE)
        places = (place, "", folder, posixpath.join(place, there))
        for before, word in pairwise(("", *words)):
            found.update(_programs_of_word(before, word, places, programs))
    return found


def imported_programs(text: str, path: str, programs: set[str]) -> set[str]:
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
    return {*names} & programs


def imported_modules(text: str) -> set[str]:
    """The modules that a Python program names in its imports, and the packages that they are in; with slashes for dots."""
    names = (name.replace(".", "/") for name in _modules(text) if name)
    return {
        "/".join(parts[: end + 1])
        for name in names
        for parts in [name.split("/")]
        for end in range(len(parts))
    }


def _programs_of_word(before: str, word: str, places: tuple[str, ...], programs: set[str]) -> Iterator[str]:
    if before == "-m":
        yield from {*_files_of(word)} & programs
        return
    tail = _VARIABLE.sub("", word)
    if tail != word or word.startswith("/"):
        tail = in_workspace("", tail).lstrip("/")
        if tail:
            yield from _with_ending(tail, programs)
    elif _GLOB.search(word):
        paths = {in_workspace(place, word) for place in places}
        for one in programs:
            name = one if "/" in word else posixpath.basename(one)
            if any(fnmatchcase(name, path) for path in (paths if "/" in word else [word])):
                yield one
    else:
        yield from {in_workspace(place, word) for place in places} & programs


def _with_ending(tail: str, programs: set[str]) -> Iterator[str]:
    ending = f"/{tail}"
    if _GLOB.search(tail):
        return (one for one in programs if fnmatchcase(f"/{one}", f"*{ending}"))
    return (one for one in programs if one.endswith(ending) or one == tail)


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
