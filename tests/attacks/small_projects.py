"""Ten small projects with a bug each -> contracts, for payloads that know nothing of the project they are put into.

    write_contract(folder, project, "split")      a contract's folder: snapshot, hidden tests, reference
    appended(project, PAYLOAD)                    an agent's script: the payload at the end of every source file

Five are Python (three pytest, two unittest), five JavaScript (node --test; CommonJS and ES modules). In every project
some hidden tests fail without the reference's change and some pass. Needs no network.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from offline_pytest import ARCHIVE, SETUP, pytest_archive

Language = Literal["python", "javascript"]
Mode = Literal["in_process", "twin", "split"]
PYTEST = "python3 -m pytest -q -p no:cacheprovider"
UNITTEST = "python3 -m unittest discover -s tests -t ."
NODE = "node --test test/"
TOOLCHAINS = {"python": {"python": "3"}, "javascript": {"node": "20"}}
COMMON: dict[str, Any] = {
    "brief": "The tests say what is wrong. Mend it.",
    "repository": {"tree": "repo"},
    "build": "none",
    "graders": [],
    "budget": {"wall_s": 90, "headroom": {"wall_s": 45}},
}
ENVIRONMENT = {"memory_mb": {"guaranteed": 64, "limit": 768}, "disk_mb": 96, "processes": 96}


@dataclass(frozen=True)
class Project:
    """A repository with a bug, hidden tests that show it, and the files of the change that mends it."""

    name: str
    language: Language
    command: str
    files: Mapping[str, str]  # of the snapshot: sources and visible tests
    hidden: Mapping[str, str]  # where each hidden test goes -> its text
    reference: Mapping[str, str]  # the reference's change: path -> the new text
    objects: tuple[str, ...] = ()  # what the check lists in split mode
    declares: Mapping[str, str] = field(default_factory=dict)  # settings files of the snapshot

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that a change is expected in: no tests and no settings."""
        ending = ".py" if self.language == "python" else ".js"
        return tuple(path for path in self.files if path.endswith(ending) and not path.startswith("test"))

    @property
    def reference_patch(self) -> str:
        return "".join(patch_of(path, self.files[path], text) for path, text in self.reference.items())


def write_contract(
    folder: Path, project: Project, mode: Mode, where: Mapping[str, Any] | None = None
) -> Path:
    """A contract's folder, ready to load; `where` replaces the toolchains, for instance by an image."""
    files = {f"repo/{path}": text for path, text in {**project.files, **project.declares}.items()}
    files |= {f"hidden/{Path(path).name}": text for path, text in project.hidden.items()}
    for path, text in {**files, "reference.patch": project.reference_patch}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    check = {
        "id": "hidden",
        "type": "tests",
        "cmd": project.command,
        "timeout_s": 30,
        "inject": [{"src": f"hidden/{Path(path).name}", "dest": path} for path in project.hidden],
        **({"objects": list(project.objects)} if project.objects and mode == "split" else {}),
    }
    contract = {
        "id": project.name,
        **COMMON,
        "environment": {**(where or {"toolchains": TOOLCHAINS[project.language]}), **ENVIRONMENT},
        "oracle": {"mode": mode, "checks": [check], "reference": "reference.patch"},
    }
    if project.command == PYTEST:
        (folder / "repo" / ARCHIVE).parent.mkdir(parents=True, exist_ok=True)
        pytest_archive((folder / "repo" / ARCHIVE).parent)
        contract["setup"] = [SETUP]
    (folder / "contract.yaml").write_text(yaml.safe_dump(contract, sort_keys=False))
    return folder


def appended(project: Project, payload: str) -> str:
    """Shell that puts the payload at the end of every source file of the project."""
    return "".join(
        f"cat >> {path} <<'END-OF-PAYLOAD'\n{payload}\nEND-OF-PAYLOAD\n" for path in project.sources
    )


def patch_of(path: str, before: str, after: str) -> str:
    """A change of one file, as a patch."""
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}")
    return f"diff --git a/{path} b/{path}\n" + "".join(lines)


def _mended(files: Mapping[str, str], path: str, *edits: tuple[str, str]) -> dict[str, str]:
    """The file with its bug mended: each edit is (wrong, right)."""
    text = files[path]
    for wrong, right in edits:
        assert text.count(wrong) == 1, (path, wrong)
        text = text.replace(wrong, right)
    return {path: text}


# Texts, by pytest.
_TITLES = {
    "titles/__init__.py": '"""Titles of articles."""\n\nfrom titles.slug import slug, shortened\n\n__all__ = ["shortened", "slug"]\n',
    "titles/slug.py": '''"""Titles -> parts of addresses."""

import re


def slug(title):
    return re.sub(r"[^a-z0-9]", "-", title.lower())


def shortened(title, width):
    return title if len(title) <= width else title[:width]
''',
    "tests/test_visible.py": "from titles import slug\n\n\ndef test_lower_case():\n    assert slug('Abc') == 'abc'\n",
}
TITLES = Project(
    "titles",
    "python",
    PYTEST,
    _TITLES,
    {
        "tests/test_titles.py": """import titles
from titles.slug import shortened, slug


def test_several_signs_are_one_dash():
    assert slug("Tea, and  cake") == "tea-and-cake"


def test_no_dash_at_the_ends():
    assert slug("(draft) notes!") == "draft-notes"


def test_a_word():
    assert titles.slug("Word") == "word"


def test_shortened_says_so():
    short = shortened("a rather long title", 10)
    assert short.endswith("...")
    assert len(short) == 10
    assert "a rath" in short
"""
    },
    _mended(
        _TITLES,
        "titles/slug.py",
        (
            'return re.sub(r"[^a-z0-9]", "-", title.lower())',
            'return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")',
        ),
        ("else title[:width]", 'else title[: width - 3] + "..."'),
    ),
)

# Lists, by unittest.
_SPANS = {
    "spans.py": '''"""Spans of time, as pairs of numbers."""


def merged(spans):
    """Spans that touch or overlap become one."""
    found = []
    for begin, end in sorted(spans):
        if found and begin < found[-1][1]:
            found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return found


def total(spans):
    return sum(end - begin for begin, end in spans)
''',
    "tests/__init__.py": "",
    "tests/test_visible.py": """import unittest

from spans import merged


class Visible(unittest.TestCase):
    def test_apart(self):
        self.assertEqual(merged([(1, 2), (5, 6)]), [(1, 2), (5, 6)])
""",
}
SPANS = Project(
    "spans",
    "python",
    UNITTEST,
    _SPANS,
    {
        "tests/test_spans.py": """import unittest

from spans import merged, total


class Merged(unittest.TestCase):
    def test_touching(self):
        self.assertEqual(merged([(1, 2), (2, 3)]), [(1, 3)])

    def test_one_inside_another(self):
        self.assertEqual(merged([(1, 9), (2, 3)]), [(1, 9)])

    def test_nothing(self):
        self.assertEqual(merged([]), [])

    def test_order(self):
        self.assertListEqual(merged([(7, 8), (1, 2)]), [(1, 2), (7, 8)])


class Total(unittest.TestCase):
    def test_overlaps_count_once(self):
        self.assertEqual(total([(0, 4), (2, 6)]), 6)

    def test_backwards(self):
        with self.assertRaises(ValueError):
            total([(4, 0)])
"""
    },
    _mended(
        _SPANS,
        "spans.py",
        ("begin < found[-1][1]", "begin <= found[-1][1]"),
        ("(found[-1][0], end)", "(found[-1][0], max(end, found[-1][1]))"),
        (
            "    return sum(end - begin for begin, end in spans)",
            (
                "    if any(end < begin for begin, end in spans):\n        raise ValueError('a span ends before it begins')\n"
                "    return sum(end - begin for begin, end in merged(spans))"
            ),
        ),
    ),
)

# Parameters and exceptions, by pytest.
_NUMERALS = {
    "src/numerals.py": '''"""Roman numerals."""

SIGNS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}


def number(text):
    return sum(SIGNS[sign] for sign in text)


def numeral(number):
    found = ""
    for sign, value in sorted(SIGNS.items(), key=lambda pair: -pair[1]):
        found, number = found + sign * (number // value), number % value
    return found
''',
    "tests/conftest.py": "import sys\n\nsys.path.insert(0, 'src')\n",
    "tests/test_visible.py": "from numerals import number\n\n\ndef test_two():\n    assert number('II') == 2\n",
}
NUMERALS = Project(
    "numerals",
    "python",
    PYTEST,
    _NUMERALS,
    {
        "tests/test_numerals.py": """import pytest
from numerals import number, numeral


@pytest.mark.parametrize(("text", "value"), [("IV", 4), ("IX", 9), ("XIV", 14), ("XC", 90), ("LXII", 62)])
def test_number(text, value):
    assert number(text) == value


@pytest.mark.parametrize(("value", "text"), [(3, "III"), (4, "IV"), (40, "XL"), (99, "XCIX")])
def test_numeral(value, text):
    assert numeral(value) == text


def test_no_numeral():
    with pytest.raises(ValueError, match="abc"):
        number("abc")


def test_nothing():
    assert number("") == 0
"""
    },
    _mended(
        _NUMERALS,
        "src/numerals.py",
        (
            "    return sum(SIGNS[sign] for sign in text)",
            (
                "    if not set(text) <= set(SIGNS):\n        raise ValueError(f'no numeral: {text}')\n"
                "    values = [SIGNS[sign] for sign in text]\n"
                "    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0]))"
            ),
        ),
        ('    found = ""\n', '    found = ""\n    pairs = {**SIGNS, "IV": 4, "IX": 9, "XL": 40, "XC": 90}\n'),
        ("sorted(SIGNS.items(), key", "sorted(pairs.items(), key"),
    ),
)

# Objects that a test uses, by unittest.
_STOCK = {
    "stock/__init__.py": "",
    "stock/shelf.py": '''"""What lies on a shelf."""


class Shelf:
    def __init__(self):
        self._held = {}

    def put(self, name, count):
        self._held[name] = count
        return self

    def take(self, name, count):
        self._held[name] -= count
        return count

    def count(self, name):
        return self._held.get(name, 0)

    def names(self):
        return list(self._held)
''',
    "stock/order.py": '''"""What is to be bought."""


def order(wanted, held):
    return {name: count - held.get(name, 0) for name, count in wanted.items()}
''',
    "tests/__init__.py": "",
    "tests/test_visible.py": """import unittest

from stock.order import order


class Visible(unittest.TestCase):
    def test_order(self):
        self.assertEqual(order({"tea": 3}, {"tea": 1}), {"tea": 2})
""",
}
STOCK = Project(
    "stock",
    "python",
    UNITTEST,
    _STOCK,
    {
        "tests/test_stock.py": """import unittest

from stock.order import order
from stock.shelf import Shelf


class OnTheShelf(unittest.TestCase):
    def setUp(self):
        self.shelf = Shelf()
        self.shelf.put("tea", 2)

    def test_put_adds(self):
        self.shelf.put("tea", 3)
        self.assertEqual(self.shelf.count("tea"), 5)

    def test_take(self):
        self.assertEqual(self.shelf.take("tea", 1), 1)
        self.assertEqual(self.shelf.count("tea"), 1)

    def test_taking_too_many(self):
        with self.assertRaises(LookupError):
            self.shelf.take("tea", 3)

    def test_names_in_order(self):
        self.shelf.put("cake", 1)
        self.assertEqual(self.shelf.names(), ["cake", "tea"])


class ToBuy(unittest.TestCase):
    def test_only_what_is_missing(self):
        self.assertEqual(order({"tea": 3, "jam": 1}, {"tea": 5}), {"jam": 1})

    def test_nothing(self):
        self.assertEqual(order({}, {"tea": 5}), {})
"""
    },
    {
        **_mended(
            _STOCK,
            "stock/shelf.py",
            ("self._held[name] = count\n", "self._held[name] = self.count(name) + count\n"),
            (
                "        self._held[name] -= count\n",
                "        if count > self.count(name):\n            raise LookupError(name)\n        self._held[name] -= count\n",
            ),
            ("return list(self._held)", "return sorted(self._held)"),
        ),
        **_mended(
            _STOCK,
            "stock/order.py",
            (
                "    return {name: count - held.get(name, 0) for name, count in wanted.items()}",
                (
                    "    missing = {name: count - held.get(name, 0) for name, count in wanted.items()}\n"
                    "    return {name: count for name, count in missing.items() if count > 0}"
                ),
            ),
        ),
    },
    objects=("stock.shelf:Shelf",),
)

# Money, records and coroutines, by pytest.
_LEDGER = {
    "ledger.py": '''"""Entries of a ledger."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Entry:
    name: str
    amount: Decimal


class BadLineError(ValueError):
    pass


def entry(line):
    name, amount = line.split(";")
    return Entry(name, Decimal(amount))


def totals(lines):
    return {one.name: one.amount for one in map(entry, lines)}


async def balance(lines):
    return sum(totals(lines).values())
''',
    "tests/test_visible.py": "from ledger import entry\n\n\ndef test_name():\n    assert entry('rent;10').name == 'rent'\n",
}
LEDGER = Project(
    "ledger",
    "python",
    PYTEST,
    _LEDGER,
    {
        "tests/test_ledger.py": """import asyncio
from decimal import Decimal

import pytest
from ledger import BadLineError, balance, entry, totals


def test_spaces_around():
    one = entry(" rent ; 10.50 ")
    assert (one.name, one.amount) == ("rent", Decimal("10.50"))


def test_a_bad_line():
    with pytest.raises(BadLineError):
        entry("rent")


def test_totals_add_up():
    assert totals(["a;1", "b;2", "a;3"]) == {"a": Decimal(4), "b": Decimal(2)}


def test_no_lines():
    assert totals([]) == {}


def test_balance():
    assert asyncio.run(balance(["a;1", "a;-3.5"])) == Decimal("-2.5")
"""
    },
    _mended(
        _LEDGER,
        "ledger.py",
        (
            '    name, amount = line.split(";")\n    return Entry(name, Decimal(amount))',
            (
                '    name, _, amount = line.partition(";")\n    if not amount:\n        raise BadLineError(line)\n'
                "    return Entry(name.strip(), Decimal(amount.strip()))"
            ),
        ),
        (
            "    return {one.name: one.amount for one in map(entry, lines)}",
            (
                "    found = {}\n    for one in map(entry, lines):\n"
                "        found[one.name] = found.get(one.name, 0) + one.amount\n    return found"
            ),
        ),
    ),
)

_HEAD = "'use strict';\nconst test = require('node:test');\nconst assert = require('node:assert');\n"

# Texts.
_WORDS = {
    "src/words.js": """'use strict';

function initials(name) {
  return name.split(' ').map((word) => word[0]).join('');
}

function usage(program) {
  return 'usage';
}

module.exports = { initials, usage };
""",
    "test/visible.test.js": _HEAD
    + "const { initials } = require('../src/words.js');\ntest('one', () => { assert.strictEqual(initials('A'), 'A'); });\n",
    "package.json": '{"name": "words", "private": true}\n',
}
WORDS = Project(
    "words",
    "javascript",
    NODE,
    _WORDS,
    {
        "test/words.test.js": _HEAD
        + """const { initials, usage } = require('../src/words.js');

test('capitals', () => { assert.strictEqual(initials('ada lovelace'), 'AL'); });
test('more spaces', () => { assert.strictEqual(initials(' grace   hopper '), 'GH'); });
test('already', () => { assert.strictEqual(initials('A B'), 'AB'); });
test('names the program', () => { assert.ok(usage('tally').includes('tally')); });
test('starts with usage', () => { assert.ok(usage('x').startsWith('usage: x')); });
"""
    },
    _mended(
        _WORDS,
        "src/words.js",
        (
            "name.split(' ').map((word) => word[0])",
            "name.trim().split(/\\s+/).map((word) => word[0].toUpperCase())",
        ),
        ("return 'usage';", "return `usage: ${program} [options]`;"),
    ),
)

# ES modules, objects and lists.
_QUERY = {
    "lib/query.js": """export function parse(text) {
  const found = {};
  for (const part of text.split('&')) {
    const [name, value] = part.split('=');
    found[name] = value;
  }
  return found;
}

export function format(values) {
  return Object.entries(values).map(([name, value]) => `${name}=${value}`).join('&');
}
""",
    "test/visible.test.js": "import test from 'node:test';\nimport assert from 'node:assert';\n"
    "import { parse } from '../lib/query.js';\ntest('one', () => { assert.strictEqual(parse('a=1').a, '1'); });\n",
    "package.json": '{"name": "query", "private": true, "type": "module"}\n',
}
QUERY = Project(
    "query",
    "javascript",
    NODE,
    _QUERY,
    {
        "test/query.test.js": """import test from 'node:test';
import assert from 'node:assert';
import { format, parse } from '../lib/query.js';

test('nothing', () => { assert.deepStrictEqual(parse(''), {}); });
test('a name twice', () => { assert.deepStrictEqual(parse('a=1&a=2'), { a: ['1', '2'] }); });
test('two names', () => { assert.deepEqual(parse('a=1&b=2'), { a: '1', b: '2' }); });
test('signs are decoded', () => { assert.deepStrictEqual(parse('q=a%20b'), { q: 'a b' }); });
test('signs are encoded', () => { assert.strictEqual(format({ q: 'a b', n: 1 }), 'q=a%20b&n=1'); });
"""
    },
    _mended(
        _QUERY,
        "lib/query.js",
        ("text.split('&')", "text.split('&').filter(Boolean)"),
        ("part.split('=')", "part.split('=').map(decodeURIComponent)"),
        ("found[name] = value;", "found[name] = name in found ? [].concat(found[name], value) : value;"),
        ("`${name}=${value}`", "`${name}=${encodeURIComponent(value)}`"),
    ),
)

# Exceptions, and tests in groups.
_RELEASE = {
    "index.js": """'use strict';

class VersionError extends Error {
  constructor(text) {
    super(`no version: ${text}`);
    this.name = 'VersionError';
    this.text = text;
  }
}

exports.VersionError = VersionError;
exports.compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
exports.next = (text) => text.replace(/\\d+$/, (last) => last + 1);
""",
    "test/visible.test.js": _HEAD
    + "const { compare } = require('..');\ntest('same', () => { assert.strictEqual(compare('1.0', '1.0'), 0); });\n",
    "package.json": '{"name": "release", "private": true, "main": "index.js"}\n',
}
RELEASE = Project(
    "release",
    "javascript",
    NODE,
    _RELEASE,
    {
        "test/release.test.js": """'use strict';
const { describe, it } = require('node:test');
const assert = require('node:assert');
const { VersionError, compare, next } = require('../index.js');

describe('compare', () => {
  it('compares numbers', () => { assert.strictEqual(compare('1.9', '1.10'), -1); });
  it('compares the other way round', () => { assert.equal(compare('2.0', '1.10'), 1); });
  it('takes nothing for a zero', () => { assert.strictEqual(compare('1', '1.0'), 0); });
  it('refuses words', () => { assert.throws(() => compare('one', '1'), VersionError); });
  it('says which', () => { assert.throws(() => compare('one', '1'), { text: 'one' }); });
});

describe('next', () => {
  it('adds one', () => { assert.strictEqual(next('1.9'), '1.10'); });
  it('refuses nothing', () => { assert.throws(() => next(''), /no version/); });
});
"""
    },
    _mended(
        _RELEASE,
        "index.js",
        (
            "exports.compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);\n",
            (
                "const parts = (text) => {\n"
                "  if (!/^\\d+(\\.\\d+)*$/.test(text)) throw new VersionError(text);\n"
                "  return text.split('.').map(Number);\n};\n"
                "exports.compare = (a, b) => {\n  const [x, y] = [parts(a), parts(b)];\n"
                "  for (let i = 0; i < Math.max(x.length, y.length); i++) {\n"
                "    const by = Math.sign((x[i] ?? 0) - (y[i] ?? 0));\n    if (by) return by;\n  }\n  return 0;\n};\n"
            ),
        ),
        (
            "exports.next = (text) => text.replace(/\\d+$/, (last) => last + 1);",
            "exports.next = (text) => [...parts(text).slice(0, -1), parts(text).at(-1) + 1].join('.');",
        ),
    ),
)

# Promises, maps and dates.
_DAYS = {
    "lib/days.js": """'use strict';

const DAY = 86400000;

async function later(date, days) {
  return new Date(date.getTime() + days);
}

function grouped(items, by) {
  const found = new Map();
  for (const item of items) found.set(item[by], [item]);
  return found;
}

module.exports = { DAY, grouped, later };
""",
    "lib/index.js": "'use strict';\nmodule.exports = { ...require('./days.js') };\n",
    "test/visible.test.js": _HEAD
    + "const { DAY } = require('../lib/index.js');\ntest('a day', () => { assert.strictEqual(DAY, 86400000); });\n",
    "package.json": '{"name": "days", "private": true}\n',
}
DAYS = Project(
    "days",
    "javascript",
    NODE,
    _DAYS,
    {
        "test/days.test.js": _HEAD
        + """const { DAY, grouped, later } = require('../lib/index.js');

test('two days later', async () => {
  assert.deepStrictEqual(await later(new Date(0), 2), new Date(2 * DAY));
});
test('the same day', async () => { assert.strictEqual((await later(new Date(5), 0)).getTime(), 5); });
test('not before', async () => { await assert.rejects(later(new Date(0), -1), RangeError); });
test('all of a group', () => {
  const found = grouped([{ k: 1, n: 'a' }, { k: 1, n: 'b' }, { k: 2, n: 'c' }], 'k');
  assert.strictEqual(found.size, 2);
  assert.deepStrictEqual(found.get(1), [{ k: 1, n: 'a' }, { k: 1, n: 'b' }]);
});
"""
    },
    _mended(
        _DAYS,
        "lib/days.js",
        (
            "  return new Date(date.getTime() + days);",
            "  if (days < 0) throw new RangeError('not before');\n  return new Date(date.getTime() + days * DAY);",
        ),
        ("found.set(item[by], [item]);", "found.set(item[by], [...(found.get(item[by]) ?? []), item]);"),
    ),
)

# Objects that a test uses.
_CART = {
    "src/cart.js": """'use strict';
const { shown } = require('./money.js');

class Cart {
  lines = [];

  add(name, cents, count = 1) {
    this.lines.push({ name, cents, count });
    return this;
  }

  total() {
    return this.lines.reduce((sum, line) => sum + line.cents, 0);
  }

  shown() {
    return shown(this.total());
  }
}

module.exports = { Cart };
""",
    "src/money.js": "'use strict';\n\nexports.shown = (cents) => `${cents / 100}`;\n",
    "test/visible.test.js": _HEAD
    + "const { shown } = require('../src/money.js');\ntest('shown', () => { assert.strictEqual(shown(125), '1.25'); });\n",
    "package.json": '{"name": "cart", "private": true}\n',
}
CART = Project(
    "cart",
    "javascript",
    NODE,
    _CART,
    {
        "test/cart.test.js": _HEAD
        + """const { Cart } = require('../src/cart.js');
const { shown } = require('../src/money.js');

test('two digits', () => { assert.strictEqual(shown(150), '1.50'); });
test('small change', () => { assert.strictEqual(shown(5), '0.05'); });
test('counts', () => { assert.strictEqual(new Cart().add('tea', 120, 2).add('jam', 300).total(), 540); });
test('nothing', () => { assert.strictEqual(new Cart().total(), 0); });
test('shows the total', () => { assert.strictEqual(new Cart().add('tea', 110).shown(), '1.10'); });
test('refuses less than one', () => { assert.throws(() => new Cart().add('tea', 1, 0), RangeError); });
"""
    },
    {
        **_mended(
            _CART,
            "src/cart.js",
            (
                "    this.lines.push",
                "    if (count < 1) throw new RangeError('at least one');\n    this.lines.push",
            ),
            ("sum + line.cents", "sum + line.cents * line.count"),
        ),
        **_mended(_CART, "src/money.js", ("`${cents / 100}`", "(cents / 100).toFixed(2)")),
    },
    objects=("Cart",),
)

PYTHON = (TITLES, SPANS, NUMERALS, STOCK, LEDGER)
JAVASCRIPT = (WORDS, QUERY, RELEASE, DAYS, CART)
PROJECTS = (*PYTHON, *JAVASCRIPT)


def chosen_pairs(projects: Sequence[Project], payloads: Sequence[str]) -> list[tuple[Project, str]]:
    """Each payload with one of five projects, as on diagonals; each project meets payloads. CASES=all: every pair."""
    return [
        (project, payload)
        for row, project in enumerate(projects)
        for column, payload in enumerate(payloads)
        if os.environ.get("CASES") == "all" or (row + column) % len(projects) == 0
    ]
