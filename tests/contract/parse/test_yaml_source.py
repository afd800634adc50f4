"""YAML is read exactly, with positions, and nothing in it can hurt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from steelyard.contract.parse.yaml_source import MOST_BYTES, dotted_path, parse_yaml, read_yaml
from steelyard.errors import ContractFault

WORDS = [
    ("1", 1),
    ("-3", -3),
    ("2_000_000", 2_000_000),
    ("0x1f", 31),
    ("0b11", 3),
    ("017", 15),
    ("08", "08"),
    ("1.5", 1.5),
    (".5", 0.5),
    ("1.5e+3", 1500.0),
    ("9007199254740991", 9007199254740991),
    ("yes", True),
    ("No", False),
    ("OFF", False),
    ("yEs", "yEs"),
    ("~", None),
    ("", None),
    ("null", None),
    ("2026-03-07", "2026-03-07"),
    ("2026-03-07 12:00:00", "2026-03-07 12:00:00"),
    ("12:30:45", "12:30:45"),
    ("'5'", "5"),
    ('"yes"', "yes"),
    ("3.11.2", "3.11.2"),
    ("_1", "_1"),
    ("12345e7", "12345e7"),
]


@pytest.mark.parametrize(("word", "value"), WORDS)
def test_a_word_means_what_its_author_means(word: str, value: Any) -> None:
    found = parse_yaml(f"a: {word}\n".encode(), "c").data["a"]
    assert found == value
    assert type(found) is type(value)


REFUSED = [
    ("a: 1\na: 2\n", "c:2:1: the key a occurs twice"),
    ("1: x\n", "c:1:1: the key 1 is not text (put it in quotes)"),
    ("yes: x\n", "c:1:1: the key yes is not text (put it in quotes)"),
    ("? [a]\n: 1\n", "c:1:3: a key must be plain text"),
    ("a: !!python/object:os.system {}\n", "is not allowed"),
    ("a: !!str 5\n", "c:1:4: the tag tag:yaml.org,2002:str is not allowed"),
    ("a: !x 5\n", "c:1:4: the tag !x is not allowed"),
    ("a: &x [1, *x]\n", "c:1:11: *x contains itself"),
    ("a: &x {b: {c: *x}}\n", "*x contains itself"),
    ("a: *x\n", "c:1:4: *x has no anchor before it"),
    ("a: {<<: {b: 1}}\n", "c:1:5: merge keys (<<) are not allowed"),
    ("a: .nan\n", "c:1:4: .nan is not a number that can be compared"),
    ("a: -.INF\n", "c:1:4: -.INF is not a number"),
    ("a: 1.0e+999\n", "c:1:4: 1.0e+999 is too large a number"),
    ("a: 9007199254740992\n", "c:1:4: too large a number"),
    (f"a: {'9' * 10_000}\n", "c:1:4: too large a number"),
    ('a: "x\\0y"\n', "c:1:4: a NUL character"),
    ("a: [1\n", "not valid YAML"),
    ("a: b: c\n", "c:1:5: not valid YAML"),
    ("\ta: 1\n", "c:1:1: line 1 is indented with a tab (use spaces)"),
    ("a:\n\t- 1\n", "line 2 is indented with a tab (use spaces)"),
    ("a: \x07\n", "not valid YAML"),
    ("a: 1\n---\nb: 2\n", "c:2:1: a second document"),
    ("- 1\n", "a mapping"),
    ("", "c: the file is empty"),
    ("# nothing but this\n", "c: the file is empty"),
    ("just words\n", "a mapping"),
    (f"a: {'[' * 100}{']' * 100}\n", "nested deeper than 64 levels"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_cannot_be_a_contract_is_refused_with_its_position(text: str, message: str) -> None:
    with pytest.raises(ContractFault) as caught:
        parse_yaml(text.encode(), "c")
    assert message in str(caught.value)
    assert len(caught.value.problems) == 1


def test_text_that_is_not_utf8_is_refused_with_its_position() -> None:
    with pytest.raises(ContractFault, match=r"^c:2:4: not UTF-8 text"):
        parse_yaml(b"a: 1\nb: \xff\n", "c")


def test_utf16_is_refused() -> None:
    with pytest.raises(ContractFault, match="not UTF-8"):
        parse_yaml("a: 1\n".encode("utf-16"), "c")


def test_a_byte_order_mark_is_not_part_of_the_first_key() -> None:
    assert parse_yaml(b"\xef\xbb\xbfa: 1\n", "c").data == {"a": 1}


def test_a_huge_file_is_refused_without_being_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "contract.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ContractFault, match=f"larger than {MOST_BYTES} bytes"):
        read_yaml(path)


def test_a_bomb_of_aliases_is_refused_before_it_is_expanded() -> None:
    """Expanded, it would have 10^30 values: this test would never end."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    with pytest.raises(ContractFault, match="more than 100000 values once aliases are expanded"):
        parse_yaml("\n".join(lines).encode(), "c")


def test_the_deepest_nesting_that_fits_in_a_file_is_refused() -> None:
    for opening in (b"[", b"{a: ", b"- "):
        with pytest.raises(ContractFault):
            parse_yaml(b"a: " + opening * ((MOST_BYTES - 10) // len(opening)), "c")


def test_an_alias_repeats_its_anchor() -> None:
    assert parse_yaml(b"a: &x [1, {b: 2}]\nc: *x\nd: &y text\ne: *y\n", "c").data == {
        "a": [1, {"b": 2}],
        "c": [1, {"b": 2}],
        "d": "text",
        "e": "text",
    }


def test_every_key_and_item_has_a_position() -> None:
    source = parse_yaml(b"a: 1\nb:\n  - x\n  - {c: 2}\n", "c")
    assert source.positions[("a",)] == "c:1:1"
    assert source.positions[("b",)] == "c:2:1"
    assert source.positions[("b", 0)] == "c:3:5"
    assert source.positions[("b", 1, "c")] == "c:4:6"


def test_the_position_of_what_is_missing_is_that_of_what_should_hold_it() -> None:
    source = parse_yaml(b"a: 1\nb:\n  c: 2\n", "c")
    assert source.where(("b", "missing", "x")) == "c:2:1"


def test_a_place_reads_as_people_write_it() -> None:
    assert dotted_path(("oracle", "checks", 0, "timeout_s")) == "oracle.checks[0].timeout_s"
    assert dotted_path(()) == ""


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text("abc-é 1", max_size=8), inner, max_size=5)
    ),
    max_leaves=30,
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=5), PLAIN, max_size=5), st.booleans())
def test_what_is_written_as_yaml_is_read_back(data: dict[str, Any], flow: bool) -> None:  # noqa: FBT001  # drawn
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=True)
    assert parse_yaml(text.encode(), "c").data == data


@given(
    st.binary(max_size=200)
    | st.text(max_size=200).map(str.encode)
    | st.text("[]{}:,-&*a1 \n\"'|>!?", max_size=80).map(str.encode)
)
def test_any_bytes_are_read_or_refused_in_one_sentence(raw: bytes) -> None:
    result = "c"
    try:
        assert isinstance(parse_yaml(raw, "c").data, dict)
    except ContractFault as fault:
        result = str(fault)
    assert result.startswith("c")
    assert "\n" not in result
