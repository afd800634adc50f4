"""What tests look up on the candidate's side -> its kind, which must be the kind that it has on the trusted tree.

A function can have methods, and so can a class or a module: if `VERSION` is a text on the trusted tree and a class here,
`VERSION.startswith("2.")` asks the candidate. So the trusted run records the kind of every name that the tests look up,
and the candidate's run refuses an answer of another kind.

    kinds     data, function, async function, class, exception, any exception, module, object
    a place   "shop.cart:Cart.total", or the tests' own name for what an object gives: "shop.cart:Cart().total"

`raises(ParseError)` says nothing if `ParseError` is `Exception` itself, so that is a kind of its own.

A class whose records hold the arguments that they are made of does so here too: tests compare with such records, and one
class that is always the same would equal whatever the candidate gives.

A place that the trusted run did not ask for may be anything except a property of a function, a module that no test
imports, or (JavaScript) an object with functions in it that was not listed. Data is accepted wherever the trusted tree
has an object: it is compared in the tests' own process.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

FUNCTIONS = frozenset({"function", "async function"})
NODE = "node"
EVERY_ERROR = frozenset({"Exception", "BaseException", "Error"})
HOLDS = "record that holds its arguments"
CHANGES = "record that does not hold its arguments"


@dataclass
class Kinds:
    """The kinds of one run. Without `trusted` everything is accepted, and only recorded."""

    trusted: Mapping[str, frozenset[str]] | None = None
    found: dict[str, set[str]] = field(default_factory=dict)
    whole: bool = True  # no ask was given up for want of time
    _imported: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def concerns(self, language: str, ask: Mapping[str, Any]) -> bool:
        """Whether the answer to this ask is of a kind that matters."""
        if ask.get("op") == "call" and language != NODE:
            return "class" in self.found.get(_place(ask), ())
        return ask.get("op") in {"import", "look", "call"}

    def refusal(self, language: str, ask: Mapping[str, Any], ok: Any) -> str:
        """Why this answer is not accepted, or ""."""
        op = ask.get("op")
        if op == "import":
            with self._lock:
                self._imported.add(str(ask.get("module")))
        if op == "look":
            return self._looked(_place(ask, ask.get("name")), _kind(language, ask, ok), ask, ok)
        if op == "call" and language == NODE and _gives_function(ok):
            return self._looked(f"{_place(ask)}()", "function", ask, ok)
        if op == "call" and language != NODE and isinstance(ok, dict) and ok.get("$") == "record":
            return self._looked(f"{_place(ask)}()", HOLDS if _holds(ask, ok) else CHANGES, ask, ok)
        return ""

    def recorded(self) -> dict[str, list[str]]:
        with self._lock:
            return {place: sorted(kinds) for place, kinds in sorted(self.found.items())}

    def _looked(self, place: str, kind: str, ask: Mapping[str, Any], ok: Any) -> str:
        with self._lock:
            self.found.setdefault(place, set()).add(kind)
        if self.trusted is None:
            return ""
        if ask.get("op") == "call" and ask.get("as") == "object":
            return ""
        expected = self.trusted.get(place)
        if expected is None:
            return self._unknown(place, kind, ask, ok)
        if kind in expected or (kind == "data" and "object" in expected) or kind == HOLDS:
            return ""
        return f"{place} is {_article(kind)} here and {_article(min(expected))} on the trusted tree"

    def _unknown(self, place: str, kind: str, ask: Mapping[str, Any], ok: Any) -> str:
        of = ask.get("of")
        path = of.get("path") if isinstance(of, dict) else None
        if ask.get("op") == "look" and path and self.found.get(_place(ask), set()) & FUNCTIONS:
            return f"{place} is a property of a function; on the trusted tree the tests did not read it"
        listed = ask.get("as") == "object"
        if kind == "module" and ask.get("name") and not listed and ok.get("name") not in self._imported:
            return f"{place} is a module or an object with functions, which the trusted tree does not have; list it under `objects`"
        return ""


def _place(ask: Mapping[str, Any], *more: Any) -> str:
    of = ask.get("of")
    if not isinstance(of, dict) or "module" not in of:
        return str(ask.get("label"))
    path = [str(one) for one in (*of.get("path", ()), *more) if one]
    return f"{of['module']}:{'.'.join(path)}"


def _kind(language: str, ask: Mapping[str, Any], ok: Any) -> str:
    """As the worker says; what is no kind at all the tests' own side refuses."""
    kind = str(ok.get("kind"))[:40] if isinstance(ok, dict) else ""
    if kind == "exception" and _names_every_error(ok.get("mro")):
        return "any exception"
    if language == NODE:
        # `function Cart() {}` and `class Cart {}` are made and called alike; a module may be a function with names.
        kind = "function" if kind == "class" else kind
        return "module" if kind == "function" and not ask.get("name") else kind
    return "async function" if kind == "function" and ok.get("async") is True else kind


def _names_every_error(mro: Any) -> bool:
    first = mro[0] if isinstance(mro, list) and mro else None
    return isinstance(first, list) and first[-1:] != [] and str(first[-1]) in EVERY_ERROR


def _gives_function(ok: Any) -> bool:
    """Whether a call's own result, or what its promise gives, is a function."""
    if isinstance(ok, dict) and ok.get("$") == "promise":
        ok = ok.get("v")
    return isinstance(ok, dict) and ok.get("$") == "handle"


def _holds(ask: Mapping[str, Any], ok: Mapping[str, Any]) -> bool:
    """Whether every argument is among the fields of the record that it made."""
    value = ok.get("v")
    values = value.get("values") if isinstance(value, dict) else None
    held = {_plain(one) for one in values} if isinstance(values, list) else set()
    given = [*ask.get("args", ()), *(pair[1] for pair in ask.get("kwargs", ()))]
    return held.issuperset(_plain(one) for one in given)


def _plain(value: Any) -> str:
    """Alike for values that a constructor may turn into each other: numbers of all types, sequences of all types."""
    return "".join(_parts(value))


def _parts(value: Any) -> Iterator[str]:
    tag = ""
    if isinstance(value, dict):
        tag, value = str(value.get("$")), value.get("v")
    if isinstance(value, list):
        inner = [_plain(one) for one in value]
        inner = sorted(inner) if tag in {"set", "frozenset"} else inner
        yield f"[{','.join(inner)}]"
    elif isinstance(value, dict):
        yield f"{{{','.join(f'{name}:{_plain(one)}' for name, one in sorted(value.items()))}}}"
    elif isinstance(value, bool | int | float) or tag in {"int", "decimal", "float"}:
        yield _number(value)
    else:
        yield f"{tag}{value!r}"


def _number(value: Any) -> str:
    try:
        if isinstance(value, str) and "0x" in value:
            return str(Decimal(int(value, 16)).normalize())
        return str(Decimal(str(int(value) if isinstance(value, bool) else value)).normalize())
    except (ArithmeticError, ValueError):
        return repr(value)


def _article(kind: str) -> str:
    if kind in {"data", "any exception"}:
        return "plain data" if kind == "data" else kind
    return f"an {kind}" if kind[:1] in "aeiou" else f"a {kind}"
