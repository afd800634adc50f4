"""The fast writer of canonical bytes and the canonical one write the same bytes, whatever the value."""

from __future__ import annotations

from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from steelyard.evidence.folder.canonical import canonical_bytes

_NUMBERS = (
    st.integers(min_value=-(2**53) + 1, max_value=2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.floats(min_value=-1e6, max_value=1e6)
    | st.sampled_from([0.0, -0.0, 5.0, 1e-4, 9.9e-5, 1e-5, 1e15, 1e16, 1e21, 123456.75, 0.1, 1e-7])
)
_TEXTS = st.text()
_VALUES = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner),
    max_leaves=20,
)


@given(_VALUES)
def test_both_writers_write_the_same_bytes(value: Any) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)


def test_every_control_character_is_escaped_alike() -> None:
    text = "".join(map(chr, range(0x20))) + '\x7f"\\/\u2028\u00e9\U0001f600'
    assert canonical_bytes({"a": text}) == rfc8785.dumps({"a": text})


def test_names_beyond_ascii_are_sorted_by_utf_16() -> None:
    names = {"\ufb33": 1, "\U0001f600": 2, "a": 3}
    assert canonical_bytes(names) == rfc8785.dumps(names)
    assert canonical_bytes(names).index(b"2") < canonical_bytes(names).index(b"1")


@pytest.mark.parametrize("value", [2**53, -(2**53), float("nan"), float("inf")])
def test_a_number_that_has_no_canonical_form_is_refused(value: float) -> None:
    with pytest.raises(rfc8785.CanonicalizationError):
        canonical_bytes({"a": value})
