r"""A command line -> its simple commands, as words: what a shell would start, without running a shell.

    "cd src && sudo -n env A=1 rm -rf /x | tee log"  ->  ["cd src"], ["rm -rf /x", with prefix "sudo"], ["tee log"]

Quoted text stays one word, so that `echo "sudo make me"` does not start `sudo`. Wrappers that start another program (`env`,
`nohup`, `timeout 5`, `xargs`, `sh -c`) are opened. What the reader cannot split (an open quote) is one command of its words.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from functools import lru_cache

from steelyard.deferred.named_tuple import NamedTuple

MOST_CHARS = 16_384  # of one command line
_DEEPEST = 4  # shells in shells
_SEPARATORS = frozenset({";", "&", "&&", "||", "|", "|&", ";;", "(", ")", "{", "}", "\n"})
_PIPES = frozenset({"|", "|&"})
_KEYWORDS = frozenset({"do", "then", "else", "elif", "if", "while", "until", "!", "done", "fi", "esac"})
# Programs that start the program in their remaining words -> how many words of their own follow the options.
_WRAPPERS = {
    "env": 0,
    "nohup": 0,
    "time": 0,
    "nice": 0,
    "ionice": 0,
    "setsid": 0,
    "stdbuf": 0,
    "command": 0,
    "exec": 0,
    "builtin": 0,
    "xargs": 0,
    "timeout": 1,
    "busybox": 0,
}
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ash", "ksh"})
_WITH_VALUE = frozenset({"-n", "-u", "-k", "-s", "-I", "-L", "-P", "-c", "-o", "-i", "-e"})
INTERPRETERS = {"python": "-c", "python2": "-c", "python3": "-c", "node": "-e", "perl": "-e", "ruby": "-e"}


class Simple(NamedTuple):
    """One program and its words; `piped_from` are the programs before it in its pipe."""

    words: tuple[str, ...]
    piped_from: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2] if self.words else ""

    @property
    def line(self) -> str:
        """The program without its folder, then its words."""
        return " ".join((self.program, *self.words[1:]))


class ParsedShell(NamedTuple):
    commands: tuple[Simple, ...]
    code: tuple[str, ...] = ()  # what interpreters were given on the command line


@lru_cache(maxsize=512)
def parse_shell(text: str) -> ParsedShell:
    """Every command that the text would start, those of shells inside it included."""
    commands: list[Simple] = []
    code: list[str] = []
    _parse(text[:MOST_CHARS], commands, code, 0)
    return ParsedShell(tuple(commands), tuple(code))


@lru_cache(maxsize=512)
def parse_argv(argv: tuple[str, ...]) -> ParsedShell:
    """The same of words that no shell has to split any more."""
    commands: list[Simple] = []
    code: list[str] = []
    _open(argv, (), commands, code, 0)
    return ParsedShell(tuple(commands), tuple(code))


def _parse(text: str, commands: list[Simple], code: list[str], depth: int) -> None:
    if depth > _DEEPEST:
        return
    for inner in _substitutions(text):
        _parse(inner, commands, code, depth + 1)
    words: list[str] = []
    pipe: tuple[str, ...] = ()
    for word in (*_words(text), "\n"):
        if word not in _SEPARATORS:
            words.append(word)
            continue
        before = len(commands)
        _open(words, pipe, commands, code, depth)
        started = commands[-1].line if len(commands) > before else ""
        pipe = (*pipe, started) if word in _PIPES and started else ()
        words = []


def _words(text: str) -> list[str]:
    lexer = shlex.shlex(
        text.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=";&|()\n"
    )
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:  # an open quote: the words are still worth a look
        return text.split()


def _substitutions(text: str) -> Iterator[str]:
    """What stands in `$(...)` and between back quotes, outermost only; the parser looks into it again."""
    at = 0
    while (start := text.find("$(", at)) >= 0:
        level, end = 1, start + 2
        while end < len(text) and level:
            level += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        yield text[start + 2 : end - 1]
        at = end
    parts = text.split("`")
    yield from parts[1:-1:2]


def _open(
    words: Sequence[str], pipe: tuple[str, ...], commands: list[Simple], code: list[str], depth: int
) -> None:
    """Add the command of these words, and what it starts itself."""
    words = _without_prefix(words)
    if not words:
        return
    simple = Simple(tuple(words), pipe)
    commands.append(simple)
    program = simple.program
    inner = _after_options(words[1:], _WRAPPERS[program]) if program in _WRAPPERS else []
    if program in {"sudo", "doas", "su", "runuser", "pkexec"}:
        inner = _after_options(words[1:], 0)
    if inner and depth < _DEEPEST:
        _open(inner, pipe, commands, code, depth + 1)
    if program in _SHELLS and (script := _option_value(words, "-c")):
        _parse(script, commands, code, depth + 1)
    name = program.rstrip("0123456789.")
    if name in INTERPRETERS and (script := _option_value(words, INTERPRETERS[name])):
        code.append(script)


def _without_prefix(words: Sequence[str]) -> list[str]:
    """Without variables and keywords of the shell before the program."""
    at = 0
    while at < len(words) and (words[at] in _KEYWORDS or _is_assignment(words[at])):
        at += 1
    return list(words[at:])


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _after_options(words: Sequence[str], own: int) -> list[str]:
    at = 0
    while at < len(words) and (words[at].startswith("-") or _is_assignment(words[at])):
        at += 2 if words[at] in _WITH_VALUE else 1
    return list(words[at + own :])


def _option_value(words: Sequence[str], option: str) -> str:
    """The word after `-c`, also where it stands among other letters as in `-lc`."""
    letter = option[1:]
    for at, word in enumerate(words[1:-1], start=1):
        if word.startswith("-") and not word.startswith("--") and word.endswith(letter):
            return words[at + 1]
    return ""
