"""A file of tests -> its twin: the same file with wrong expectations.

    assert total([1, 2]) == 3          assert total([1, 2]) == 4
    expect(total([1, 2])).toBe(3)      expect(total([1, 2])).toBe(4)

Honest work that passes the left column fails the right one; code that makes every test pass gives itself away. The
twin has the shape of the original (as many lines, the same names, values of the same kind), so that tested code
cannot tell which of the two it is run with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Twin:
    """The changed text, and which tests it changes.

    `changed` maps the key of a test to whether the change is *certain*: if an honest, deterministic candidate passes
    the original, it fails this one. The key is what the test is called inside its file: for Python `Class::function`
    (the pytest id without file and without parameters), for JavaScript the path of titles joined by " > ". Tests
    whose expectation was not changed are not in it.

    `rows` is for tests with parameters, where an expectation may be a part of the id: the key of such a test -> for each
    row what its expectation is called in the id of the original, and in the twin's.
    """

    source: bytes
    changed: Mapping[str, bool]
    rows: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
