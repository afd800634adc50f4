"""An expected exception -> others that tests commonly expect, and that are no relatives of it.

    raises(ValueError)         raises(TypeError)            certain: no exception that is raised by itself is both
    raises(shop.Overdrawn)     raises(KeyError)             likely: it may be derived from it
    raises(Exception)          raises(ValueError)           open

Exceptions that the file expects elsewhere come first. An exception that is of many common classes at once passes the
changed test too, and so gives itself away.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from steelyard.bench.twin.sites import Odds

_COMMON = ("ValueError", "TypeError", "KeyError", "IndexError", "RuntimeError", "AttributeError")
# The bases of classes that others define are mostly these; the names of some tell which.
_OFTEN_DERIVED_FROM = frozenset(["ValueError", "RuntimeError"])
_HINTS = (
    ("key", "KeyError"),
    ("found", "KeyError"),
    ("missing", "KeyError"),
    ("lookup", "KeyError"),
    ("found", "IndexError"),
    ("index", "IndexError"),
    ("type", "TypeError"),
    ("attribute", "AttributeError"),
)
_KNOWN: Mapping[str, tuple[type, ...]] = {
    "JSONDecodeError": (ValueError,),
    "CalledProcessError": (Exception,),
    "TimeoutExpired": (Exception,),
    "InvalidOperation": (ArithmeticError,),
    "UnsupportedOperation": (OSError, ValueError),
    "BadZipFile": (Exception,),
    "FrozenInstanceError": (AttributeError,),
}
_ENOUGH = 2  # an exception that is nowhere else in the file is conspicuous
# Classes that are both exist: a dict with attributes, a file that cannot do what is asked.
_TOGETHER = (frozenset(["KeyError", "AttributeError"]), frozenset(["OSError", "ValueError"]))


class OtherExceptions(NamedTuple):
    odds: Odds
    texts: list[str]


def expected_exceptions(tree: ast.Module, nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    """The builtin ones that the file names, and that its own classes do not hide."""
    own = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    names = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name))
    return tuple(name for name in names if name not in own and _is_usual(getattr(builtins, name, None)))


def own_exceptions(tree: ast.Module) -> dict[str, tuple[type, ...]]:
    """Classes of the file -> the builtin exceptions that they are derived from, where that can be read."""
    found: dict[str, tuple[type, ...]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.bases and not node.keywords:
            bases = [_bases_of(base, found) for base in node.bases]
            if all(bases):
                found[node.name] = tuple(one for some in bases for one in some)
    return found


def other_exceptions(
    old: ast.expr, used: Iterable[str], own: Mapping[str, tuple[type, ...]]
) -> OtherExceptions:
    """`used` are those that the file names elsewhere."""
    parts = old.elts if isinstance(old, ast.Tuple) else [old]
    bases = [_bases_of(part, own) for part in parts]
    related = tuple(one for some in bases for one in some)
    near = [name for name in used if _is_apart(name, related)]
    common = [name for name in _COMMON if name not in near and _is_apart(name, related)]
    pool = near + common[: max(0, _ENOUGH - len(near))]
    odds = Odds.CERTAIN
    if any(isinstance(part, ast.Name) and part.id in {"Exception", "BaseException"} for part in parts):
        odds = Odds.OPEN
    elif not all(bases):
        odds = Odds.LIKELY
        hinted = _hinted(" ".join(ast.unparse(part) for part in parts).lower())
        pool = [name for name in near + common if name not in hinted][:_ENOUGH] or ["TypeError"]
    if not isinstance(old, ast.Tuple):
        return OtherExceptions(odds, pool)
    size = max(len(parts), 1)
    turns = [(pool * 2)[turn : turn + size] for turn in range(len(pool))] if len(pool) >= size else []
    return OtherExceptions(odds, [f"({', '.join(turn)}{',' if size == 1 else ''})" for turn in turns])


def _hinted(name: str) -> set[str]:
    return {*_OFTEN_DERIVED_FROM, *(base for hint, base in _HINTS if hint in name)}


def _bases_of(node: ast.expr, own: Mapping[str, tuple[type, ...]]) -> tuple[type, ...]:
    """Nothing for a class that is defined elsewhere."""
    match node:
        case ast.Name(id=name):
            builtin = getattr(builtins, name, None)
            if name in own:
                return own[name]
            if isinstance(builtin, type) and issubclass(builtin, BaseException):
                return (builtin,)
            return _KNOWN.get(name, ())
        case ast.Attribute(attr=name):
            return _KNOWN.get(name, ())
    return ()


def _is_apart(name: str, related: tuple[type, ...]) -> bool:
    other = getattr(builtins, name)
    names = {base.__name__ for one in related for base in one.__mro__}
    return not any(
        (issubclass(one, other) or issubclass(other, one)) and one not in (Exception, BaseException)
        for one in related
    ) and not any(name in both and both & (names - {name}) for both in _TOGETHER)


def _is_usual(one: object) -> bool:
    return (
        isinstance(one, type)
        and issubclass(one, Exception)
        and one is not Exception
        and not issubclass(one, Warning)
    )
