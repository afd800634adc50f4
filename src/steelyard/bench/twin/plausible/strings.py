"""A text in a test -> others that could stand there as well: same look, and never equal, in whatever case.

    hello-world  ->  world-hello, hello_world, hello-worlds      other order, another separator, plural
    2024-01-31   ->  2024-01-30                                  still a date
    abc          ->  abd, ab, acb                                letters in a row
    total        ->  totals, price                               a word that the file uses elsewhere

The texts contain neither quotes nor backslashes nor braces, so they can stand in any string.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field

from steelyard.bench.twin.plausible.numbers import other_integers
from steelyard.deferred.data_class import dataclass

_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"\d+")
_DATE = re.compile(r"\b(\d{4}[-/]\d{2}[-/])(\d{2})\b")
_JOINED = re.compile(r"\d[-/:.]\d")
_RANDOM = re.compile(r"(?=[^\W_]*\d)(?=[^\W_]*[a-zA-Z])(?:[0-9a-f]{8,}|[0-9A-F]{8,}|[0-9a-zA-Z]{16,})")
_SWAPPED_OVER = re.compile(r"[\s,;_/|+&-]+")
_SEPARATORS = {"-": "_", "_": "-", ",": ";", ";": ",", ":": "=", "=": ":", "|": ",", "/": "-", "+": "-"}
_ENDS = ".!?"
_EXTENSION = re.compile(
    r"(?<=\.)(txt|md|csv|json|ya?ml|toml|xml|html?|py|js|ts|css|log|pdf|png|jpe?g|gif|svg|zip|gz|tar)$"
)
_EXTENSIONS = ("txt", "md", "csv", "json", "yaml", "xml", "html", "log", "pdf", "png", "zip")
_MARKS = "-_.,:;+*/=#@&|~^<>()[]!?"
_VOWELS = frozenset("aeiouyAEIOUY")
_FILLERS = frozenset(
    [
        "the",
        "and",
        "for",
        "not",
        "but",
        "with",
        "from",
        "that",
        "this",
        "are",
        "was",
        "has",
        "have",
        "its",
        "all",
        "any",
        "one",
        "two",
        "can",
    ]
)
_MAX_WORD = 14
_SHORT = 3


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a file's strings, by how they are written: lower case, Capitalised or UPPER CASE."""

    by_case: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, texts: Iterable[str]) -> Words:
        found: dict[str, dict[str, None]] = {}
        for text in texts:
            for word in _WORD.findall(text[:400]):
                if _SHORT <= len(word) <= _MAX_WORD and _is_telling(word):
                    found.setdefault(_case(word), {})[word] = None
        return cls({case: tuple(words) for case, words in found.items()})

    def like(self, word: str, without: str, count: int = 2) -> list[str]:
        """Words that are written alike, and that do not occur in a text."""
        known, text = self.by_case.get(_case(word), ()), without.casefold()
        start = zlib.crc32(without.encode(errors="replace")) % len(known) if known else 0
        found: list[str] = []
        for other in (*known[start:], *known[:start]):
            if other.casefold() not in text:
                found.append(other)
            if len(found) == count:
                break
        return found


def differ(one: str, two: str) -> bool:
    """Also for who compares without regard to case and blanks."""
    return _bare(one) != _bare(two)


def other_strings(text: str, words: Words) -> list[str]:
    """The most natural kinds first, two of each."""
    found = [one for kind in _kinds(text, words) for one in kind[:2]]
    found = [one for one in dict.fromkeys(found) if differ(one, text)]
    return found or [one for one in _last_resort(text) if differ(one, text)]


def other_beginnings(text: str, words: Words) -> list[str]:
    """No text that begins with the old one begins with one of these."""
    return _apart(text, words, str.startswith)


def other_ends(text: str, words: Words) -> list[str]:
    """No text that ends with the old one ends with one of these."""
    return _apart(text, words, str.endswith)


def other_needles(text: str, words: Words, beside: str = "") -> list[str]:
    """What is asked for in a longer text: other words of the file that do not occur `beside` it, or the same reordered.

    A text that contains a phrase contains the reordered one only by a rare accident. That it does not contain another
    single word is only likely.
    """
    spelled = list(_WORD.finditer(text))
    if not spelled or max(len(one[0]) for one in spelled) < _SHORT:
        return []
    found = list(_substituted(text, spelled, words, beside))
    found += _reordered(text, spelled) if len(spelled) > 1 else _counted(text, spelled)
    old = text.casefold()
    return [
        one for one in found if len(one) >= len(text) // 2 and differ(one, text) and one.casefold() not in old
    ]


def is_phrase(text: str) -> bool:
    return len(_WORD.findall(text)) > 1


def _apart(text: str, words: Words, holds: Callable[[str, str], bool]) -> list[str]:
    def fits(new: str) -> bool:
        one, two = text.casefold(), new.casefold()
        return not holds(one, two) and not holds(two, one) and new.strip() == new

    return [one for one in other_strings(text, words) if fits(one)] or [
        one for one in _respelled(text) if fits(one)
    ]


def _kinds(text: str, words: Words) -> Iterator[list[str]]:
    if not text:
        yield words.like("word", "")
        yield ["a", "b"]
        return
    date = _DATE.search(text)
    if date is not None:
        day = int(date[2])
        yield [
            _put(text, date, f"{date[1]}{other:02}")
            for other in (day - 1, day + 1, day - 7, day + 7)
            if 1 <= other <= max(day, 28)
        ]
        return
    extension = _EXTENSION.search(text)
    if extension is not None:
        start = len(text) % len(_EXTENSIONS)
        others = (*_EXTENSIONS[start:], *_EXTENSIONS[:start])
        yield [text[: extension.start()] + one for one in others if one != extension[0]]
    yield _at_random(text)
    yield list(_renumber(text))
    spelled = [one for one in _WORD.finditer(text) if not _in_random(text, one)]
    spelled = [one for one in spelled if extension is None or one.end() < len(text)]
    if spelled and all(len(one[0]) <= _SHORT or not _VOWELS & set(one[0]) for one in spelled):
        yield [_put(text, one, other) for one in spelled[:2] for other in _letters(one[0])]
    yield list(_reordered(text, spelled))
    yield list(_separated(text))
    yield list(_substituted(text, spelled, words))
    yield list(_counted(text, spelled))
    yield [""] if len(spelled) == 1 and text == spelled[0][0] else []
    if text[-1] in _ENDS and len(text) > 1:
        yield [text[:-1] + end for end in _ENDS if end != text[-1]]


def _renumber(text: str) -> Iterator[str]:
    joined = bool(_JOINED.search(text))
    for number in list(_NUMBER.finditer(text))[:4]:
        if len(number[0]) > 12 or not number[0].isascii():
            continue
        value = int(number[0])
        for other in other_integers(value):
            spelled = f"{other:0{len(number[0])}}"
            if len(spelled) == len(number[0]) and (not joined or other <= max(value, 9)):
                yield _put(text, number, spelled)
                break


def _at_random(text: str) -> list[str]:
    """Of digests and tokens: one character, anywhere."""
    found = []
    for token in list(_RANDOM.finditer(text))[:2]:
        for place in (len(token[0]) // 3, len(token[0]) - 2):
            old = token[0][place]
            letters = "0123456789" if old.isdigit() else "abcdef" if old.islower() else "ABCDEF"
            new = letters[(letters.find(old) + 1 + place) % len(letters)]
            if new != old:
                found.append(_put(text, token, token[0][:place] + new + token[0][place + 1 :]))
    return found


def _in_random(text: str, word: re.Match[str]) -> bool:
    return any(one.start() <= word.start() < one.end() for one in _RANDOM.finditer(text))


def _letters(word: str) -> Iterator[str]:
    """Of short words, which need not be words at all."""
    if len(word) > 1 and len(set(word)) == 1:
        yield from (word + word[0], word[1:])
        return
    near = [chr(ord(word[-1]) + step) for step in (1, -1, 2)]
    like = [
        one
        for one in near
        if one.isalpha() and one.isascii() == word[-1].isascii() and one.islower() == word[-1].islower()
    ]
    yield from (word[:-1] + one for one in like[:1])
    if len(word) > 1:
        yield word[:-1]
    yield from (word[:-1] + one for one in like[1:])


def _reordered(text: str, spelled: list[re.Match[str]]) -> Iterator[str]:
    for one, two in itertools.pairwise(spelled):
        between = text[one.end() : two.start()]
        if _SWAPPED_OVER.fullmatch(between) and one[0].casefold() != two[0].casefold():
            swapped = _cased(two[0], one[0]) + between + _cased(one[0], two[0])
            yield text[: one.start()] + swapped + text[two.end() :]
    if len(spelled) > 3:
        gone = spelled[len(spelled) // 2]
        rest = text[gone.end() :]
        if text[: gone.start()].endswith(" ") and rest.startswith(" "):
            yield text[: gone.start()] + rest[1:]


def _separated(text: str) -> Iterator[str]:
    for old, new in _SEPARATORS.items():
        if old in text[1:-1] and re.search(rf"\w{re.escape(old)} ?\w", text):
            yield re.sub(rf"(?<=\w){re.escape(old)}(?= ?\w)", new, text)


def _substituted(text: str, spelled: list[re.Match[str]], words: Words, beside: str = "") -> Iterator[str]:
    for one in [one for one in spelled if len(one[0]) >= _SHORT and text[: one.start()][-1:] != "."][-2:]:
        for other in words.like(one[0], f"{text} {beside}", 1 if len(spelled) > 1 else 3):
            yield _put(text, one, other)


def _counted(text: str, spelled: list[re.Match[str]]) -> Iterator[str]:
    """Plural and singular."""
    for one in [one for one in spelled if len(one[0]) > _SHORT and text[: one.start()][-1:] != "."][-2:]:
        word = one[0]
        yield _put(
            text,
            one,
            word[:-1]
            if word[-1] in "sS" and word[-2] not in "sSuU"
            else word + ("S" if word.isupper() else "s"),
        )


def _respelled(text: str) -> Iterator[str]:
    """One letter or digit changed."""
    for place in (len(text) - 1, len(text) // 2):
        old = text[place : place + 1]
        for step in (1, -1, 3):
            near = chr(ord(old) + step) if old.isalnum() and old.isascii() else ""
            if near.isalnum() and near.isascii() and near.isdigit() == old.isdigit():
                yield text[:place] + near + text[place + 1 :]


def _last_resort(text: str) -> Iterator[str]:
    for place, old in enumerate(text[:8]):
        if old in _MARKS:
            at = _MARKS.find(old)
            yield from (
                text[:place] + _MARKS[(at + step) % len(_MARKS)] + text[place + 1 :] for step in (1, 2)
            )
    for place, old in enumerate(text[:8]):
        if old.isalpha() and not old.isascii():
            yield from (text[:place] + new + text[place + 1 :] for new in ("e", "a", "o"))
    yield from (f"{text}-", f"{text}.", f"{text}1")


def _put(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start()] + new + text[match.end() :]


def _is_telling(word: str) -> bool:
    return word.isascii() and word.lower() not in _FILLERS and len(set(word.lower())) >= _SHORT


def _case(word: str) -> str:
    return "upper" if word.isupper() and len(word) > 1 else "title" if word[:1].isupper() else "lower"


def _cased(word: str, like: str) -> str:
    """In the case of another word, if both have one that is simple."""
    if not (word.istitle() or word.islower()) or not (like.istitle() or like.islower()):
        return word
    return word.capitalize() if like.istitle() else word.lower()


def _bare(text: str) -> str:
    return "".join(text.casefold().split())
