"""Plain data <-> what crosses between the sandboxes. Nothing that arrives is ever more than a builtin made here.

Runs on both sides; the format is drawn in `bench/split/__init__.py`. `encode` refuses what is not data, `decode`
refuses whatever it does not know: too deep, too much, too long, twice the same key, an impossible date.
"""

import base64
import importlib
import itertools
import json
import math
import re
import sys
from typing import Any, Callable, Dict, List, Tuple, TypeVar

MAX_FRAME = 8 << 20
MAX_DEPTH = 60
MAX_ITEMS = 200_000
MAX_HEX_DIGITS = 20_000
MAX_DECIMAL_CHARS = 2_000
MAX_EXPONENT = 5_000
MAX_FIELDS = 250
SAFE_INT = 2**53
FIELD = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}\Z")

Handles = Callable[[Any], Any]
T = TypeVar("T")


class CannotCross(BaseException):
    """Something that is not plain data was to go through.

    No `Exception`, so that a test which expects some error of the candidate's does not take this one for it.
    """

    def __init__(self, what: str) -> None:
        super().__init__("cannot cross the split: " + what)


class Malformed(ValueError):
    """What arrived is not in the format: its sender is broken or lies."""


class Record(tuple):  # type: ignore[type-arg]  # noqa: SLOT001  # 3.6 cannot subscript it
    """A data class or named tuple of the candidate's, as data: fields, nothing that runs.

    One of a named tuple equals a tuple; one of a data class equals only its like. The reader compares, never the
    candidate.
    """

    # Made by `record`: `_of` ("shop.cart", "Line"), `_kind` ("dataclass" or "namedtuple") and `_fields`.
    _of: Tuple[str, str] = ("", "")
    _kind = "namedtuple"
    _fields: Tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Record):
            return self._like(other) and tuple.__eq__(self, other)
        return self._kind == "namedtuple" and tuple.__eq__(self, other) is True

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return tuple.__hash__(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(
            "%s arrived as data and has no %r; if a method was meant, list what made it under the check's "
            "`objects`" % (self._of[1], name)
        )

    def __repr__(self) -> str:
        pairs = ("%s=%r" % pair for pair in zip(self._fields, self))
        return "%s(%s)" % (self._of[1].rpartition(".")[2], ", ".join(pairs))

    def _asdict(self) -> Dict[str, Any]:
        return dict(zip(self._fields, self))

    def _like(self, other: "Record") -> bool:
        if self._kind == other._kind == "namedtuple":
            return True
        return (self._kind, self._of, self._fields) == (other._kind, other._of, other._fields)


def record(kind: str, of: Tuple[str, str], fields: Tuple[str, ...], values: List[Any]) -> Record:
    made = Record(values)
    made.__dict__.update(zip(fields, values), _kind=kind, _of=of, _fields=fields)
    return made


def encode(value: Any, other: Handles) -> Any:
    """`other` gets whatever is not plain data: it returns something encoded, or raises CannotCross."""
    return _Encoder(other).encode(value, 0)


def decode(data: Any, other: Handles) -> Any:
    """`other` gets every tagged value that is not plain data, as it arrived, or raises Malformed."""
    return _Decoder(other).decode(data, 0)


def to_line(frame: Dict[str, Any]) -> bytes:
    """One frame as bytes; CannotCross when it is larger than any frame may be."""
    try:
        line = json.dumps(frame, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        raise CannotCross("a text with an invalid character (a lone surrogate)") from None
    if len(line) >= MAX_FRAME:
        raise CannotCross("%d bytes; at most %d go through at once" % (len(line), MAX_FRAME))
    return line + b"\n"


def from_line(line: bytes) -> Dict[str, Any]:
    try:
        frame = json.loads(line.decode(), object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Malformed("not a frame: %s" % str(error)[:100]) from None
    if not isinstance(frame, dict):
        raise Malformed("not a frame")
    return frame


def _once(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Malformed("a key twice")
    return found


def _no_constant(name: str) -> Any:
    raise Malformed("%s is not JSON" % name)


def _tagged(tag: str, value: Any) -> Dict[str, Any]:
    return {"$": tag, "v": value}


class _Encoder:
    def __init__(self, other: Handles) -> None:
        self._other = other
        self._left = MAX_ITEMS

    def encode(self, value: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise CannotCross("data nested more than %d levels deep, or containing itself" % MAX_DEPTH)
        self._left -= 1
        if self._left < 0:
            raise CannotCross("more than %d values at once" % MAX_ITEMS)
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            return value if -SAFE_INT <= value <= SAFE_INT else _tagged("int", hex(value))
        if kind is float:
            return value if math.isfinite(value) else _tagged("float", repr(value))
        if kind is list:
            return self._all(value, depth)
        return self._tagged(value, kind, depth)

    def _all(self, values: Any, depth: int) -> List[Any]:
        found = [self.encode(value, depth + 1) for value in itertools.islice(values, MAX_ITEMS + 1)]
        if len(found) > MAX_ITEMS:
            raise CannotCross("more than %d values at once" % MAX_ITEMS)
        return found

    def _tagged(self, value: Any, kind: type, depth: int) -> Any:
        if isinstance(value, tuple) and kind is not tuple:
            of, fields = _record_of(value)
            if fields:
                return self._record(getattr(value, "_kind", "namedtuple"), of, fields, value, depth)
        if isinstance(value, dict):
            pairs = itertools.islice(dict.items(value), MAX_ITEMS + 1)
            return _tagged("dict", [[self.encode(one, depth + 1) for one in pair] for pair in pairs])
        for base, name in _SEQUENCES:
            if isinstance(value, base):
                found = self._all(base.__iter__(value), depth)  # of a class derived from it, the data
                return found if name == "list" else _tagged(name, found)
        if kind in _ITERATORS:
            return _tagged("iter", self._all(value, depth))
        scalar = _scalar(value)
        if isinstance(scalar, tuple):
            return self._parts(scalar, depth)
        return self._other(value) if scalar is None else scalar

    def _parts(self, scalar: Tuple[str, Any], depth: int) -> Any:
        tag, parts = scalar
        return _tagged(tag, [self.encode(part, depth + 1) for part in parts])

    def _record(
        self, kind: str, of: Tuple[str, str], fields: Tuple[str, ...], values: Any, depth: int
    ) -> Any:
        found = self._all(tuple.__iter__(values), depth)
        return _tagged("record", {"kind": kind, "class": list(of), "fields": list(fields), "values": found})


_SEQUENCES: List[Tuple[Any, str]] = [
    (list, "list"),
    (tuple, "tuple"),
    (set, "set"),
    (frozenset, "frozenset"),
]
_EMPTY: List[Any] = [[], (), set(), {}, "", b"", range(0)]
_ITERATORS = (
    *(type(iter(value)) for value in _EMPTY),
    *(type({}.keys()), type({}.values()), type({}.items()), type(_ for _ in ())),
    *(map, filter, zip, enumerate, reversed, type(reversed([]))),
)


def _record_of(value: Any) -> Tuple[Tuple[str, str], Tuple[str, ...]]:
    """The class and the fields of a record or a named tuple; no fields: it is neither."""
    if isinstance(value, Record):
        return value._of, value._fields
    fields = getattr(type(value), "_fields", ())
    plain = type(fields) is tuple and all(type(name) is str and FIELD.match(name) for name in fields)
    fits = plain and len(fields) == tuple.__len__(value) <= MAX_FIELDS
    return _name_of(type(value)), fields if fits else ()


def _name_of(kind: type) -> Tuple[str, str]:
    return str(getattr(kind, "__module__", "")), str(getattr(kind, "__qualname__", kind.__name__))


def _scalar(value: Any) -> Any:
    """Encoded, or (tag, parts that are still to be encoded), or None: not data."""
    for module, name, tag, to_text in _SCALARS:
        if isinstance(value, _loaded(module, name)):
            return _tagged(tag, to_text(value))
    for module, name, tag, parts in _PARTED:
        if isinstance(value, _loaded(module, name)):
            return tag, [getattr(value, part) for part in parts]
    if isinstance(value, (int, float, str)):  # of a class derived from them, the data
        return _Encoder(_nothing).encode(_plain(value), 0)
    return None


def _loaded(module: str, name: str) -> Any:
    """The class, or nothing: without its module there are none of it. These modules are slow to load."""
    return getattr(sys.modules.get(module), name, ())


def _base64(value: Any) -> str:
    return base64.b64encode(value).decode()


def _iso(value: Any) -> str:
    return str(value.isoformat())


_SCALARS: List[Tuple[str, str, str, Callable[[Any], str]]] = [
    ("builtins", "bytes", "bytes", _base64),
    ("builtins", "bytearray", "bytearray", _base64),
    ("decimal", "Decimal", "decimal", str),
    ("datetime", "datetime", "datetime", _iso),
    ("datetime", "date", "date", _iso),
    ("datetime", "time", "time", _iso),
    ("uuid", "UUID", "uuid", str),
]
_PARTED: List[Tuple[str, str, str, Tuple[str, ...]]] = [
    ("builtins", "range", "range", ("start", "stop", "step")),
    ("builtins", "complex", "complex", ("real", "imag")),
    ("fractions", "Fraction", "fraction", ("numerator", "denominator")),
    ("datetime", "timedelta", "timedelta", ("days", "seconds", "microseconds")),
]


def _plain(value: Any) -> Any:
    """The same as exactly an int, a float or a str, whatever the methods of its class say."""
    if isinstance(value, int):
        return int.__add__(value, 0)
    return float.__add__(value, 0.0) if isinstance(value, float) else str.__add__(value, "")


def _nothing(value: Any) -> Any:
    return value


class _Decoder:
    def __init__(self, other: Handles) -> None:
        self._other = other
        self._left = MAX_ITEMS

    def decode(self, data: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise Malformed("more than %d levels deep" % MAX_DEPTH)
        self._left -= 1
        if self._left < 0:
            raise Malformed("more than %d values" % MAX_ITEMS)
        if data is None or isinstance(data, bool):
            return data
        if isinstance(data, str):
            return _text(data)
        if isinstance(data, int):
            return _require(data, -SAFE_INT <= data <= SAFE_INT)
        if isinstance(data, float):
            return _require(data, math.isfinite(data))
        if isinstance(data, list):
            return [self.decode(one, depth + 1) for one in data]
        if set(data) != {"$", "v"} or not isinstance(data["$"], str):
            raise Malformed("an object that is no tagged value")
        return self._tagged(data, data["$"], data["v"], depth)

    def _tagged(self, data: Any, tag: str, value: Any, depth: int) -> Any:
        if tag in _COLLECTIONS:
            return self._collection(tag, _list(value), depth)
        if tag == "dict":
            return self._dict(_list(value), depth)
        if tag == "record":
            return self._record(value, depth)
        if tag in _FROM_TEXT:
            _require(value, isinstance(value, str))
            return _make_or_refuse(_FROM_TEXT[tag], value)
        if tag in _FROM_PARTS:
            count, make = _FROM_PARTS[tag]
            parts = [self.decode(one, depth + 1) for one in _list(value)]
            _require(parts, len(parts) == count and all(type(one) in (int, float) for one in parts))
            return _make_or_refuse(make, parts)
        return self._other(data)

    def _collection(self, tag: str, values: List[Any], depth: int) -> Any:
        found = [self.decode(one, depth + 1) for one in values]
        if tag in ("set", "frozenset"):
            _spread(found)
        return _COLLECTIONS[tag](found)

    def _dict(self, pairs: List[Any], depth: int) -> Dict[Any, Any]:
        found = [[self.decode(one, depth + 1) for one in _list(pair)] for pair in pairs]
        _require(found, all(len(pair) == 2 for pair in found))
        _spread([key for key, _ in found])
        return dict(found)

    def _record(self, value: Any, depth: int) -> Record:
        _require(value, isinstance(value, dict) and set(value) == {"kind", "class", "fields", "values"})
        kind, of, fields = value["kind"], _list(value["class"]), _list(value["fields"])
        names = [one for one in (kind, *of, *fields) if isinstance(one, str)]
        _require(
            value, len(names) == 3 + len(fields) and len(of) == 2 and kind in ("dataclass", "namedtuple")
        )
        _require(value, len(set(fields)) == len(fields) <= MAX_FIELDS and all(map(FIELD.match, fields)))
        values = [self.decode(one, depth + 1) for one in _list(value["values"])]
        _require(value, len(values) == len(fields))
        return record(kind, (_text(of[0])[:200], _text(of[1])[:200]), tuple(fields), values)


def _require(value: T, holds: bool) -> T:
    if not holds:
        raise Malformed("a value that cannot be: %s" % str(value)[:60])
    return value


def _make_or_refuse(make: Callable[[Any], Any], value: Any) -> Any:
    try:
        return make(value)
    except (ValueError, TypeError, ArithmeticError, AttributeError):
        raise Malformed("a value that cannot be: %s" % str(value)[:60]) from None


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Malformed("a text with half a character") from None
    return value


def _list(value: Any) -> List[Any]:
    if not isinstance(value, list):
        raise Malformed("no list where there must be one")
    return value


def _spread(keys: List[Any]) -> None:
    """Keys that were made to collide would keep a dict busy for hours."""
    try:
        hashes = {hash(key) for key in keys}
    except TypeError:
        raise Malformed("a key that cannot be one") from None
    if len(keys) > 1000 and len(hashes) < len(keys) // 2:
        raise Malformed("keys that collide")


def _int(value: str) -> int:
    _require(value, bool(re.match(r"-?0x[0-9a-f]{1,%d}\Z" % MAX_HEX_DIGITS, value)))
    return int(value, 16)


def _made_by(module: str, name: str, *method: str) -> Callable[..., Any]:
    def make(*values: Any) -> Any:
        found = getattr(importlib.import_module(module), name)
        for one in method:
            found = getattr(found, one)
        return found(*values)

    return make


def _decimal(value: str) -> Any:
    _require(value[:60], len(value) <= MAX_DECIMAL_CHARS)
    found = _made_by("decimal", "Decimal")(value)
    return _require(found, not found.is_finite() or abs(found.adjusted()) <= MAX_EXPONENT)


def _float(value: str) -> float:
    return float(_require(value, value in ("nan", "inf", "-inf")))


def _range(parts: List[Any]) -> range:
    found = range(*parts)
    return _require(found, _length(found) <= MAX_ITEMS)


def _length(found: range) -> int:
    try:
        return len(found)
    except OverflowError:
        return MAX_ITEMS + 1


_COLLECTIONS: Dict[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
    "iter": iter,
}
# Python 3.6 reads no dates: there they are refused.
_FROM_TEXT: Dict[str, Callable[[str], Any]] = {
    "int": _int,
    "float": _float,
    "decimal": _decimal,
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "bytearray": lambda text: bytearray(base64.b64decode(text, validate=True)),
    "datetime": _made_by("datetime", "datetime", "fromisoformat"),
    "date": _made_by("datetime", "date", "fromisoformat"),
    "time": _made_by("datetime", "time", "fromisoformat"),
    "uuid": _made_by("uuid", "UUID"),
}
_FROM_PARTS: Dict[str, Tuple[int, Callable[[List[Any]], Any]]] = {
    "complex": (2, lambda parts: complex(*parts)),
    "fraction": (2, lambda parts: _made_by("fractions", "Fraction")(*parts)),
    "range": (3, _range),
    "timedelta": (3, lambda parts: _made_by("datetime", "timedelta")(*parts)),
}
