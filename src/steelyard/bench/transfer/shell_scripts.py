"""The command of a check and its files -> the scripts that it starts, and those that nothing may change while it runs.

A shell reads a script piece by piece. A program that the script starts could add lines to what the shell has not read yet,
for instance `exit 0`. So these scripts are read-only files on the bench:

    a hidden file that is a shell script        tests/run.sh, or any name with `#!/bin/sh` in its first line
    a script of the snapshot that the command names

A script that the command itself changes (`chmod +x tests/run.sh && tests/run.sh`) stays writable.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import pairwise, zip_longest
from pathlib import Path

from steelyard.deferred.pattern import deferred_pattern
from steelyard.filesystem.tree import Entry
from steelyard.sandboxes.base import WORKSPACE, FileOverlay

_ENDINGS = (".sh", ".bash", ".dash", ".ksh", ".zsh")
_SOURCES = frozenset({".", "source"})
GOES = frozenset({"cd", "pushd"})
_SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh", "ash", ".", "source"})
# What stands before the program that a command starts.
_STARTERS = _SHELLS.union(
    ("python", "python3", "node", "perl", "ruby", "php", "exec", "env", "time", "timeout", "command"),
    ("if", "then", "elif", "else", "while", "until", "do", "!", "{"),
)
_FIRST_LINE = deferred_pattern(rb"#!\s*\S*?(?:/env\s+(?:-\S+\s+)*)?(?:\S*/)?(?:ba|da|k|z|a)?sh\b")
_CHANGES = frozenset(
    [
        "chmod",
        "chown",
        "cp",
        "dos2unix",
        "git",
        "install",
        "ln",
        "mv",
        "patch",
        "rm",
        "sed",
        "tee",
        "touch",
        "truncate",
    ]
)
_SEPARATORS = re.compile(r"[;&|\n()]+")
# `sh<run.sh`, `sh run.sh>log`: a redirection ends a word. What is read is as good as an argument.
_QUOTES = str.maketrans({**dict.fromkeys("'\"`<", " "), ">": " >"})


def read_only_scripts(
    command: str, hidden: Iterable[FileOverlay], baseline: Mapping[str, Entry], tree: Path
) -> tuple[str, ...]:
    """`tree` is the snapshot that `baseline` lists."""
    parts = commands(command)
    run_by_shell, named = _named_paths(parts)
    found = {
        one.path
        for one in hidden
        if one.kind == "file" and one.source is not None
        if one.path in run_by_shell or is_shell_script(one.path, one.source)
    }
    found |= {
        path
        for path in named
        if path in baseline and baseline[path].kind == "file"
        if path in run_by_shell or is_shell_script(path, tree / path)
    }
    return tuple(sorted(path for path in found if not _is_changed(path, parts)))


def started_scripts(text: str, baseline: Mapping[str, Entry], folder: str | None = None) -> set[str]:
    """Files of the snapshot that a command, or the text of a script in `folder`, runs or gives to an interpreter."""
    found: set[str] = set()
    place = ""
    for words in commands(text):
        place = posixpath.join(place, next_word(words, GOES))
        started = next((word for word in words if not _is_passed_over(word)), "")
        found |= {in_workspace(place, started), in_workspace("", started)}
        if folder is not None:  # `. "$(dirname "$0")/lib.sh"` is beside the script
            found |= {in_workspace(folder, started), in_workspace(folder, posixpath.basename(started))}
    return {path for path in found if path in baseline and baseline[path].kind == "file"}


def sourced_scripts(text: str, folder: str) -> set[str]:
    """Paths that a script in `folder` reads in with `.` or `source`, whether they are there or not."""
    found = {
        word
        for words in commands(text)
        for before, word in pairwise(words)
        if before in _SOURCES and not word.startswith("-")
    }
    # `. "$(dirname "$0")/lib.sh"` is cut at its parentheses, and `$HERE` is the folder itself
    found |= {word for words in commands(text) for word in words[:1] if word.endswith(_ENDINGS)}
    names = (posixpath.basename(word) if "$" in word or word.startswith("/") else word for word in found)
    return {in_workspace(place, name) for name in names for place in (folder, "")}


def next_word(words: list[str], names: frozenset[str]) -> str:
    """What follows one of these names: of `bash -c cd tests`, `tests`."""
    return next((word for before, word in pairwise(words) if before in names), "")


def _is_passed_over(word: str) -> bool:
    return (
        word.startswith("-")
        or "=" in word
        or posixpath.basename(word) in _STARTERS
        or word.rstrip("smh").isdigit()  # of `timeout 60s`
    )


def commands(text: str) -> list[list[str]]:
    return [words for part in _SEPARATORS.split(text.translate(_QUOTES)) if (words := part.split())]


def in_workspace(folder: str, word: str) -> str:
    return posixpath.normpath(posixpath.join(folder, word)).removeprefix(f"{WORKSPACE}/")


def _named_paths(parts: Iterable[list[str]]) -> tuple[set[str], set[str]]:
    """Paths that a shell is started with, and all words that may be a path; below the workspace."""
    run_by_shell, named, folder = set(), set(), ""
    for words in parts:
        if words[:1] == ["cd"] and len(words) > 1:
            folder = posixpath.join(folder, words[1])
        follows_shell = False
        for word in words:
            path = in_workspace(folder, word)
            named.add(path)
            if follows_shell and not word.startswith("-"):
                run_by_shell.add(path)
            follows_shell = posixpath.basename(word) in _SHELLS or (follows_shell and word.startswith("-"))
    return run_by_shell, named


def is_shell_script(path: str, source: Path) -> bool:
    if path.endswith(_ENDINGS):
        return True
    try:
        with source.open("rb") as file:
            return _FIRST_LINE.match(file.readline(256)) is not None
    except OSError:
        return False


def _is_changed(path: str, parts: Iterable[list[str]]) -> bool:
    return any(_names(word, path) for word in _changed_words(parts))


def _changed_words(parts: Iterable[list[str]]) -> Iterator[str]:
    for words in parts:
        verbs = [number for number, word in enumerate(words) if posixpath.basename(word) in _CHANGES]
        yield from words[verbs[0] + 1 :] if verbs else []
        yield from (
            word.lstrip(">") or following
            for word, following in zip_longest(words, words[1:], fillvalue="")
            if word.startswith(">")
        )


def _names(word: str, path: str) -> bool:
    """Whether a word of a command that changes files can mean this path, or a folder above it."""
    word = posixpath.normpath(word).removeprefix(f"{WORKSPACE}/")
    above = [path, *(str(folder) for folder in Path(path).parents)]
    return any(fnmatchcase(one, word) for one in above) or fnmatchcase(posixpath.basename(path), word)
