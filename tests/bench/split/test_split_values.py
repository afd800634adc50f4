"""What crosses between the sandboxes: every value comes back as it went, and nothing that arrives is more than data."""

from __future__ import annotations

import datetime as dt
import decimal
import importlib.util
import json
import math
import uuid
from fractions import Fraction
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard.bench

# Loaded as text, as it is where it runs: it is no module of the package.
_PATH = Path(steelyard.bench.__path__[0]) / "inside" / "candidate" / "values.py"
_SPEC = importlib.util.spec_from_file_location("candidate_values", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
values: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(values)

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(min_value=-(2**300), max_value=2**300),
    st.floats(allow_nan=False),
    st.complex_numbers(allow_nan=False),
    TEXT,
    st.binary(),
    st.decimals(allow_nan=False, min_value=-(10**40), max_value=10**40),
    st.fractions(),
    st.datetimes(timezones=st.just(dt.UTC) | st.none()),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.uuids(),
    st.builds(range, st.integers(0, 99), st.integers(0, 99), st.integers(1, 9)),
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.lists(inner, max_size=5).map(tuple),
        st.dictionaries(SCALARS, inner, max_size=5),
        st.sets(SCALARS, max_size=5),
        st.frozensets(SCALARS, max_size=5),
    ),
    max_leaves=20,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["$", "v", "n"]) | TEXT, inner, max_size=3)
        | st.builds(
            lambda tag, value: {"$": tag, "v": value},
            st.sampled_from(
                [
                    "dict",
                    "tuple",
                    "set",
                    "frozenset",
                    "iter",
                    "bytes",
                    "bytearray",
                    "int",
                    "float",
                    "complex",
                    "range",
                    "decimal",
                    "fraction",
                    "datetime",
                    "date",
                    "time",
                    "timedelta",
                    "uuid",
                    "record",
                    "handle",
                    "ref",
                    "undefined",
                    "object",
                ]
            ),
            inner,
        )
    ),
    max_leaves=12,
)
BUILTINS: tuple[type, ...] = (
    *(type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range),
    *(decimal.Decimal, Fraction, dt.datetime, dt.date, dt.time, dt.timedelta, uuid.UUID, type(iter([]))),
)


def refused(value: Any) -> Any:
    raise values.CannotCross(f"{value!r}")


def lie(tagged: Any) -> Any:
    raise values.Malformed(f"{tagged!r}")


def crossed(value: Any) -> Any:
    """There and back, through the parser of the relay too."""
    line = values.to_line({"id": 1, "ok": values.encode(value, refused)})
    return values.decode(values.from_line(orjson.dumps(orjson.loads(line)))["ok"], lie)


@given(DATA)
def test_data_comes_back_as_it_went(value: Any) -> None:
    got = crossed(value)
    assert got == value
    assert type(got) is type(value)


@given(JSON)
def test_whatever_arrives_is_plain_data_or_refused(data: Any) -> None:
    try:
        got = values.decode(data, lie)
    except values.Malformed:
        return
    assert type(got) in BUILTINS


@given(st.binary(max_size=200) | JSON.map(lambda data: json.dumps(data).encode()))
def test_a_line_is_a_frame_or_refused(line: bytes) -> None:
    try:
        assert isinstance(values.from_line(line), dict)
    except values.Malformed:
        return


@pytest.mark.parametrize("number", [math.inf, -math.inf])
def test_infinite_numbers_cross(number: float) -> None:
    assert crossed(number) == number


def test_not_a_number_crosses() -> None:
    assert math.isnan(crossed(math.nan))


def test_an_iterator_comes_back_as_one() -> None:
    got = crossed(one for one in [1, 2])
    assert got != [1, 2]
    assert list(got) == [1, 2]


def test_what_is_derived_from_data_arrives_as_the_data() -> None:
    class Whole(int):
        def __int__(self) -> int:
            return 99

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = int.__hash__

    class Words(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "no"

    got = crossed([Whole(3), Words("yes")])
    assert (got, [type(one) for one in got]) == ([3, "yes"], [int, str])


def test_a_record_equals_by_its_fields_and_never_by_its_own_word() -> None:
    shown = {"kind": "dataclass", "class": ["shop", "Line"], "fields": ["name", "count"], "values": ["a", 2]}
    one = values.decode({"$": "record", "v": shown}, lie)
    other = values.decode({"$": "record", "v": {**shown, "values": ["a", 3]}}, lie)
    assert (one.name, one.count) == ("a", 2)
    assert one != other
    assert one != ("a", 2)
    assert one == values.decode({"$": "record", "v": shown}, lie)


MALFORMED: dict[str, Any] = {
    "an int as text that is none": {"$": "int", "v": "1e5"},
    "an int of a million digits": {"$": "int", "v": "0x" + "f" * 1_000_000},
    "an int beyond what JSON keeps": 2**60,
    "a decimal that would fill the memory": {"$": "decimal", "v": "1e999999999"},
    "a range that never ends": {"$": "range", "v": [0, 2**50, 1]},
    "a set of lists": {"$": "set", "v": [[1]]},
    "a dict of triples": {"$": "dict", "v": [[1, 2, 3]]},
    "a third key": {"$": "tuple", "v": [], "w": 1},
    "no tag": {"a": 1},
    "a tag that is no text": {"$": ["tuple"], "v": []},
    "a fraction by zero": {"$": "fraction", "v": [1, 0]},
    "bytes that are not base64": {"$": "bytes", "v": "*"},
    "an impossible date": {"$": "date", "v": "2024-02-31"},
    "half a character": "\ud800",
    "fields that Python would use": {
        "$": "record",
        "v": {"kind": "dataclass", "class": ["m", "C"], "fields": ["__class__"], "values": [1]},
    },
    "the same field twice": {
        "$": "record",
        "v": {"kind": "namedtuple", "class": ["m", "C"], "fields": ["a", "a"], "values": [1, 2]},
    },
    "an unknown kind": {"$": "object", "v": "os.system"},
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_data_is_refused(name: str) -> None:
    with pytest.raises(values.Malformed):
        values.decode(MALFORMED[name], lie)


def test_data_that_is_deeper_than_any_honest_program_needs_is_refused_both_ways() -> None:
    deep: list[Any] = []
    for _ in range(80):
        deep = [deep]
    with pytest.raises(values.CannotCross):
        values.encode(deep, refused)
    with pytest.raises(values.Malformed):
        values.decode(deep, lie)


def test_data_in_itself_is_refused() -> None:
    around: list[Any] = []
    around.append(around)
    with pytest.raises(values.CannotCross):
        values.encode(around, refused)


def test_more_values_than_any_honest_program_needs_are_refused_both_ways() -> None:
    many = [0] * 300_000
    with pytest.raises(values.CannotCross):
        values.encode(many, refused)
    with pytest.raises(values.Malformed):
        values.decode(many, lie)


def test_an_iterator_without_an_end_is_refused() -> None:
    with pytest.raises(values.CannotCross):
        values.encode(map(abs, iter(int, 1)), refused)


def test_keys_that_were_made_to_collide_are_refused() -> None:
    """A dict of them would take the tests' process hours."""
    modulus = 2**61 - 1
    keys = [{"$": "int", "v": hex(modulus * number)} for number in range(1, 5000)]
    with pytest.raises(values.Malformed):
        values.decode({"$": "set", "v": keys}, lie)


@pytest.mark.parametrize(
    "line", [b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 5000, b"[]", b"1", b'{"a": 1} x', b"\xff", b""]
)
def test_a_line_that_is_no_frame_is_refused(line: bytes) -> None:
    with pytest.raises(values.Malformed):
        values.from_line(line)


def test_a_frame_has_a_limit() -> None:
    with pytest.raises(values.CannotCross):
        values.to_line({"id": 1, "ok": "x" * (9 << 20)})
