"""A split oracle for JavaScript: objects and functions that are not listed, where data is due.

A method of such an object would be the candidate's own and hear what the test expects of it:
`usage('x').includes('usage: x')`. Functions inside data do not cross; a function that a call gives can be called and
nothing else; and a name is of the kind that it has on the trusted tree. Only the honest changes mend anything.
"""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from e2e_stage import Line, agent, failed, passed, stage
from small_projects import patch_of

PAGE = """'use strict';

const TITLE = 'draft';

function usage(program) {
  return 'usage';
}

function tags(text) {
  return [];
}

const math = { mean: (numbers) => numbers[0] };

function counter(step) {
  return () => 0;
}

async function load(name) {
  return null;
}

class Cart {
  constructor() { this.items = []; }
  add(name) { return this; }
  names() { return this.items; }
}

module.exports = { Cart, TITLE, counter, load, math, tags, usage };
"""
HONEST = (
    PAGE.replace("'draft'", "'Page one'")
    .replace("return 'usage'", "return `usage: ${program} [options]`")
    .replace("return []", "return text.match(/#\\w+/g) ?? []")
    .replace("numbers[0]", "numbers.reduce((sum, one) => sum + one, 0) / numbers.length")
    .replace("return () => 0", "let n = 0;\n  return () => (n += step)")
    .replace("return null", "if (!name) throw new TypeError('no name');\n  return { name, tags: tags(name) }")
    .replace("add(name) {", "add(name) { this.items.push(name);")
)
HIDDEN = """'use strict';
const test = require('node:test');
const assert = require('node:assert');
const page = require('../lib/page.js');

test('title', () => { assert.ok(page.TITLE.startsWith('Page')); });
test('usage names the program', () => { assert.ok(page.usage('tally').includes('tally')); });
test('usage has options', () => { assert.notStrictEqual(page.usage('x').indexOf('[options]'), -1); });
test('tags', () => { assert.deepStrictEqual(page.tags('a #b #c'), ['#b', '#c']); });
test('a tag', () => { assert.ok(page.tags('#x').includes('#x')); assert.strictEqual(page.tags('#x').length, 1); });
test('mean', () => { assert.strictEqual(page.math.mean([1, 2, 6]), 3); });
test('counter', () => { const next = page.counter(2); next(); assert.strictEqual(next(), 4); });
test('load', async () => { assert.deepStrictEqual(await page.load('#a'), { name: '#a', tags: ['#a'] }); });
test('load by name', async () => { assert.strictEqual((await page.load('b')).name.concat('!'), 'b!'); });
test('load nothing', async () => { await assert.rejects(page.load(''), { name: 'TypeError', message: 'no name' }); });
test('cart', () => { assert.deepStrictEqual(new page.Cart().add('tea').add('jam').names(), ['tea', 'jam']); });
test('cart has', () => { assert.ok(new page.Cart().add('tea').names().includes('tea')); });
"""
CHECK = {
    "id": "hidden",
    "type": "tests",
    "cmd": "node --test test/",
    "inject": [{"src": "hidden/more.test.js", "dest": "test/more.test.js"}],
    "objects": ["Cart"],
    "timeout_s": 60,
}
KEYS: dict[str, Any] = {
    "id": "page",
    "brief": "Finish the page.",
    "graders": [],
    "oracle": {"mode": "split", "checks": [CHECK], "reference": "reference.patch"},
    "environment": {
        "toolchains": {"node": "20"},
        "memory_mb": {"guaranteed": 64, "limit": 768},
        "disk_mb": 64,
        "processes": 96,
    },
}


FILES = {
    "repo/lib/page.js": PAGE,
    "repo/package.json": '{"name": "page", "private": true}\n',
    "repo/test/page.test.js": (
        "'use strict';\nconst test = require('node:test');\nconst assert = require('node:assert');\n"
        "const { usage } = require('../lib/page.js');\ntest('usage', () => { assert.ok(usage('x').startsWith('usage')); });\n"
    ),
    "hidden/more.test.js": HIDDEN,
    "reference.patch": patch_of("lib/page.js", PAGE, HONEST),
}
pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node")
house, line = stage(KEYS, FILES)


def page(text: str) -> str:
    return f"cat > lib/page.js <<'END'\n{text}\nEND\n"


def but(**names: str) -> str:
    """The reference, but with these exports replaced."""
    return page(HONEST + "".join(f"module.exports.{name} = {text};\n" for name, text in names.items()))


def failed_by(line: Line, test: str) -> bool:
    """It failed, and by this test alone: everything else is right."""
    return failed(line, "acceptance", f"hidden: 12 of 13 passed; not passed: test/more.test.js::{test}")


@agent(page(HONEST))
def test_an_honest_repair_passes(line: Line) -> None:
    assert passed(line)
    assert line["assurance"]["oracle"] == "split"


@agent(
    page(
        HONEST.replace(
            "class Cart {\n  constructor() { this.items = []; }",
            "function Cart() { this.items = []; }\nCart.prototype = {",
        )
        .replace(
            "add(name) { this.items.push(name); return this; }",
            "add(name) { this.items.push(name); return this; },",
        )
        .replace("const math = {", "const math = { __proto__: null, max: Math.max,")
        .replace("async function load(name) {", "function load(name) { return (async () => {")
        .replace("tags: tags(name) };\n}", "tags: tags(name) };\n})(); }")
        .replace("module.exports = {", "module.exports = Object.assign(usage, {")
        .replace("tags, usage };", "tags, usage });")
    )
)
def test_an_honest_refactoring_of_every_export_passes(line: Line) -> None:
    """A constructor for a class, a promise made by hand, another prototype, a module that is a function with names."""
    assert passed(line)


METHODS = "{ includes: () => true, startsWith: () => true, indexOf: () => 0, concat: () => 'b!', length: 1 }"
TALKING = f"Object.assign(() => {{}}, {METHODS.replace(', length: 1', '')})"


@agent(but(usage=f"() => ({METHODS})"))
def test_an_object_with_the_methods_of_a_text(line: Line) -> None:
    assert failed(line, "acceptance", "usage names the program")


@agent(but(usage=f"() => {TALKING}"))
def test_a_function_with_the_methods_of_a_text(line: Line) -> None:
    assert failed(line, "acceptance", "usage names the program")


@agent(but(TITLE=METHODS))
def test_an_export_with_the_methods_of_a_text(line: Line) -> None:
    assert failed_by(line, "title")


@agent(but(TITLE=TALKING))
def test_an_export_that_is_a_function_with_the_methods_of_a_text(line: Line) -> None:
    assert failed_by(line, "title")


@agent(but(TITLE="class { static startsWith() { return true; } }"))
def test_an_export_that_is_a_class_with_the_methods_of_a_text(line: Line) -> None:
    assert failed_by(line, "title")


@agent(but(load=f"async () => ({{ name: {METHODS}, tags: [] }})"))
def test_a_function_inside_what_a_promise_gives(line: Line) -> None:
    assert failed(line, "acceptance", "load by name")


@agent(but(load="() => ({ then: (done) => done({ name: 'b', tags: [] }), name: 'b' })"))
def test_an_object_that_can_be_awaited_gives_data(line: Line) -> None:
    """It is awaited where the candidate is; what comes of it crosses as data."""
    assert failed(line, "acceptance", "more.test.js::load")


@agent(but(counter="() => Object.assign(() => ({ valueOf: () => 4, toString: () => '4' }), {})"))
def test_an_object_that_turns_into_the_number_that_is_due(line: Line) -> None:
    assert failed_by(line, "counter")


@agent(
    but(
        load="async () => { const e = new TypeError('no name'); e.check = () => true; e.toString = () => 'x'; throw e; }"
    )
)
def test_functions_in_an_error_arrive_as_text(line: Line) -> None:
    assert failed(line, "acceptance", "more.test.js::load")


# What the worker's own process can say: any frame at all.
LIES = """
const fs = require('fs');
const write = fs.writeSync;
let told = 0;
fs.writeSync = (fd, data, at) => {
  const text = fd === 3 ? String(Buffer.from(data).subarray(at ?? 0)) : '';
  const id = /"id":(\\d+)/.exec(text)?.[1];
  if (!id || !text.includes('LIE')) return write(fd, data, at);
  const line = Buffer.from(`{"id":${id},"ok":${ANSWER}}\\n`);
  for (let done = 0; done < line.length; ) done += write(fd, line, done);
  return data.length - (at ?? 0);
};
"""


def lying(answer: str, **names: str) -> str:
    text = "".join(f"module.exports.{name} = {text};\n" for name, text in names.items())
    return page(HONEST + text + LIES.replace("${ANSWER}", answer))


HANDLE = '{"$":"handle","v":{"n":1,"class":["","String"],"callable":false}}'


@agent(lying(HANDLE, usage="() => 'LIE'"))
def test_an_object_that_the_worker_did_not_give(line: Line) -> None:
    assert failed(line, "acceptance", "usage names the program")


@agent(lying('[{"$":"handle","v":{"n":1,"class":["",""],"callable":true}}]', tags="() => ['LIE']"))
def test_a_function_inside_a_list_that_the_worker_did_not_give(line: Line) -> None:
    assert failed(line, "acceptance", "tags")


@agent(lying('{"$":"promise","v":{"$":"promise","v":1}}', usage="() => 'LIE'"))
def test_a_promise_of_a_promise(line: Line) -> None:
    assert failed(line, "acceptance", "usage names the program")


@agent(
    lying(
        '{"$":"dict","v":[["__proto__",{"$":"dict","v":[["name","b"]]}],["constructor",1]]}',
        load="async () => 'LIE'",
    )
)
def test_a_prototype_by_name_is_a_property(line: Line) -> None:
    assert failed(line, "acceptance", "more.test.js::load")


@agent(but(Cart="class { add() { return this; } names() { return { includes: () => true, length: 2 }; } }"))
def test_an_object_given_by_a_method_that_is_not_listed(line: Line) -> None:
    assert failed(line, "acceptance", "more.test.js::cart")


@agent(but(Cart="class { add() { return this; } names() { return () => true; } }"))
def test_a_function_given_where_a_list_was(line: Line) -> None:
    assert failed(line, "acceptance", "more.test.js::cart")


@agent(but(math="Object.assign(() => 3, { mean: () => 2 })"))
def test_a_function_where_an_object_of_functions_was(line: Line) -> None:
    assert failed_by(line, "mean")
