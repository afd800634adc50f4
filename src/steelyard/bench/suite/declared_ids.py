"""Ids as contracts declare them, and as runners report them: when do they mean the same test?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from steelyard.bench.suite.reported import MAX_TEXT, Result
from steelyard.deferred.data_class import dataclass

_UNITTEST = re.compile(r"(\S+) \(([\w.]+)\)")
_DOTTED = re.compile(r"\w+(\.\w+)+")
_PATH_LEFT = re.compile(r"([^\[]+\[/)([^/]+\])")


def is_like(text: str, pattern: str) -> bool:
    """`*` stands for anything. Linear: the ids are the candidate's to choose."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    last = rest.pop()
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in rest:
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True


def is_short_for(wanted: str, name: str) -> bool:
    """Whether an id is what the public data of SWE-bench has left of this one.

    `x.py::test_a[one` is cut at a space, and `x.py::test_a[/last]` had a path in it.
    """
    if "[" in wanted and not wanted.endswith("]"):
        return name.startswith(f"{wanted} ")
    path = _PATH_LEFT.fullmatch(wanted)
    return path is not None and name.startswith(path[1]) and name.endswith(f"/{path[2]}")


def dotted_name(wanted: str) -> str:
    """`test_x (pkg.mod.Case)`, `test_x (pkg.mod.Case.test_x)` or `pkg.mod.Case.test_x` as the last of them, or ""."""
    match = _UNITTEST.fullmatch(wanted)
    if match is None:
        return wanted if _DOTTED.fullmatch(wanted) else ""
    method, place = match.groups()
    return place if place.endswith(f".{method}") else f"{place}.{method}"


def names_a_case(wanted: str) -> bool:
    """`test_x (pkg.mod.Case)`: only unittest, and runners made of it, name tests like this."""
    return _UNITTEST.fullmatch(wanted) is not None


def tail(full: str) -> str:
    return full.partition("::")[2]


def path_as_dots(full: str) -> str:
    file, found, rest = full.partition("::")
    return f"{file.removesuffix('.py')}.{rest}".replace("/", ".").replace("::", ".") if found else full


@dataclass(frozen=True, slots=True)
class Names:
    """Results by everything that a contract may call them."""

    results: Sequence[Result]
    whole: Mapping[str, Result]
    tails: dict[str, list[Result]] = field(default_factory=dict)
    titles: dict[str, list[Result]] = field(default_factory=dict)
    methods: dict[str, list[tuple[str, Result]]] = field(default_factory=dict)
    heads: dict[str, list[Result]] = field(default_factory=dict)  # of ids with brackets, what is before them

    @classmethod
    def of(cls, results: Iterable[Result]) -> Names:
        kept = tuple(results)
        names = cls(kept, {one.id: one for one in kept})
        for one in kept:
            names.tails.setdefault(tail(one.id), []).append(one)
            names.heads.setdefault(one.id.partition("[")[0], []).append(one)
            if one.title:
                names.titles.setdefault(one.title, []).append(one)
            dotted = dotted_name(one.id) or path_as_dots(one.id)
            names.methods.setdefault(dotted.rpartition(".")[2], []).append((dotted, one))
        return names

    def named(self, wanted: str) -> list[Result]:
        """The tests of that very name, by the first way of naming them that finds any."""
        return next((found for found in self._exact(wanted) if found), [])

    def short(self, wanted: str) -> list[Result]:
        """The tests that a runner's output, or SWE-bench's reading of it, calls so."""
        return self._cut(wanted) or self.titles.get(wanted, [])

    def like(self, wanted: str) -> list[Result]:
        if "*" not in wanted:
            return []
        return [one for one in self.results if is_like(one.id, wanted) or is_like(tail(one.id), wanted)]

    def exactly(self, wanted: str) -> list[Result]:
        """The tests of that very name, by any way of naming them."""
        return [one for found in self._exact(wanted) for one in found]

    def possibly(self, wanted: str) -> list[Result]:
        """Every test that may be meant."""
        return [*self.exactly(wanted), *self._cut(wanted), *self.titles.get(wanted, [])]

    def _exact(self, wanted: str) -> tuple[list[Result], ...]:
        wanted = wanted[:MAX_TEXT]  # no more is kept of an id that is reported
        whole = [self.whole[wanted]] if wanted in self.whole else []
        return whole, self.tails.get(wanted, []), self._by_method(dotted_name(wanted))

    def _cut(self, wanted: str) -> list[Result]:
        head, found, _ = wanted.partition("[")
        return [one for one in self.heads.get(head, []) if is_short_for(wanted, one.id)] if found else []

    def _by_method(self, wanted: str) -> list[Result]:
        if not wanted:
            return []
        known = self.methods.get(wanted.rpartition(".")[2], [])
        same = [one for dotted, one in known if dotted == wanted]
        return same or [one for dotted, one in known if dotted.endswith(f".{wanted}")]
