"""A command as its author typed it -> its last step, and the words of that.

    cmake --build build && FOO=1 npx jest test/*.js
    |------ before -----|       |--| |--| raw words, as the shell will read them

Words are kept raw: quotes, globs and variables stay for the shell. A last step that is more than one plain command
has no words here, and no runner claims it.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.pattern import deferred_pattern

_OPERATORS = frozenset(";|&<>()`")
_ASSIGNMENT = deferred_pattern(r"[A-Za-z_]\w*=")
_WORD = deferred_pattern(r"&&|(?:'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.|&(?!&)|[^\s'\"\\&])+|\n|['\"\\]")


@dataclass(frozen=True, slots=True)
class Step:
    """The last command of a command line; `before` is all that comes first, with its `&&`."""

    before: str
    words: tuple[str, ...]  # raw
    assigned: int = 0  # how many of them are variables written before the program

    @property
    def text(self) -> str:
        return self.before + " ".join(self.words)

    def plain(self, place: int) -> str:
        """The word at a place as the program will see it; "" beyond the end, or if only the shell can tell."""
        words = self.words[self.assigned :]
        return unquote_word(words[place]) if 0 <= place < len(words) else ""

    def plain_words(self) -> list[str]:
        return [unquote_word(word) for word in self.words[self.assigned :]]

    def with_words(self, place: int, *added: str) -> Step:
        """With further words, quoted, after the word at `place`."""
        at = self.assigned + place + 1
        words = (*self.words[:at], *map(shlex.quote, added), *self.words[at:])
        return replace(self, words=words)

    def without(self, *options: str) -> Step:
        """Without these options, given as `--option value` or `--option=value`."""
        words: list[str] = []
        skip = False
        for word in self.words:
            if skip:
                skip = False
            elif word in options:
                skip = True
            elif not word.startswith(tuple(f"{one}=" for one in options)):
                words.append(word)
        return replace(self, words=tuple(words))

    def without_flags(self, *flags: str) -> Step:
        """Without these options, given as `--flag`, `--flag=value` or `--flag 3`."""
        words: list[str] = []
        skip = False
        for word in self.words:
            if skip and word.isdigit():
                skip = False
                continue
            skip = word in flags
            if not skip and not word.startswith(tuple(f"{one}=" for one in flags)):
                words.append(word)
        return replace(self, words=tuple(words))


def unquote_word(word: str) -> str:
    try:
        parts = shlex.split(word)
    except ValueError:
        return ""
    return parts[0] if len(parts) == 1 and "$" not in word else ""


def last_step(command: str) -> Step | None:
    """The last of the steps that `&&` joins, if it is one plain command."""
    tokens = _tokens(command)
    joints = [place for place, (_, text) in enumerate(tokens) if text == "&&"]
    first = joints[-1] + 1 if joints else 0
    words = tuple(text for _, text in tokens[first:])
    if not words or any(_special(word) for word in words):
        return None
    assigned = next((n for n, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))
    return Step(command[: tokens[first][0]], words, assigned)


def last_words(command: str) -> tuple[str, ...]:
    """The plain words of the last step, where that is a plain command."""
    step = last_step(command)
    return tuple(step.plain_words()) if step is not None else ()


def _special(word: str) -> bool:
    if word in {"\n", "'", '"', "\\"}:  # another command, or an unclosed quote
        return True
    bare = re.sub(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\.", "", word)
    return bool(_OPERATORS & set(bare)) or "`" in word or "$(" in word or word.startswith(("#", "{", "!"))


def _tokens(command: str) -> list[tuple[int, str]]:
    """(place, raw word) of each word; `&&` is a word of its own, other operators stay in theirs."""
    return [(found.start(), found.group()) for found in _WORD.finditer(command)]
