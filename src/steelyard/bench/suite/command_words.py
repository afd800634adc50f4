"""What an author typed -> variables, folder and words, as far as no shell is needed to understand it.

cd sub && A=1 python3 -m pytest -q "a b"      {A: 1}, sub, (python3, -m, pytest, -q, a b)
make test | tee log                           nothing: only a shell can make sense of it
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Mapping

from steelyard.deferred.named_tuple import NamedTuple


class CommandWords(NamedTuple):
    env: Mapping[str, str]
    argv: tuple[str, ...]
    cwd: str  # relative to the workspace


NOTHING = CommandWords({}, (), "")


def command_words(command: str) -> CommandWords:
    text = command.strip()
    if set(text) & set("$`\n") or not text:
        return NOTHING
    try:
        lexer = shlex.shlex(text, posix=False, punctuation_chars=True)
        lexer.wordchars += "@%:,+"
        lexer.commenters = ""
        raw, words = list(lexer), shlex.split(text)
    except ValueError:
        return NOTHING
    cwd = ""
    if raw[0] == "cd" and raw[2:3] == ["&&"]:
        cwd, raw, words = posixpath.normpath(words[1]), raw[3:], words[3:]
        if cwd.startswith(("/", "..", "-", "~")):
            return NOTHING
    unquoted = "".join(word for word in raw if word[0] not in "'\"")
    if set(unquoted) & set("();<>|&*?~[]{}#!\\") - (set("[]") if _is_test_id(unquoted) else set()):
        return NOTHING
    env: dict[str, str] = {}
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    return CommandWords(env, tuple(words), "" if cwd == "." else cwd)


def _is_test_id(unquoted: str) -> bool:
    """`tests/x.py::y[1]`: a pattern to a shell, but one that matches no file and so stays as it is."""
    return "::" in unquoted
