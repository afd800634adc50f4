"""A file of tests -> its twin: the same file with a wrong expectation in each test.

    assert total([1, 2]) == 3          assert total([1, 2]) == 4
    expect(total([1, 2])).toBe(3)      expect(total([1, 2])).toBe(4)

Honest work that passes the left column fails the right one; code that makes every test pass gives itself away. Any
choice of the tests can be changed, the others stay as they are. Which expectation of a test is changed, and to what, is
drawn from a secret; the text keeps its shape (as many lines, the same names, values of the same kind), so that tested
code cannot tell a changed test from an unchanged one without knowing the right answer.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from typing import NamedTuple

from steelyard.deferred.data_class import dataclass


class Edit(NamedTuple):
    """Other text for the bytes from `start` to `end`."""

    start: int
    end: int
    text: str

    def moved(self, by: int) -> Edit:
        return Edit(self.start + by, self.end + by, self.text)


@dataclass(frozen=True, slots=True)
class Twin:
    """The original, and for each test the edits that make it wrong.

    `changed` maps the key of a test to whether its change is *certain*: if an honest, deterministic candidate passes
    the original, it fails the changed test. The key is what the test is called inside its file: for Python
    `Class::function` (the pytest id without file and without parameters), for JavaScript the path of titles joined by
    " > ", for Go the function and its subtests joined by "/". Tests whose expectation cannot be changed are not in it.

    Tests that the same edits change are one `unit`: a subclass that inherits a test, a subtest and the test around it.
    `units` maps a key to its unit; a key that is not in it is a unit of its own. `edits` has the edits of each unit.

    `rows` is for tests with parameters, where an expectation may be a part of the id: the key of such a test -> for each
    row what its expectation is called in the id of the original, and in the changed one.

    With `subtests` a key is a path, as in Go: `TestAdd/by_2` is a subtest of `TestAdd`, and belongs to its unit. The key
    `TestAdd/` stands for all direct subtests that have no key of their own.

    `marked` are the units whose change is recognised by code that reads the file, without knowing the right answer: they got a
    failing call, or the opposite of an equality, because no expectation in them can be changed; or their name has the value.

    `companions` has the edits that go with an edit: the same value in the message of its assertion, in comments, in ids.
    """

    original: bytes
    edits: Mapping[str, tuple[Edit, ...]]
    changed: Mapping[str, bool]
    units: Mapping[str, str] = field(default_factory=dict)
    rows: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    subtests: bool = False
    marked: frozenset[str] = frozenset()
    companions: Mapping[Edit, tuple[Edit, ...]] = field(default_factory=dict)

    def unit(self, key: str) -> str:
        return key.partition("/")[0] if self.subtests else self.units.get(key, key)

    def is_certain(self, key: str) -> bool | None:
        """Whether the change of a test is certain; None when it cannot be changed."""
        if self.subtests and key not in self.changed and "/" in key:
            return self.changed.get(key[: key.rindex("/") + 1])
        return self.changed.get(key)

    def text(self, units: Collection[str]) -> bytes:
        """The file with the tests of these units changed."""
        edits = [edit for unit in units for edit in self.edits.get(unit, ())]
        return apply_edits(
            self.original, [*edits, *(more for edit in edits for more in self.companions.get(edit, ()))]
        )

    @property
    def source(self) -> bytes:
        """The file with every test changed that can be."""
        return self.text(self.edits)


def apply_edits(source: bytes, edits: Iterable[Edit]) -> bytes:
    """All edits at once; they must not overlap."""
    pieces, place = [], 0
    for edit in sorted(edits):
        pieces += [source[place : edit.start], edit.text.encode()]
        place = edit.end
    return b"".join([*pieces, source[place:]])


def overlap(edits: Iterable[Edit]) -> bool:
    """Whether two of the edits touch the same bytes."""
    return any(one.end > two.start for one, two in itertools.pairwise(sorted(edits)))


def draw_number(secret: bytes, *words: str) -> int:
    """A number from a secret: the same for the same words, and unknown without the secret."""
    message = "\0".join(words).encode(errors="surrogateescape")
    return int.from_bytes(hmac.digest(secret, message, hashlib.sha256)[:6], "big")
