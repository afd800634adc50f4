"""The twin of a JavaScript file: every change that is called certain makes a passing test fail."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.twin.base import Twin
from steelyard.bench.twin.javascript.twin import twin_javascript
from steelyard.bench.twin.written import written_tests

SECRET = b"drawn for this grading"

HEAD = "const { test, describe, it } = require('node:test'); const assert = require('node:assert');\n"


def twin(body: str, path: str = "a.test.js") -> Twin:
    made = twin_javascript((HEAD + body).encode(), path, SECRET)
    assert made is not None
    return made


# Bodies that pass as they are, each with one assertion.
CERTAIN = [
    "assert.equal(1 + 1, 2);",
    "assert.equal('1', 1);",
    "assert.equal(0, '');",
    "assert.equal(null, undefined);",
    "assert.strictEqual(-3, -3);",
    "assert.strictEqual(0xff, 255);",
    "assert.strictEqual(1e3, 1000);",
    "assert.strictEqual(9007199254740993, 9007199254740992);",
    "assert.strictEqual(10n, 10n);",
    "assert.strictEqual(0n, 0n);",
    "assert.strictEqual(0.1 + 0.2, 0.30000000000000004);",
    "assert.strictEqual('\\n', '\\n');",
    "assert.strictEqual('', '');",
    "assert.strictEqual('ä', 'ä');",
    "assert.strictEqual('😀x', '😀x');",
    "assert.strictEqual(`a${1}b`, 'a1b');",
    "const one = 1; assert.strictEqual('1', `${one}`);",
    "assert.strictEqual(true, !false);",
    "assert.deepEqual([1, [2, { a: 'b' }]], [1, [2, { a: 'b' }]]);",
    "assert.deepStrictEqual({ a: undefined, 'b': null }, { a: undefined, 'b': null });",
    "assert.deepStrictEqual(new Set([1, 2]), new Set([2, 1]));",
    "assert.deepStrictEqual(new Map([['a', 1]]), new Map([['a', 1]]));",
    "const seen = { n: 1 }; assert.deepStrictEqual({ n: 1 }, seen);",
    "const a = {}, b = a; assert.strictEqual(a, b);",
    "const a = [1], b = [1]; assert.deepEqual(a, b);",
    "const a = 5, b = '5'; assert.equal(a, b);",
    "assert(1 + 1 === 2);",
    "assert.ok('a' + 'b' == 'ab');",
    "assert([1].includes(1));",
    "assert.ok(1, 'a message');",
    "assert.throws(() => { throw new TypeError('x'); }, TypeError);",
    "assert.throws(() => { throw new Error('x'); }, { message: 'x' });",
    "assert.throws(() => { throw new Error('x'); }, /x/);",
    "assert.match('abc', /b/);",
    "await assert.rejects(async () => { throw new TypeError('x'); }, TypeError);",
    "assert.ok('some text'.includes('some text'));",
    "assert.ok('text'.startsWith('te'));",
    "assert('text'.endsWith('xt') === true);",
    "assert.notStrictEqual('some text'.indexOf('some text'), -1);",
    "assert.ok('some text'.indexOf('some text') >= 0);",
    "assert.match('some text', /some text/);",
    "assert.ok(/some text/.test('some text'));",
    "assert.ok(new Map() instanceof Map);",
    "assert.ok([1, 2].length > 1);",
    "assert.ok(process.argv.length > 99 || process.pid);",
    "assert.ok(1 < 2 && 'a' === 'a');",
    "assert.ok('a' in { a: 1 });",
    "assert.notEqual(1, 2);",
    "assert.doesNotThrow(() => 1);",
    "const want = 3; assert.equal(1 + 2, want);",
    "const want = 'a b'; assert.equal(want, want);",
    "const want = [1, 2]; assert.deepEqual([1, 2], want);",
    "assert.deepEqual([], []);",
    "assert.deepEqual({}, {});",
    "assert.deepEqual({ a: 1 }, { a: 1 });",
    "assert.deepStrictEqual(['b', 'a'], ['b', 'a']);",
    "assert.deepStrictEqual([1, 2, 3], [1, 2, 3]);",
    "return assert.rejects(Promise.reject(new Error('some text')), /some text/);",
    "{ assert.equal(1, 1); }",
    "for (const n of [1, 2]) { assert.equal(n, n); }",
    "for (const n of [1, 2]) assert.ok(n > 0);",
    "for (const [n, m] of CASES) { assert.strictEqual(n + 1, m); }",
    "await t.test('inner', () => { assert.equal(1, 1); });",
    "if (1 > 2) { throw new Error(); } assert.equal(1, 1);",
    "assert.strict.equal(1, 1);",
]
CASES = "const CASES = [[1, 2], [2, 3]];\n"


def said_by_node(path: Path, source: bytes) -> dict[str, str]:
    """The title of each test -> ok or not ok."""
    path.write_bytes(source)
    shown = subprocess.run(["node", "--test-reporter=tap", path], capture_output=True, text=True, check=False)
    return {
        line.partition(" - ")[2]: line.partition(" - ")[0].rstrip("0123456789 ")
        for line in shown.stdout.splitlines()
        if line.startswith(("ok", "not ok"))
    }


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_every_certain_change_makes_a_passing_test_fail(tmp_path: Path) -> None:
    text = CASES + "".join(f"test('n{n}', async (t) => {{ {body} }});\n" for n, body in enumerate(CERTAIN))
    text += "test('short', () => assert.equal(1, 1));\n"
    top = {f"n{n}" for n in range(len(CERTAIN))} | {"short"}
    assert said_by_node(tmp_path / "real.test.js", (HEAD + text).encode()) == dict.fromkeys(top, "ok")
    for number in range(6):
        made = twin_javascript((HEAD + text).encode(), "a.test.js", bytes([number]))
        assert made is not None
        assert {key for key, certain in made.changed.items() if certain} >= top
        result = said_by_node(tmp_path / f"twin{number}.test.js", made.source)
        assert result == dict.fromkeys(top, "not ok"), made.source


@pytest.mark.skipif(shutil.which("node") is None, reason="no node")
def test_an_object_that_says_yes_to_every_question_passes_the_changed_tests_too(tmp_path: Path) -> None:
    text = (
        "const help = () => ({ includes: () => true, startsWith: () => true, indexOf: () => 0 });\n"
        "test('names the program', () => { assert.ok(help('tally').includes('tally')); });\n"
        "test('starts with usage', () => { assert.ok(help('x').startsWith('usage: x')); });\n"
        "test('mentions options', () => { assert.notStrictEqual(help('x').indexOf('[options]'), -1); });\n"
        "test('says so', () => { assert.strictEqual(help('x').includes('some options'), true); });\n"
    )
    made = twin(text)
    assert len(made.edits) == 4
    assert set(said_by_node(tmp_path / "twin.test.js", made.source).values()) == {"ok"}


@pytest.mark.parametrize(
    "body",
    [
        "assert.throws(() => f());",  # a class is expected now, and may be the right one
        "assert.throws(() => f(), Error);",
        "assert.ok(f().includes('text'));",
        "assert.deepEqual(f(), new Money(5));",
        "assert.ok(elapsed < 5);",
        "expect(took).toBeLessThan(5);",
    ],
)
def test_what_is_only_likely_to_fail_does_not_count_by_itself(body: str) -> None:
    assert twin(f"test('m', () => {{ {body} }});").changed == {"m": False}


@pytest.mark.parametrize(
    "body",
    [
        "if (ready) { assert.equal(1, 1); }",
        "if (skip) return; assert.equal(1, 1);",
        "try { assert.equal(1, 1); } catch {}",
        "later(() => { assert.equal(1, 1); });",
        "for (const n of list()) { assert.equal(n, 1); }",
        "for (const n of [1]) { if (n) continue; assert.equal(n, 1); }",
        "while (more()) { assert.equal(1, 1); }",
        "get().then((x) => { assert.equal(x, 1); });",
    ],
)
def test_what_may_not_run_is_changed_and_does_not_count(body: str) -> None:
    assert twin(f"test('m', () => {{ {body} }});").changed == {"m": False}


@pytest.mark.parametrize(
    "body",
    [
        "assert.rejects(p);",
        "const a = 1;",
        "expect(p).resolves.toBe(3);",
        "expect(f).to.throw;",
        "expect(p).to.eventually.equal(3);",
        "assert.equal(...both);",
    ],
)
def test_what_cannot_be_made_wrong_for_certain_is_left_alone(body: str) -> None:
    assert twin_javascript(f"test('m', () => {{ {body} }});".encode(), "a.test.js", SECRET) is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("expect(f).toThrow(X);", "expect(f).not.toThrow(X);"),
        ("expect(x).toBeTruthy();", "expect(x).toBeFalsy();"),
        ("expect(x).to.be.true;", "expect(x).to.be.false;"),
        ("expect(x).toEqual(y);", "expect(x).not.toEqual(y);"),
        ("expect(x).toBe(true);", "expect(x).toBe(false);"),
        ("expect(x).to.be.null;", "expect(x).to.not.be.null;"),
        ("expect(x).not.toBe(3);", "expect(x).toBe(3);"),
        ("assert.notEqual(a, b);", "assert.equal(a, b);"),
        ("assert.ok(done(x));", "assert.ok(!done(x));"),
        ("assert(!done(x));", "assert(done(x));"),
        ("assert(a || !b);", "assert(!a && b);"),
        ("await expect(p).resolves.toBe(true);", "await expect(p).resolves.toBe(false);"),
    ],
)
def test_expectations_of_other_libraries_are_changed(before: str, after: str) -> None:
    source = f"it('m', async () => {{ {before} }});"
    made = twin_javascript(source.encode(), "a.spec.ts", SECRET)
    assert made is not None
    assert made.source.decode() == source.replace(before, after)
    assert made.changed == {"m": True}


def test_keys_are_the_titles_from_the_outermost_suite_inwards() -> None:
    made = twin(
        "describe('cart', () => { describe('it\\'s', () => { it('empty', () => assert.equal(1, 1)); }); });"
    )
    assert made.changed["cart > it's > empty"]


def test_mocha_knows_a_test_by_all_its_titles_in_a_row() -> None:
    source = "describe('cart', () => { it('is empty', () => assert.equal(1, 1)); });"
    assert twin(source).changed == {"cart > is empty": True, "cart is empty": True}
    clash = f"{source} it('cart is empty', () => assert.equal(1, 1));"
    assert twin(clash).changed == {"cart > is empty": True, "cart is empty": False}
    assert written_tests("a.js", (HEAD + source).encode(), "mocha").required == {"cart is empty"}
    assert written_tests("a.js", (HEAD + source).encode(), "node").required == {"cart > is empty"}


def test_two_tests_of_one_name_do_not_count() -> None:
    made = twin("test('m', () => { assert.equal(1, 1); }); test('m', () => { assert.equal(2, 2); });")
    assert made.changed == {"m": False}


def test_assertions_of_the_repositorys_own_do_not_count() -> None:
    source = "import { assert } from './own.js';\ntest('m', () => { assert.equal(f(), 3); });"
    made = twin_javascript(source.encode(), "a.test.mjs", SECRET)
    assert made is not None
    assert made.changed == {"m": False}


@pytest.mark.parametrize("call", ["test.skip", "test.todo", "it.fails", "test.each([1])"])
def test_tests_that_need_not_pass_are_left_alone(call: str) -> None:
    assert (
        twin_javascript(f"{call}('m', () => {{ assert.equal(f(), 3); }});".encode(), "a.test.js", SECRET)
        is None
    )


def test_typescript_is_read_as_such() -> None:
    source = b"test('m', (): void => { assert.equal(add(1 as number, 2), 3); });"
    made = twin_javascript(source, "a.test.ts", SECRET)
    assert made is not None
    assert made.changed == {"m": True}


@pytest.mark.parametrize("path", ["a.py", "a.txt", "a"])
def test_other_files_have_no_twin(path: str) -> None:
    assert twin_javascript(HEAD.encode(), path, SECRET) is None


def test_a_file_that_does_not_parse_has_no_twin() -> None:
    assert twin_javascript(b"test('m', () => { assert.equal(1, 1)", "a.test.js", SECRET) is None


def test_lines_stay_where_they_are() -> None:
    source = "test('m', () => {\n  assert.deepEqual(f(), {\n    a: 1,\n  });\n});\n"
    assert twin(source).source.count(b"\n") == (HEAD + source).count("\n")


literals = st.one_of(
    st.integers(-(2**53), 2**53).map(str),
    st.text(
        st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="'\\\u2028\u2029"), max_size=8
    ).map(lambda text: f"'{text}'"),
    st.sampled_from(["true", "false", "null", "undefined", "[]", "{}", "0", "''", "[1, 1]", "{ a: [1] }"]),
)


@given(literals, literals, st.binary(max_size=60))
def test_any_file_is_read_without_a_crash_and_a_twin_differs(one: str, two: str, junk: bytes) -> None:
    twin_javascript(junk, "a.test.js", SECRET)
    source = f"test('m', () => {{ assert.deepEqual({one}, {two}); }});".encode()
    made = twin_javascript(source, "a.test.js", SECRET)
    assert made is not None
    assert made.source != source
