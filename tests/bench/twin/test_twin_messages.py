"""What a test says beside its comparison says the changed value too, and a value in its name is known to be told."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.twin.base import Edit, Twin
from steelyard.bench.twin.catalogue import twin_of
from steelyard.bench.twin.javascript.remarks import remarks
from steelyard.bench.twin.messages import Span, _around, words_have_value
from steelyard.bench.twin.python.text import parse_source
from steelyard.grammars import JAVASCRIPT as JAVASCRIPT_GRAMMAR
from steelyard.grammars import parse

SECRETS = tuple(b"secret %d" % number for number in range(8))
PYTHON = {
    "a message": 'assert total(2, 3) == 57, "want 57"',
    "a formatted message": 'assert total(2, 3) == 57, f"want 57, got {total(2, 3)}"',
    "a comment in the line": "assert total(2, 3) == 57  # 2 and 3 make 57",
    "a comment above": "# 2 and 3 make 57\nassert total(2, 3) == 57",
    "a docstring": '"""It is 57."""\nassert total(2, 3) == 57',
    "unittest's message": 'self.assertEqual(total(2, 3), 57, "want 57")',
    "unittest's named message": 'self.assertEqual(total(2, 3), 57, msg="want 57")',
    "a name's comment": "want = 57  # it is 57\nassert total(2, 3) == want",
    "a message beside a name": 'want = 57\nassert total(2, 3) == want, "want 57"',
    "an exception": "with pytest.raises(ValueError):  # a ValueError\n    total(2, 3)",
}
JAVASCRIPT = {
    "a message": "assert.equal(total(2, 3), 57, 'want 57');",
    "a template": "assert.strictEqual(total(2, 3), 57, `want 57, got ${total(2, 3)}`);",
    "a comment in the line": "assert.equal(total(2, 3), 57); // 2 and 3 make 57",
    "a comment above": "// 2 and 3 make 57\n  assert.equal(total(2, 3), 57);",
    "a message of expect": "expect(total(2, 3), 'is 57').toBe(57);",
    "chai's message": "expect(total(2, 3)).to.equal(57, 'want 57');",
    "a constant": "const want = 57; // 57\n  assert.equal(total(2, 3), want, 'want 57');",
}
OLD = re.compile(r"\b57\b|hello-world|ValueError|\[1, 9, 57\]")


def python(body: str, name: str = "test_it", head: str = "") -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"import pytest\n{head}\nclass TestIt:\n    def {name}(self):\n{lines}\n"


def javascript(body: str, title: str = "it") -> str:
    return f"test('{title}', () => {{\n  {body}\n}});\n"


def made(source: str, secret: bytes = SECRETS[0], path: str = "test_x.py") -> Twin:
    twin = twin_of(path, source.encode(), secret)
    assert twin is not None
    return twin


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("body", PYTHON.values(), ids=PYTHON)
def test_no_text_beside_a_changed_value_of_python_says_the_old_one(body: str, secret: bytes) -> None:
    source = python(body)
    text = made(source, secret).source.decode()
    assert OLD.search(source)
    assert not OLD.search(text)
    assert parse_source(text) is not None
    assert text.count("\n") == source.count("\n")


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("body", JAVASCRIPT.values(), ids=JAVASCRIPT)
def test_no_text_beside_a_changed_value_of_javascript_says_the_old_one(body: str, secret: bytes) -> None:
    source = javascript(body)
    assert OLD.search(source)
    assert not OLD.search(made(source, secret, "x.test.js").source.decode())


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("message", ['f"got {it}"', '"not" f" {it}"', 'F"""{it}"""'])
def test_the_letter_of_an_f_string_is_no_value(message: str, secret: bytes) -> None:
    text = made(python(f'it = grade(1)\nassert it == "f", {message}'), secret).source.decode()
    assert parse_source(text) is not None
    assert text.endswith(f", {message}\n")


def test_a_letter_at_the_end_of_a_message_is_changed_too() -> None:
    twins = [made(python('assert grade(1) == "f", "want f"'), secret).source.decode() for secret in SECRETS]
    assert any(re.search(r'== "(\w)", "want \1"', text) for text in twins)
    assert all('"want f"' not in text or '== ""' in text for text in twins)


@pytest.mark.parametrize("secret", SECRETS)
def test_a_test_of_javascript_stays_when_another_one_with_the_same_names_is_changed(secret: bytes) -> None:
    other = javascript("const want = made();\n  assert.propertyVal(want, 'name', 'pen');", "b")
    twin = made(
        javascript("const want = 'pen';\n  assert.equal(f(), want);", "a") + other, secret, "x.test.js"
    )
    assert twin.text(["a"]).decode().endswith(other)


def test_what_was_called_stays_in_a_message() -> None:
    text = made(python('assert total(7, 0) == 7, "total(7, 0): 7 and 0 are 7"')).source.decode()
    assert '"total(7, 0): 7 and 0 are ' in text
    assert "are 7" not in text


def test_a_number_in_words_is_changed_too() -> None:
    text = made(python("assert total(2, 3) == 5  # should be five")).source.decode()
    number = re.search(r"== (\d+)", text)
    words = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight")
    assert number
    assert f"should be {words[int(number[1])]}" in text


@pytest.mark.parametrize(
    ("source", "path"),
    [
        (javascript("assert.equal(power(2), '²');"), "x.test.js"),
        ('#[test]\nfn is_it() {\n    assert_eq!(power(2), "²");\n}\n', "tests/x.rs"),
    ],
    ids=["javascript", "rust"],
)
def test_a_digit_without_a_value_is_a_text_as_any_other(source: str, path: str) -> None:
    assert "²" not in made(source, path=path).source.decode()


def test_an_example_in_a_docstring_is_not_changed() -> None:
    text = made(python('""">>> total(2, 3)\n57\n"""\nassert total(2, 3) == 57')).source.decode()
    assert "\n        57\n" in text


def test_the_comment_of_another_assertion_stays() -> None:
    text = made(python("assert total(1, 2) is not None  # 57\nassert total(2, 3) == 57")).source.decode()
    assert "None  # 57" in text


ROWS = '[(2, 57), pytest.param(3, 58, id="gives 58")]'
TEST = "\ndef test_it(a, want):\n    assert total(a) == want\n"


def test_the_written_id_of_a_row_is_changed_and_foretold() -> None:
    twin = made(f'import pytest\n@pytest.mark.parametrize("a, want", {ROWS}){TEST}')
    (_, one), (old, two) = twin.rows["test_it"]
    assert old == "gives 58"
    assert f"(2, {one})" in twin.source.decode()
    assert f'id="{two}"' in twin.source.decode()
    assert two != old


def test_a_table_that_another_test_reads_too_stays() -> None:
    source = f'import pytest\nCASES = {ROWS}\n@pytest.mark.parametrize("a, want", CASES){TEST}\ndef test_b():\n    use(CASES)\n'
    assert f"CASES = {ROWS}" in made(source).source.decode()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("test_total_is_3", "3", "4"),
        ("gives three", "3", "4"),
        ("testIsHelloWorld", '"hello-world"', '"world-hello"'),
        ("test_is_true", "True", "False"),
    ],
)
def test_a_name_that_has_the_old_value_reveals_it(name: str, old: str, new: str) -> None:
    assert words_have_value(name, old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"), [("test_total", "3", "4"), ("test_13", "3", "4"), ("test_a", '"a"', '"b"')]
)
def test_a_name_without_the_old_value_reveals_nothing(name: str, old: str, new: str) -> None:
    assert not words_have_value(name, old, new)


def test_a_test_whose_name_has_its_value_is_marked() -> None:
    assert made(python("assert total(2, 3) == 57", "test_is_57")).marked == {"TestIt::test_is_57"}
    assert made(javascript("assert.equal(total(2, 3), 57);", "is 57"), path="x.test.js").marked == {"is 57"}


@pytest.mark.parametrize("secret", SECRETS)
def test_an_expectation_that_the_name_does_not_have_is_preferred(secret: bytes) -> None:
    twin = made(python("assert total(2, 3) == 57\nassert total(4, 4) == 88", "test_is_57"), secret)
    assert "== 57" in twin.source.decode()
    assert twin.marked == frozenset()


@pytest.mark.parametrize(
    "body",
    [
        "assert total(2) == other",
        "assert total(2) in other",
        "self.assertEqual(total(2), other)",
        "with pytest.raises(shop.Overdrawn):\n    total(2)",
    ],
)
def test_a_change_that_is_recognised_without_the_answer_is_marked(body: str) -> None:
    assert made(python(body)).marked == {"TestIt::test_it"}


@pytest.mark.parametrize(
    "body", ["assert is_even(2)", "assert total(2) is None", "self.assertTrue(is_even(2))"]
)
def test_the_opposite_of_a_truth_is_not_marked(body: str) -> None:
    """Work that answers each such test with yes passes them in any oracle; the opposite tells it nothing more."""
    assert made(python(body)).marked == frozenset()


def test_a_constant_of_one_javascript_test_changes_no_text_of_another_test() -> None:
    body = "const want = 57;\n  assert.equal(total(2, 3), want, 'want 57');"
    twin = made(
        f"describe('both', () => {{\n{javascript(body)}{javascript(body, 'other')}}});\n", path="x.test.js"
    )
    assert len(twin.edits) == 2
    for unit in twin.edits:
        assert len(OLD.findall(twin.text([unit]).decode())) == 2


def test_a_constant_above_javascript_tests_changes_the_texts_of_all_that_name_it() -> None:
    uses = "assert.equal(total(2, 3), want, 'want 57');"
    source = f"const want = 57;\n{javascript(uses)}{javascript('const want = 6; ' + uses, 'own')}"
    tree = parse(source.encode(), JAVASCRIPT_GRAMMAR)
    assert tree is not None
    messages = remarks(tree.root_node)
    texts = [[source[start:end] for start, end in one.texts] for one in messages if one.start == 0]
    assert texts == [["'want 57'"]]


def test_the_opposite_of_an_equality_of_javascript_is_marked() -> None:
    source = javascript("assert.deepEqual(total(2), other);") + javascript("assert.ok(even(2));", "even")
    assert made(source, path="x.test.js").marked == {"it"}


def test_a_message_that_is_a_sum_of_very_many_texts_is_read() -> None:
    """It is as deep as it is long: a reader that calls itself for each part comes to the end of the stack."""
    message = " + ".join(["'more '"] * 1200 + ["'want 57'"])
    assert not OLD.search(made(python(f"assert total(2, 3) == 57, {message}")).source.decode())


SPANS = st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda one: (one[0], sum(one)))


@given(st.lists(SPANS), st.lists(SPANS, unique=True))
def test_the_messages_around_a_place_are_all_that_it_lies_in(spans: list[Span], places: list[Span]) -> None:
    edits = [Edit(start, end, "") for start, end in places]
    assert _around(edits, spans) == {
        edit: [number for number, (start, end) in enumerate(spans) if start <= edit.start and edit.end <= end]
        for edit in edits
    }


@pytest.mark.parametrize("secret", SECRETS)
def test_an_argument_of_the_call_that_must_fail_is_no_message(secret: bytes) -> None:
    """If it changed with the expected text, honest work would pass the changed test and look forged."""
    source = python('self.assertRaisesRegex(ValueError, "no pen box", find, "no pen box")')
    text = made(source, secret).source.decode()
    assert text != source
    assert 'find, "no pen box")' in text
