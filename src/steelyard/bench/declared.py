"""Ids as contracts declare them, and as runners report them: when do they mean the same test?"""

from __future__ import annotations

import re
from collections.abc import Iterable

_UNITTEST = re.compile(r"(\S+) \(([\w.]+)\)")
_DOTTED = re.compile(r"\w+(\.\w+)+")
_PATH_LEFT = re.compile(r"([^\[]+\[/)([^/]+\])")


def is_declared(name: str, declared: Iterable[str]) -> bool:
    """Whether one of the declared ids or patterns may mean the test that is reported by this name."""
    rest, dotted = tail(name), dotted_name(name) or path_as_dots(name)
    return any(
        is_like(name, wanted)
        or is_short_for(wanted, name)
        or (rest and is_like(rest, wanted))
        or f".{dotted}".endswith(f".{dotted_name(wanted) or wanted}")
        for wanted in declared
    )


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
    """`test_x (pkg.mod.Case)`: nobody but unittest, and what is made of it, calls a test so."""
    return _UNITTEST.fullmatch(wanted) is not None


def tail(full: str) -> str:
    return full.partition("::")[2]


def path_as_dots(full: str) -> str:
    file, found, rest = full.partition("::")
    return f"{file.removesuffix('.py')}.{rest}".replace("/", ".").replace("::", ".") if found else full
