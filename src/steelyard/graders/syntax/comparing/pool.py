"""Claims and tests that are looked up by what they say: thousands of them, and each search is short."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator

from steelyard.graders.syntax.claims import Claim
from steelyard.graders.syntax.reading.outline import Unit

LOOKED_AT = 50  # candidates of one search


class Pool:
    """Claims of which each can be taken once."""

    def __init__(self, claims: Iterable[Claim]) -> None:
        self._claims = sorted(claims, key=lambda claim: claim.guards)  # the least conditional first
        self._taken: set[int] = set()
        self._at: dict[Hashable, list[int]] = defaultdict(list)
        for index in range(len(self._claims) - 1, -1, -1):
            claim = self._claims[index]
            about = ("about", claim.left) if claim.op != "raises" else ("raises",)
            for key in {("key", claim.key), ("raw", claim.raw), about, (*about, claim.op)}:
                self._at[key].append(index)

    def take_equal(self, claim: Claim) -> Claim | None:
        return self._take(("key", claim.key))

    def take_partner(self, claim: Claim) -> Claim | None:
        """The claim that took its place: in the same words, or about the same thing, first of the same kind."""
        about: tuple[Hashable, ...] = ("about", claim.left) if claim.op != "raises" else ("raises",)
        for key in (("raw", claim.raw), (*about, claim.op), about if claim.left else None):
            found = self._take(key) if key is not None else None
            if found is not None:
                return found
        return None

    def _take(self, key: Hashable) -> Claim | None:
        waiting = self._at.get(key, [])
        while waiting:
            index = waiting.pop()
            if index not in self._taken:
                self._taken.add(index)
                return self._claims[index]
        return None


class Sayings:
    """Which tests say a word."""

    def __init__(self, units: Iterable[tuple[Unit, set[str]]]) -> None:
        self._by_word: dict[str, list[Unit]] = defaultdict(list)
        self._said: dict[int, set[str]] = {}
        for unit, words in units:
            self._said[id(unit)] = words
            for word in words:
                self._by_word[word].append(unit)

    def saying(self, words: set[str]) -> Iterator[Unit]:
        """Tests that say all of these words, which must be some."""
        if not words:
            return
        rarest = min((self._by_word.get(word, []) for word in words), key=len)
        for unit in rarest:
            if words <= self._said[id(unit)]:
                yield unit

    def says(self, unit: Unit, words: set[str]) -> bool:
        return words <= self._said.get(id(unit), set())
