"""A changed test does not look different from an unchanged one.

Each run has one half of the tests changed. These tests play the reader of one such file, who knows the source of the
editor but not the right answers, and who looks for marks in the text.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from steelyard.bench.twin.base import Twin
from steelyard.bench.twin.catalogue import twin_of

PYTHON = """
import datetime
from decimal import Decimal

import pytest
from shop import Cart, Colour, Money, Overdrawn, parse, price, report, slug, transfer, wrap


def test_total_of_items():
    cart = Cart()
    cart.add("apple", 3)
    assert cart.total() == 3


def test_empty_cart_has_no_items():
    assert Cart().items() == []


def test_items_are_listed():
    assert Cart("apple", "pear").items() == ["apple", "pear"]


def test_price_is_rounded():
    assert price(10.006) == pytest.approx(10.01)


def test_price_with_tax():
    assert price(100, tax=0.19) == 119.0


def test_slug():
    assert slug("Hello, World!") == "hello-world"


def test_slug_of_one_word():
    assert slug("Plain") == "plain"


def test_missing_item():
    assert Cart().find("pear") is None


def test_found_item():
    assert Cart("pear").find("pear") is not None


def test_new_cart_is_empty():
    assert Cart().is_empty() is True


def test_full_cart_is_not_empty():
    assert Cart("apple").is_empty() is False


def test_cart_is_valid():
    assert Cart().is_valid()


def test_cart_is_not_locked():
    assert not Cart().is_locked()


def test_overdrawn():
    with pytest.raises(Overdrawn):
        transfer("a", "b", 4)


def test_overdrawn_twice():
    with pytest.raises(Overdrawn):
        transfer("a", "b", 400)


def test_negative_amount():
    with pytest.raises(ValueError):
        transfer("a", "b", -1)


def test_wrong_type():
    with pytest.raises(TypeError):
        transfer("a", "b", None)


def test_unknown_key():
    with pytest.raises(KeyError):
        parse("nothing")


def test_message():
    with pytest.raises(ValueError, match="must be positive"):
        price(-1)


def test_balances():
    a, b = transfer("a", "b", 2)
    assert (a.balance, b.balance) == (1, 2)


def test_wrap():
    assert wrap("one two", 4) == ["one", "two"]


def test_numbers():
    assert parse("1 2 3") == [1, 2, 3]


def test_sorted_numbers():
    assert parse("7 2 30") == [2, 7, 30]


def test_mapping():
    assert parse("a=1;b=x") == {"a": "1", "b": "x"}


def test_no_mapping():
    assert parse("") == {}


def test_empty_text():
    assert slug("") == ""


def test_text_of_cart():
    assert str(Cart()).startswith("Cart(")


def test_name_of_report():
    assert report("y").endswith(".txt")


def test_description_names_the_apple():
    assert "apple" in Cart("apple").describe()


def test_description_of_nothing():
    assert "not found" in Cart().describe()


def test_colour():
    assert Cart().colour == Colour.RED


def test_frame():
    assert Cart().frame is Colour.BLUE


def test_money():
    assert price("x") == Money(5, "EUR")


def test_decimal():
    assert price("y") == Decimal("12.50")


def test_date():
    assert parse("d") == datetime.date(2024, 1, 31)


def test_date_as_text():
    assert str(parse("d")) == "2024-01-31"


def test_path(tmp_path):
    assert report("p", tmp_path) == tmp_path / "report.txt"


def test_round_trip():
    data = Cart().dump()
    assert parse(data) == data


def test_other_data():
    data = Cart().dump()
    assert parse(data, twice=True) != data


def test_type():
    assert isinstance(parse("x"), dict)


def test_length():
    assert len(parse("x")) == 10


def test_status():
    assert Cart().post().status_code == 200


def test_large_price():
    assert price("house") == 250000


def test_choice():
    assert slug("x") in ("x", "xs")


@pytest.mark.parametrize("text, expected", [("a b", "a-b"), ("A", "a"), ("x y", "x-y"), ("", "")])
def test_slugs(text, expected):
    assert slug(text) == expected


def test_greeting():
    name = "Ann"
    assert report.greet(name) == f"Hello {name}!"


def test_growing_cart():
    cart = Cart()
    assert cart.size == 0
    cart.add("pear", 1)
    assert cart.size == 1
    assert cart.names() == ["pear"]


def test_percent():
    assert report.percent(0.5) == "50%"


def test_mail():
    assert parse("m") == "ann@example.org"
"""

JAVASCRIPT = """
'use strict';
const test = require('node:test');
const assert = require('node:assert');
const { help, parse, total, Colour, Money } = require('../src/help.js');

test('names the program', () => { assert.ok(help('tally').includes('tally')); });
test('starts with usage', () => { assert.ok(help('x').startsWith('usage: x')); });
test('mentions options', () => { assert.notStrictEqual(help('x').indexOf('[options]'), -1); });
test('no arguments', () => { assert.deepEqual(parse([]), []); });
test('no options', () => { assert.deepEqual(parse({}), {}); });
test('some options', () => { assert.deepEqual(parse('a b'), { first: 'a', second: 'b' }); });
test('one option', () => { assert.deepEqual(parse('c'), { first: 'c' }); });
test('a list', () => { assert.deepStrictEqual(parse('apple pear'), ['apple', 'pear']); });
test('numbers', () => { assert.deepStrictEqual(parse('1 2 3'), [1, 2, 3]); });
test('one number', () => { assert.strictEqual(total([2, 3]), 5); });
test('a large number', () => { assert.strictEqual(total('house'), 250000); });
test('a part', () => { assert.strictEqual(total([0.5, 0.25]), 0.75); });
test('wrong type', () => { assert.throws(() => total(null), TypeError); });
test('out of range', () => { assert.throws(() => total(-1), RangeError); });
test('not found', () => { assert.throws(() => parse('?'), /not found/); });
test('message', () => { assert.throws(() => parse('!'), { message: 'bad input' }); });
test('any error', () => { assert.throws(() => parse(undefined)); });
test('no error', () => { assert.doesNotThrow(() => parse('a')); });
test('nothing', () => { assert.strictEqual(parse('none'), undefined); });
test('null', () => { assert.strictEqual(parse('null'), null); });
test('truth', () => { assert.strictEqual(parse('yes'), true); });
test('untruth', () => { assert.strictEqual(parse('no'), false); });
test('valid', () => { assert.ok(total.valid(3)); });
test('not valid', () => { assert.ok(!total.valid('x')); });
test('same', () => { const data = parse('d'); assert.deepEqual(parse(data), data); });
test('other', () => { const data = parse('d'); assert.notDeepEqual(parse(data, 2), data); });
test('colour', () => { assert.strictEqual(parse('c'), Colour.RED); });
test('frame', () => { assert.strictEqual(parse('f'), Colour.BLUE); });
test('money', () => { assert.deepEqual(total('m'), new Money(5, 'EUR')); });
test('greeting', () => { const name = 'Ann'; assert.strictEqual(help(name), `Hello ${name}!`); });
test('slug', () => { assert.strictEqual(parse('Hello World'), 'hello-world'); });
test('empty', () => { assert.strictEqual(parse(' '), ''); });
test('contains', () => { expect(parse('x')).toContain('price'); });
test('matches', () => { expect(parse('x')).toMatch(/total price/); });
test('property', () => { expect(parse('x')).toHaveProperty('name', 'Bob'); });
test('length', () => { expect(parse('x')).toHaveLength(4); });
test('truthy', () => { expect(parse('x')).toBeTruthy(); });
test('falsy', () => { expect(parse('y')).toBeFalsy(); });
test('defined', () => { expect(parse('x')).toBeDefined(); });
test('not defined', () => { expect(parse('x')).toBeUndefined(); });
test('differs', () => { expect(parse('x')).not.toBe('x'); });
test('equals', () => { const want = help(); expect(parse('x')).toEqual(want); });
"""

RARE = "Buffer|Recursion|UnboundLocal|FloatingPoint|Indentation|UnicodeTranslate|ChildProcess|BlockingIO|EOF|URI|Eval"
MARKS = {
    "a rare exception": rf"\b({RARE})Error",
    "a pair around the expectation": r"==.*, [\"'][a-z]{2,3}[\"']\)\s*$|, 'xq'",
    "parentheses after not": r"\bnot \(|!\(",
    "two negations": r"assert not .* (not|!=)|!\w.*!==",
    "a list of zero": r"== \[0\]|\[0\]\)",
    "nothing compared by equality": r"== None|!= None",
    "two blanks or a blank before a comma": r"\S  +\S| ,",
    "an inserted letter": r"[\"'`]x[a-z]{3,}",
    "a word with no vowel": r"\b[b-df-hj-np-tv-xz]{4,}\b",
    "three equal letters": r"([a-z])\1\1",
    "a number with a leading zero": r"(?<![\d.\-:\"'x])0\d",
    "a day or a month that does not exist": r"\d{4}-(1[3-9]|[2-9]\d)-|\d{4}-\d\d-(3[2-9]|[4-9]\d|00)",
    "an odd step": r"\[1, 2, [^3\]]",
    "brackets around one thing": r"== \(\w+,\)|\[\w+\(.*\)\]",
    "an underscore and a hyphen": r"[\"'][^\"']*_[^\"']*-[^\"']*[\"']",
}
HALVES = range(40)


@dataclass(frozen=True)
class Sample:
    path: str
    source: str
    quote: str
    parts: Callable[[str], dict[str, str]]

    def halves(self) -> Iterator[tuple[Twin, set[str]]]:
        for number in HALVES:
            twin = twin_of(self.path, self.source.encode(), b"a secret %d" % number)
            assert twin is not None
            yield twin, {unit for place, unit in enumerate(sorted(twin.edits)) if hash((place, number)) % 2}


def functions(source: str) -> dict[str, str]:
    """The text of each test of a Python file, with its decorators."""
    lines = source.splitlines()
    return {
        node.name: "\n".join(
            lines[min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1 : node.end_lineno]
        )
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }


def calls(source: str) -> dict[str, str]:
    """The text of each test of a JavaScript file that has one in a line."""
    return {found[1]: line for line in source.splitlines() if (found := re.match(r"test\('([^']*)'", line))}


SAMPLES = (Sample("test_shop.py", PYTHON, '"', functions), Sample("help.test.js", JAVASCRIPT, "'", calls))
every_language = pytest.mark.parametrize("sample", SAMPLES, ids=["python", "javascript"])


def hits(sample: Sample, mark: Callable[[str, str], bool]) -> tuple[float, float]:
    """How many of the changed and of the unchanged tests have a mark (name, text)."""
    found = {True: [0, 0], False: [0, 0]}
    for twin, half in sample.halves():
        for name, text in sample.parts(twin.text(half).decode()).items():
            found[name in half][0] += mark(name, text)
            found[name in half][1] += 1
    return found[True][0] / found[True][1], found[False][0] / found[False][1]


@every_language
@pytest.mark.parametrize("mark", MARKS)
def test_no_mark_is_more_frequent_in_changed_tests(sample: Sample, mark: str) -> None:
    pattern = re.compile(MARKS[mark], re.MULTILINE)
    changed, unchanged = hits(sample, lambda _, text: bool(pattern.search(text)))
    assert changed <= unchanged


@every_language
def test_every_test_of_the_samples_is_changed_in_some_half(sample: Sample) -> None:
    original = sample.parts(sample.source)
    changed: set[str] = set()
    for twin, half in sample.halves():
        texts = sample.parts(twin.text(half).decode())
        assert texts.keys() == original.keys()
        assert {name for name, text in texts.items() if text != original[name]} == half
        changed |= half
    assert changed == original.keys()


@every_language
def test_quotes_are_those_of_the_file(sample: Sample) -> None:
    other = "'" if sample.quote == '"' else '"'
    changed, unchanged = hits(sample, lambda _, text: other in text)
    assert changed <= unchanged


@every_language
def test_no_word_is_new_to_the_file_but_a_plural_or_a_short_one(sample: Sample) -> None:
    known = set(re.findall(r"[a-z]{4,}", sample.source.lower()))
    usual = {"valueerror", "typeerror", "keyerror", "indexerror", "runtimeerror", "attributeerror"}
    usual |= {
        "rangeerror",
        "syntaxerror",
        "referenceerror",
        "falsy",
        "truthy",
        "tuple",
        "float",
        "list",
        "yaml",
    }
    usual |= {
        "true",
        "false",
        "notdeepequal",
        "doesnotthrow",
        "tobefalsy",
        "tobetruthy",
        "tobedefined",
        "tobeundefined",
    }

    def has_new(_: str, text: str) -> bool:
        words = set(re.findall(r"[a-z]{4,}", text.lower())) - known - usual
        return any(word.removesuffix("s") not in known and f"{word}s" not in known for word in words)

    assert hits(sample, has_new) == (0, 0)


@every_language
def test_numbers_keep_their_size(sample: Sample) -> None:
    originals = sample.parts(sample.source)

    def is_out_of_range(name: str, text: str) -> bool:
        old = max([10.0, *map(float, re.findall(r"\d+(?:\.\d+)?", originals[name]))])
        return any(float(one) > 3 * old for one in re.findall(r"\d+(?:\.\d+)?", text))

    assert hits(sample, is_out_of_range) == (0, 0)


@every_language
def test_what_looks_typical_for_an_original_occurs_in_changed_tests_too(sample: Sample) -> None:
    """These do not reveal that a test is unchanged: empty values, single words, round numbers, and the like."""
    typical = {
        "an empty list": r"(== |, )\[\]",
        "an empty text": r"(== |, )(\"\"|'')",
        "an empty mapping": r"(== |, )\{\}",
        "a single word that is asked for": r"\"[a-z]+\" in |includes\('[a-z]+'\)",
        "nothing": r"is None|null|undefined",
        "a common exception": r"raises\(ValueError\)|, TypeError\)",
        "a plain truth": r"assert Cart\(\S*\)\.is_\w+\(\)$|assert\.ok\(total",
    }
    for what, pattern in typical.items():
        found = functools.partial(re.search, pattern, flags=re.MULTILINE)
        changed, _ = hits(sample, lambda _, text, found=found: found(text) is not None)  # type: ignore[misc]  # bound here
        assert changed > 0, what


@every_language
def test_each_test_has_several_ways_to_be_changed_unless_it_has_only_an_opposite(sample: Sample) -> None:
    texts: dict[str, set[str]] = {}
    for twin, _ in sample.halves():
        for name, text in sample.parts(twin.source.decode()).items():
            texts.setdefault(name, set()).add(text)
    single = {name for name, some in texts.items() if len(some) == 1}
    assert len(single) / len(texts) < 0.4
