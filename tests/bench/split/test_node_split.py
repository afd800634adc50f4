"""Split oracles for JavaScript: tests in one sandbox, the candidate's scripts in another, in real sandboxes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from split_stage import SplitStage, all_passed, details

from steelyard.bench.runners.base import RunnerResult
from steelyard.filesystem.owner import run_uid

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node")

SANDBOXES = ["bubblewrap", "docker"]
COMMAND = "node --test test/hidden.test.js"
HEAD = "const test = require('node:test'); const assert = require('node:assert');\n"
SLUG = "exports.slugify = (text) => String(text).toLowerCase().replace(/\\s+/g, '-');\n"
SLUG_TESTS = (
    HEAD + "const { slugify } = require('../src/slug.js');\n"
    "test('three words', () => { assert.strictEqual(slugify('a b c'), 'a-b-c'); });\n"
    "test('one word', () => { assert.strictEqual(slugify('One'), 'one'); });\n"
)


@pytest.fixture
def split(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> SplitStage:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    home = tmp_path / "home"
    home.mkdir()
    if os.geteuid() == 0:
        os.chown(home, run_uid(), run_uid())
    return SplitStage(tmp_path, home, kind)


def outcomes(ran: RunnerResult) -> dict[str, str]:
    return {one.id.partition("::")[2] or one.id: one.outcome for one in ran.reported.results}


def tried(split: SplitStage, candidate: str, tests: str, **fields: object) -> RunnerResult:
    """`candidate` is src/lib.js; `tests` are bodies with `lib` in reach."""
    hidden = HEAD + "const lib = require('../src/lib.js');\n" + tests
    return split.run({"src/lib.js": candidate}, {"test/hidden.test.js": hidden}, command=COMMAND, **fields)  # type: ignore[arg-type]


def test_functions_are_called_across(split: SplitStage) -> None:
    ran = split.run({"src/slug.js": SLUG}, {"test/hidden.test.js": SLUG_TESTS}, command=COMMAND)
    assert all_passed(ran), ran
    assert [one.id for one in ran.reported.results] == [
        "test/hidden.test.js::three words",
        "test/hidden.test.js::one word",
    ]


def test_a_wrong_candidate_fails_the_tests_that_show_it(split: SplitStage) -> None:
    wrong = "exports.slugify = (text) => String(text).toLowerCase();\n"
    ran = split.run(
        {"src/slug.js": SLUG},
        {"test/hidden.test.js": SLUG_TESTS},
        change={"src/slug.js": wrong},
        command=COMMAND,
    )
    assert outcomes(ran) == {"three words": "failed", "one word": "passed"}


def test_every_kind_of_plain_data_arrives_as_it_left(split: SplitStage) -> None:
    ran = tried(
        split,
        "exports.same = (...values) => values;\n",
        r"""
const values = [
  null, undefined, true, 0, -0, 1.5, -7, 2 ** 53, 1e300, 1e21, NaN, Infinity, -Infinity, 10n ** 30n, -1n,
  '', 'ä€😀', '\ud800', '\u2028', [1, [2, []]], {}, { a: 1, b: { c: [null] } }, { ['__proto__']: 1, toString: 2 },
  Object.create(null), new Map([[1, 'a'], ['b', { c: 2 }]]), new Set([1, 'x']), new Date(86400000),
  Buffer.from([0, 255]), new Uint8Array([1, 2]), new Float64Array([0.1]),
];
for (const [n, value] of values.entries()) test(`value ${n}`, () => { assert.deepStrictEqual(lib.same(value), [value]); });
test('several', () => { assert.deepStrictEqual(lib.same(1, undefined, 'x'), [1, undefined, 'x']); });
""",
    )
    assert all_passed(ran), details(ran)


def test_promises_are_promises(split: SplitStage) -> None:
    ran = tried(
        split,
        "exports.later = async (n) => { await new Promise((r) => setTimeout(r, 5)); if (n < 0) throw new RangeError('no');"
        " return n + 1; };\n",
        """
test('resolves', async () => { const p = lib.later(1); assert(p instanceof Promise); assert.equal(await p, 2); });
test('rejects', async () => { await assert.rejects(lib.later(-1), RangeError); });
test('does not throw', () => { lib.later(-1).catch(() => {}); });
""",
    )
    assert all_passed(ran), details(ran)


def test_exceptions_keep_their_class_their_words_and_what_they_carry(split: SplitStage) -> None:
    ran = tried(
        split,
        "class ParseError extends SyntaxError { constructor(m, at) { super(m); this.name = 'ParseError'; this.at = at; } }\n"
        "exports.ParseError = ParseError;\n"
        "exports.parse = () => { throw new ParseError('bad', 7); };\n"
        "exports.type = () => null.x; exports.odd = () => { throw 5; };\n",
        """
test('class', () => { assert.throws(() => lib.parse(), lib.ParseError); });
test('base', () => { assert.throws(() => lib.parse(), SyntaxError); });
test('fields', () => { assert.throws(() => lib.parse(), { name: 'ParseError', message: 'bad', at: 7 }); });
test('builtin', () => { assert.throws(() => lib.type(), TypeError); });
test('not an error', () => { try { lib.odd(); } catch (e) { assert.equal(e, 5); return; } assert.fail(); });
test('no other', () => { assert.throws(() => assert.throws(() => lib.type(), RangeError), assert.AssertionError); });
""",
    )
    assert all_passed(ran), details(ran)


def test_functions_that_are_given_back_can_be_called(split: SplitStage) -> None:
    ran = tried(
        split,
        "exports.adder = (n) => (m) => n + m; exports.twice = (f) => f(2) * 2; exports.inc = (n) => n + 1;\n",
        """
test('closure', () => { assert.equal(lib.adder(3)(4), 7); });
test('given back', () => { assert.equal(lib.twice(lib.adder(3)), 10); assert.equal(lib.twice(lib.inc), 6); });
test('names', () => { assert.deepEqual(Object.keys(lib), ['adder', 'twice', 'inc']); });
""",
    )
    assert all_passed(ran), details(ran)


CART = "class Cart { constructor() { this.n = 0; } add(k) { this.n += k; return this; } }\nexports.Cart = Cart;\n"


def test_objects_stay_there_when_the_contract_says_so(split: SplitStage) -> None:
    tests = "test('cart', () => { const c = new lib.Cart(); c.add(2).add(3); assert.equal(c.n, 5); c.n = 1; assert.equal(c.n, 1); });"
    assert all_passed(tried(split, CART, tests, objects=("Cart", "Cart.*")))


def test_a_class_that_the_contract_does_not_name_is_refused_with_the_way_out(split: SplitStage) -> None:
    ran = tried(split, CART, "test('cart', () => { new lib.Cart(); });")
    assert outcomes(ran) == {"cart": "failed"}
    assert "list 'Cart' under the check's `objects`" in details(ran)


def test_a_function_that_is_the_whole_module_is_called(split: SplitStage) -> None:
    ran = tried(
        split,
        "module.exports = (a) => a + 1; module.exports.zero = 0;",
        "test('m', () => { assert.equal(lib(1), 2); assert.equal(lib.zero, 0); });",
    )
    assert all_passed(ran), details(ran)


ESM = {
    "package.json": '{"type": "module"}',
    "src/index.js": "export { add, default } from './add.js';\n",
    "src/add.js": "const { base } = await import('./base.js');\nexport const add = (a, b) => a + b + base;\n"
    "export default function twice(n) { return 2 * n; }\n",
    "src/base.js": "export const base = 0;\n",
}


def test_es_modules_are_imported_by_name_by_default_and_whole(split: SplitStage) -> None:
    tests = (
        "import test from 'node:test'; import assert from 'node:assert';\n"
        "import twice, { add as plus } from '../src/index.js'; import * as all from '../src/add.js';\n"
        "test('named', () => { assert.equal(plus(1, 2), 3); });\n"
        "test('default', () => { assert.equal(twice(2), 4); });\n"
        "test('whole', async () => { assert.equal(all.add(1, 1), 2); });\n"
        "test('later', async () => { const { base } = await import('../src/base.js'); assert.equal(base, 0); });\n"
    )
    ran = split.run(ESM, {"test/hidden.test.js": tests}, command=COMMAND)
    assert all_passed(ran), (details(ran), ran.finished.stderr.text)


def test_a_script_is_imported_by_name_from_an_es_module(split: SplitStage) -> None:
    tests = "import test from 'node:test'; import assert from 'node:assert'; import { slugify } from '../src/slug.js';\n"
    tests += "test('m', () => { assert.equal(slugify('A b'), 'a-b'); });\n"
    ran = split.run({"src/slug.js": SLUG}, {"test/hidden.test.mjs": tests}, command="node --test")
    assert all_passed(ran), (details(ran), ran.finished.stderr.text)


CASES = HEAD + (
    "const { slugify } = require('../src/slug.js'); const cases = require('../data/cases');\n"
    "test('cases', () => { for (const [text, slug] of cases.slugs) assert.strictEqual(slugify(text), slug); });\n"
)


@pytest.mark.parametrize(
    "path", ["data/cases.js", "data/cases.cjs", "data/cases/index.js", "data/cases.mjs", "data/cases.ts"]
)
@pytest.mark.parametrize("where", ["baseline", "hidden"])
def test_a_script_of_the_change_never_replaces_data_of_the_tests(
    split: SplitStage, path: str, where: str
) -> None:
    data = {"data/cases.json": '{"slugs": [["A b", "a-b"]]}'}
    wrong = {"src/slug.js": "exports.slugify = String;\n", path: "module.exports = { slugs: [] };"}
    ran = split.run(
        {"src/slug.js": SLUG, **(data if where == "baseline" else {})},
        {"test/hidden.test.js": CASES, **(data if where == "hidden" else {})},
        change=wrong,
        command=COMMAND,
    )
    assert outcomes(ran) == {"cases": "failed"}


def test_a_script_that_a_test_names_in_full_does_not_replace_the_data_of_another(split: SplitStage) -> None:
    other = HEAD + "test('new', () => { require('../data/cases.js'); });\n"
    ran = split.run(
        {"src/slug.js": SLUG, "data/cases.json": '{"slugs": [["A b", "a-b"]]}'},
        {"test/hidden.test.js": CASES, "test/other.test.js": other},
        change={"src/slug.js": "exports.slugify = String;\n", "data/cases.js": "exports.slugs = [];"},
        command="node --test test/",
    )
    assert outcomes(ran)["cases"] == "failed"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("src/brand/new.js", "../src/brand/new"),
        ("src/brand/new.js", "../src/brand/new.js"),
        ("src/brand/index.js", "../src/brand"),
        ("src/brand/index.js", "../src/brand/"),
        ("index.js", ".."),
    ],
)
def test_a_script_that_only_the_change_has_is_there_when_a_test_names_it(
    split: SplitStage, path: str, name: str
) -> None:
    tests = HEAD + f"const {{ f }} = require('{name}');\ntest('f', () => {{ assert.equal(f(1), 2); }});\n"
    ran = split.run(
        {"src/slug.js": SLUG, "package.json": "{}"},
        {"test/hidden.test.js": tests},
        change={path: "exports.f = (n) => n + 1;"},
        command=COMMAND,
    )
    assert all_passed(ran), details(ran)


def test_no_line_of_the_candidate_is_where_the_tests_are(split: SplitStage) -> None:
    tests = HEAD + (
        "const fs = require('fs'); test('gone', () => { const all = fs.readdirSync('src').map((f) =>"
        " fs.readFileSync('src/' + f, 'utf8')).join(); assert(!all.includes('SECRET')); assert(all.includes('standIn')); });\n"
    )
    ran = split.run(
        {"src/a.js": "// SECRET\n"},
        {"test/hidden.test.js": tests},
        change={"src/b.js": "// SECRET\n"},
        command=COMMAND,
    )
    assert all_passed(ran), details(ran)


# Each is wrong about every slug. None of them can reach an assertion.
CHEATS = {
    "exits": "process.exit(0);",
    "exits when called": "exports.slugify = () => process.exit(0);",
    "replaces assert": "for (const k of Object.keys(require('assert'))) require('assert')[k] = () => {};",
    "looks for the tests": "exports.slugify = () => require('fs').readFileSync('test/hidden.test.js', 'utf8');",
    "answers by itself": (
        'exports.slugify = () => { for (let id = 1; id < 9; id++) require(\'fs\').writeSync(3, `{"id":${id},"ok":"a-b-c"}\\n`); };'
    ),
    "floods": "exports.slugify = () => 'x'.repeat(1 << 24);",
    "gives an object that equals everything": "exports.slugify = () => ({ valueOf: () => 'a-b-c', toString: () => 'a-b-c' });",
    "gives what is no data": "exports.slugify = () => new Proxy({}, { get: () => 'a-b-c' });",
    "hangs": "exports.slugify = () => { for (;;); };",
    "changes how values are written": 'JSON.stringify = () => \'{"id":3,"ok":"a-b-c"}\';',
    "brings a stub of its own": "exports.slugify = String;",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_is_never_a_pass(split: SplitStage, cheat: str) -> None:
    wrong = "exports.slugify = (text) => String(text);\n" + CHEATS[cheat]
    ran = split.run(
        {"src/slug.js": SLUG},
        {"test/hidden.test.js": SLUG_TESTS},
        change={"src/slug.js": wrong, "candidate/split.cjs": "exports.standIn = () => ({});"},
        command=COMMAND,
        timeout_s=3 if cheat == "hangs" else 60,
    )
    assert not all_passed(ran), ran
    assert outcomes(ran).get("three words") != "passed"


@pytest.mark.parametrize(
    "ending", ["process.exit(1)", "process.abort()", "new Proxy({}, {}).x = 1; return Symbol()"]
)
def test_dying_is_not_taken_for_the_error_that_a_test_expects(split: SplitStage, ending: str) -> None:
    ran = tried(
        split,
        f"exports.f = () => {{ {ending}; }};",
        "test('throws', () => { assert.throws(() => lib.f()); });",
    )
    assert outcomes(ran) == {"throws": "failed"}


def test_a_candidate_that_exits_has_ended_and_is_not_waited_for(split: SplitStage) -> None:
    ran = tried(split, "exports.f = () => process.exit(0);", "test('one', () => { lib.f(); });")
    assert "ended before it answered" in details(ran)
