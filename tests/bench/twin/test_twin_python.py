"""A Python twin: the same shape, another expectation, and never certain where honest work might pass it."""

from __future__ import annotations

import ast
import builtins
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from types import SimpleNamespace
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.twin.base import Twin
from steelyard.bench.twin.plausible.strings import Words
from steelyard.bench.twin.python.literals import other_literals
from steelyard.bench.twin.python.twin import twin_python

SECRET = b"drawn for this grading"
SECRETS = tuple(bytes([number]) for number in range(12))


def twin(source: str) -> Twin:
    made = twin_python(source.encode(), "test_x.py", SECRET)
    assert made is not None
    return made


def certainty(body: str, head: str = "") -> bool | None:
    """Whether the change of a test with this body is certain; None when nothing was changed."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    made = twin_python(f"{head}\ndef test_it(fixture=None):\n{lines}\n".encode(), "test_x.py", SECRET)
    return None if made is None else made.changed["test_it"]


class Raises:
    """What `pytest.raises` does, for sources that are executed here."""

    def __init__(self, kind: Any, *_: object, **__: object) -> None:
        self.kind = kind

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        assert kind is not None, "did not raise"
        return issubclass(kind, self.kind)


def passes(source: str | bytes, **names: Any) -> bool:
    """Whether `test_it` of this source passes, with these names in reach."""
    space: dict[str, Any] = {
        "pytest": SimpleNamespace(raises=Raises, approx=pytest.approx),
        "Decimal": Decimal,
        "Fraction": Fraction,
        **names,
    }
    exec(compile(source, "test_x.py", "exec"), space)  # noqa: S102  # sources of these tests
    try:
        space["test_it"]()
    except Exception:  # noqa: BLE001  # however a test ends, it did not pass
        return False
    return True


values = st.recursive(
    st.one_of(
        st.integers(-(10**9), 10**9),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=12),
        st.binary(max_size=8),
        st.booleans(),
        st.none(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=5), st.integers(0, 99)), inner, max_size=3),
    ),
    max_leaves=6,
)
TEMPLATES = (
    "assert answer() == {value}",
    "assert {value} == answer()",
    "assert answer() == {value}, 'why'",
    "expected = {value}\n    assert answer() == expected",
    "result = answer()\n    assert result == {value}\n    assert result == answer()",
    "assert answer() == {value} and True",
    "assert not answer() != {value}",
    "assert (answer() == {value}) is True",
    "assert answer() in ({value},)",
    "assert (\n        answer()\n        == {value}\n    )",
    "with open('/dev/null') as nothing:\n        assert answer() == {value}",
    "try:\n        assert answer() == {value}\n    finally:\n        pass",
    "assert str(answer()) == str({value})",
    "with pytest.raises(ValueError):\n        refuse({value})",
    "assert isinstance(answer(), list | dict) or True\n    assert answer() == {value}",
    "value = {value}\n    assert answer() == value\n    assert answer() == value",
    "assert [answer()] == [{value}]",
    "assert {{'key': answer()}} == {{'key': {value}}}",
    "assert answer() not in (...,)",
    "assert (answer(),) != ()",
)


def refuse(value: object) -> None:
    raise ValueError(value)


@given(value=values, template=st.sampled_from(TEMPLATES), secret=st.binary(max_size=4))
def test_what_an_honest_function_passes_its_twin_makes_fail(value: Any, template: str, secret: bytes) -> None:
    source = f"def test_it():\n    {template.format(value=repr(value))}\n"
    made = twin_python(source.encode(), "test_x.py", secret)
    assert made is not None
    assert made.changed == {"test_it": True}
    assert made.source != source.encode()
    assert made.source.count(b"\n") == source.count("\n")
    ast.parse(made.source)
    assert passes(source, answer=lambda: value, refuse=refuse)
    assert not passes(made.source, answer=lambda: value, refuse=refuse)


@given(number=st.floats(allow_nan=False, allow_infinity=False, width=32), error=st.floats(-1, 1))
def test_a_twin_of_an_approximation_is_further_away_than_it_reaches(number: float, error: float) -> None:
    source = f"def test_it():\n    assert answer() == pytest.approx({number!r})\n"
    made = twin(source)
    honest = number + error * max(1e-6 * abs(number), 1e-12)
    if passes(source, answer=lambda: honest):
        assert not passes(made.source, answer=lambda: honest)


@pytest.mark.parametrize("expected", ["Decimal('1.50')", "Decimal('0E3')", "Fraction(0, 7)", "Fraction('0/7')", "2 ** 10", "0 * 7",
                                      "'a' * 3", "'%d' % 5", "f'{1}'", "''", "[]", "()", "{}", "set()", "{1, 2}", "[*[1], 2]",
                                      "{'a': [1, {'b': 2}]}", "{**{}, 'a': 1}", "10 / 4", "-0.0", "1e300", "'\\n'", "'é'",
                                      "r'\\d+'", "b'\\x00'", "'a' 'b'", "'''x\n    y'''", "None", "True", "0x1F", "1_000", "len('abc')",
                                      "sorted([3, 1])", "'-'.join(['a', 'b'])", "'abc'.upper()", "'%s items' % 3",
                                      "'{} items'.format(3)", "str(12)", "['a']", "[1, 2, 3]", "[2, 4, 6, 8]", "{'a': 1}"])  # fmt: skip
def test_expected_values_of_all_kinds_become_others(expected: str) -> None:
    source = f"def test_it():\n    assert answer() == {expected}\n"
    value = eval(expected, {"Decimal": Decimal, "Fraction": Fraction})  # noqa: S307  # sources of these tests
    for secret in SECRETS:
        made = twin_python(source.encode(), "test_x.py", secret)
        assert made is not None
        assert made.changed == {"test_it": True}
        assert passes(source, answer=lambda: value)
        assert not passes(made.source, answer=lambda: value)


@given(value=st.one_of(st.integers(0), st.floats(0, allow_infinity=False), st.text(), st.binary()))
def test_other_literals_have_the_same_type_and_are_unequal_in_any_case(value: Any) -> None:
    others = list(other_literals(repr(value), value, Words.of(["total price", "Cart", "USD"])))
    assert others
    for other in others:
        new = ast.literal_eval(other)
        assert type(new) is type(value)
        assert new != value
        if isinstance(value, str):
            assert new.casefold().strip() != value.casefold().strip()


def test_code_that_takes_the_expected_value_from_the_source_is_caught() -> None:
    source = "def test_it():\n    assert answer(3) == 9\n"
    made = twin(source).source.decode()
    copied = ast.literal_eval(made.rpartition("== ")[2])
    assert passes(made, answer=lambda _: copied)


def test_one_assertion_of_each_test_is_changed() -> None:
    source = "".join(
        f"def test_{number}():\n    assert one() == 11\n    assert two() == 22\n    assert three() == 33\n\n"
        for number in range(40)
    )
    made = twin(source)
    old, new = source.splitlines(), made.source.decode().splitlines()
    different = [number for number, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]]
    assert [number // 5 for number in different] == list(range(40))
    assert {number % 5 for number in different} == {1, 2, 3}


def test_parametrised_expectations_are_changed_where_they_are_written() -> None:
    source = (
        "import pytest\n"
        '@pytest.mark.parametrize("text, expected", [("a", 1), pytest.param("bb", 2, id="two")])\n'
        "def test_length(text, expected):\n    assert length(text) == expected\n"
    )
    made = twin(source)
    row = made.source.decode().splitlines()[1]
    assert '("a", 1)' not in row
    assert '"bb", 2' not in row
    assert "== expected\n" in made.source.decode()
    assert made.changed == {"test_length": True}


CERTAIN = (
    "assert f() == 1",
    "assert f() == other",
    "assert f()",
    "assert f() is None",
    "assert 'some text' in f()",
    "assert f().startswith('text')",
    "assert f().endswith('text')",
    "assert isinstance(f(), str)",
    "assert f() in (1, 2)",
    "assert f() > 0",
    "assert len(f()) >= 2",
    "assert a or b",
    "assert not f()",
    "assert f() != other",
    "x = 1\nif x:\n    pass\nassert f() == 1",
    "for x in f():\n    if x:\n        break\nassert f() == 1",
    "with patch('a.b') as it:\n    assert f() == 1",
    "with pytest.raises(ValueError):\n    f()",
    "pytest.raises(ValueError, f)",
    "it.assert_called_once_with(5)",
    "it.assert_called_once()",
    "def inner():\n    return 1\nassert f() == 1",
)
UNCERTAIN = (
    "if x:\n    assert f() == 1",
    "for x in f():\n    assert x == 1",
    "while f():\n    assert f() == 1",
    "try:\n    assert f() == 1\nexcept Exception:\n    pass",
    "try:\n    assert f() == 1\nfinally:\n    return",
    "if x:\n    return\nassert f() == 1",
    "with whatever():\n    assert f() == 1",
    "with suppress(Exception):\n    assert f() == 1",
    "with subtests.test():\n    assert f() == 1",
    "assert elapsed < 5",
    "assert 'text' in f()",  # the other word may be in it too
    "assert f() == Money(5)",  # two sums of money may count as the same
    "with pytest.raises(Broken):\n    f()",  # whatever it is derived from
    "with pytest.raises(Exception):\n    f()",
    "assert a < b < c",
)
UNCHANGED = (
    "pass",
    "f()",
    "pytest.raises(ValueError)",  # asserts nothing
    "yield\nassert f() == 1",
    "def inner():\n    assert f() == 1",
    "soft.assertEqual(f(), 1)",
    "with pytest.warns(UserWarning):\n    f()",
)


@pytest.mark.parametrize("body", CERTAIN)
def test_a_change_that_honest_work_must_fail_is_certain(body: str) -> None:
    assert certainty(body) is True


@pytest.mark.parametrize("body", UNCERTAIN)
def test_a_change_that_honest_work_may_never_meet_is_not_certain(body: str) -> None:
    assert certainty(body) is False


@pytest.mark.parametrize("body", UNCHANGED)
def test_what_asserts_nothing_is_left_alone(body: str) -> None:
    assert certainty(body) is None


@pytest.mark.parametrize(
    "head",
    [
        "@retry",
        "@pytest.mark.xfail",
        "@unittest.expectedFailure",
        "def test_it(): pass",  # which of the two runs?
    ],
)
def test_a_test_under_something_unknown_is_not_certain(head: str) -> None:
    assert not certainty("assert f() == 1", head)


def test_an_equality_is_not_certain_beside_a_class_that_equals_everything() -> None:
    head = "class Any:\n    def __eq__(self, other):\n        return True"
    made = twin(f"{head}\ndef test_it():\n    assert f() == 1\n")
    # Its opposite is.
    assert b"assert f() != 1" in made.source
    assert made.changed == {"test_it": True}


UNITTEST = """
class Sums(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(f(), 12)

    def test_raises(self):
        with self.assertRaises(ValueError):
            f()

    def test_true(self):
        self.assertTrue(f())

    def test_almost(self):
        self.assertAlmostEqual(f(), 0.5, places=3)

    async def test_later(self):
        self.assertEqual(await f(), 3)


class More(Sums):
    def test_true(self):
        pass
"""


def test_the_methods_of_unittest_are_changed_too() -> None:
    made = twin(UNITTEST)
    new = made.source.decode()
    assert "self.assertFalse(f())" in new
    assert "assertRaises(ValueError)" not in new
    assert "assertEqual(f(), 12)" not in new
    assert "0.5" not in new
    certain = {
        name.partition("::")[2] for name, sure in made.changed.items() if sure and name.startswith("Sums")
    }
    assert certain == {"test_equal", "test_raises", "test_true", "test_almost"}
    assert made.changed["Sums::test_later"] is False  # a plain TestCase never awaits it


def test_inherited_tests_are_known_by_the_class_that_runs_them() -> None:
    made = twin(UNITTEST)
    assert made.changed["More::test_equal"] is True
    assert "More::test_true" not in made.changed


def test_an_assertion_method_of_ones_own_is_not_what_it_is_called() -> None:
    source = "class T:\n    def assertEqual(self, a, b):\n        pass\n    def test_it(self):\n        self.assertEqual(f(), 1)\n"
    assert twin_python(source.encode(), "test_x.py", SECRET) is None


@pytest.mark.parametrize(
    "old",
    ["ValueError", "(KeyError, OSError)", "LookupError", "RecursionError", "BufferError", "JSONDecodeError"],
)
def test_another_exception_is_no_relative_of_the_expected_one(old: str) -> None:
    source = f"import pytest\ndef test_it():\n    with pytest.raises({old}):\n        f()\n"
    space = {**vars(builtins), "JSONDecodeError": json.JSONDecodeError}
    expected = eval(old, space)  # noqa: S307  # sources of these tests
    for secret in SECRETS:
        made = twin_python(source.encode(), "test_x.py", secret)
        assert made is not None
        assert made.changed == {"test_it": True}
        text = made.source.decode().split("raises(", 1)[1].split("):")[0]
        others = eval(text, space)  # noqa: S307  # sources of these tests
        for one in expected if isinstance(expected, tuple) else (expected,):
            assert not issubclass(one, others)
            assert not any(
                issubclass(other, one) for other in (others if isinstance(others, tuple) else (others,))
            )


def test_an_exception_that_the_file_defines_is_known_by_its_bases() -> None:
    source = (
        "import pytest\nclass Broken(KeyError): pass\n"
        "def test_it():\n    with pytest.raises(Broken):\n        f()\n"
    )
    made = [twin_python(source.encode(), "test_x.py", secret) for secret in SECRETS]
    assert all(
        one is not None and one.changed["test_it"] and b"raises(KeyError" not in one.source for one in made
    )


def outcomes(source: str, **names: Any) -> set[bool]:
    """How the changed test ends, over several secrets."""
    twins = [twin_python(source.encode(), "test_x.py", secret) for secret in SECRETS]
    return {passes(one.source, **names) for one in twins if one is not None}


class Everything:
    """Equal to everything, and yes to every question."""

    def __eq__(self, other: object) -> bool:
        return True

    def __contains__(self, other: object) -> bool:
        return True

    def startswith(self, _: str) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]  # it is never hashed


@pytest.mark.parametrize(
    "body",
    [
        "assert answer() == 3",
        "assert answer() == Money(5)",
        "assert answer().startswith('ab')",
        "assert answer().startswith('ab') is True",
        "assert 'total price' in answer()",
        "assert 'price' in answer()",
        "text = 'a b'\n    assert answer(text) == text",
        "assert answer() in (1, 2)",
    ],
)
def test_an_object_that_says_yes_to_everything_passes_the_changed_test_too(body: str) -> None:
    source = f"def test_it():\n    {body}\n"
    assert outcomes(source, answer=lambda *_: Everything(), Money=lambda *_: 0) == {True}


def test_an_exception_of_many_classes_passes_the_changed_test_too() -> None:
    class Many(ValueError, TypeError, KeyError, IndexError, RuntimeError, AttributeError):
        pass

    def refuse_all() -> None:
        raise Many

    source = "def test_it():\n    with pytest.raises(ValueError):\n        refuse()\n"
    assert outcomes(source, refuse=refuse_all) == {True}


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("assert f() == other", "assert f() != other"),
        ("assert f() != other", "assert f() == other"),
        ("assert f() is None", "assert f() is not None"),
        ("assert f() is  not None", "assert f() is None"),
        ("assert other not in f()", "assert other in f()"),
        ("assert done(x)", "assert not done(x)"),
        ("assert not done(x)", "assert done(x)"),
        ("assert a or not b", "assert not a and b"),
        ("assert f() > 0", "assert f() <= 0"),
        ("assert (f() == other)", "assert (f() != other)"),
        ("self.assertIsNone(f())", "self.assertIsNotNone(f())"),
        ("self.assertListEqual(f(), other)", "self.assertNotEqual(f(), other)"),
        ("kept = read(100)\n    assert kept == f()", "kept = read(100)\n    assert kept != f()"),
        ("self.assertGreater(f(), 0)", "self.assertLessEqual(f(), 0)"),
    ],
)
def test_the_opposite_is_said_as_a_test_would_say_it(body: str, after: str) -> None:
    assert f"def test_it(self):\n    {after}\n" in drawn_texts(f"def test_it(self):\n    {body}\n")


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("assert f() == other", "assert f() == [other, other]"),
        ("assert kept == f()", "assert [kept, kept] == f()"),
        ("self.assertEqual(f(), other)", "self.assertEqual(f(), (other, other))"),
    ],
)
def test_an_equality_with_an_expression_is_also_made_one_with_a_list_of_it(body: str, after: str) -> None:
    """An object that equals everything fails `!=` as honest work does, and passes this."""
    texts = drawn_texts(f"def test_it(self):\n    {body}\n")
    assert f"def test_it(self):\n    {after}\n" in texts
    assert len(texts) == 2


def drawn_texts(source: str) -> set[str]:
    """What forty secrets make of a file."""
    made = [twin_python(source.encode(), "test_x.py", bytes([number])) for number in range(40)]
    return {one.source.decode() for one in made if one is not None}


def test_whether_a_test_counts_does_not_depend_on_the_secret() -> None:
    made = [twin_python(UNITTEST.encode(), "test_x.py", secret) for secret in SECRETS]
    assert all(one is not None and made[0] is not None and one.changed == made[0].changed for one in made)


def test_another_secret_draws_other_edits_of_the_same_file() -> None:
    source = "".join(f"def test_{n}():\n    assert f() == {n + 20}\n\n" for n in range(20)).encode()
    made = {one.source for secret in SECRETS if (one := twin_python(source, "test_x.py", secret)) is not None}
    assert len(made) == len(SECRETS)
    again = twin_python(source, "test_x.py", SECRETS[0])
    assert again is not None
    assert again.source in made


@given(
    text=st.text("ab -_/.,:é'\"\\{}%", max_size=12),
    template=st.sampled_from(["f{0!r}", "{0!r} + name", "{0!r}.format(name)", "name / {0!r}"]),
    secret=st.binary(max_size=2),
)
def test_a_template_is_changed_only_beside_what_is_put_in(text: str, template: str, secret: bytes) -> None:
    source = f"def test_it():\n    assert answer() == {template.format(text)}\n"
    try:
        value = eval(template.format(text), {"name": PurePosixPath("n") if "/ {" in template else "n"})  # noqa: S307
    except Exception:  # noqa: BLE001  # no template at all
        return
    made = twin_python(source.encode(), "test_x.py", secret)
    name = PurePosixPath("n") if "/ {" in template else "n"
    assert made is not None
    assert passes(source, answer=lambda: value, name=name)
    assert not passes(made.source, answer=lambda: value, name=name)


@pytest.mark.parametrize(
    "source",
    [b"", b"def test_x(:\n", b"\xff\xfe", "# coding: latin-1\ndef test_x():\n    assert f() == 'é'\n".encode("latin-1"), b"x = 1\n", b"\0"],
)  # fmt: skip
def test_what_cannot_be_read_has_no_twin(source: bytes) -> None:
    assert twin_python(source, "test_x.py", SECRET) is None


def test_line_ends_and_other_alphabets_do_not_move_an_edit() -> None:
    source = "def test_it():\r\n    s = 'ünïcödé'; assert answer() == 'grüße'\r\n".encode()
    made = twin_python(source, "test_x.py", SECRET)
    assert made is not None
    assert passes(source, answer=lambda: "grüße")
    assert not passes(made.source, answer=lambda: "grüße")
    assert made.source.count(b"\r\n") == 2


@given(st.text(max_size=400))
def test_no_text_breaks_it(text: str) -> None:
    made = twin_python(
        f"def test_it():\n    assert f() == {text}\n".encode(errors="replace"), "test_x.py", SECRET
    )
    assert made is None or ast.parse(made.source)
