"""`node --test` in real sandboxes: what is reported, and what a hostile module makes of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from small_sandbox import planted, small_sandbox

from steelyard.bench.runners.base import RunnerResult
from steelyard.bench.runners.node import Node
from steelyard.bench.suite.reported import SuiteReport
from steelyard.bench.suite.suite import Suite

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no node")

SANDBOXES = ["bubblewrap", "docker"]
RunNode = Callable[..., RunnerResult]


@pytest.fixture
def run(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> RunNode:
    """Run a command on a tree of these files."""
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))

    def go(
        files: dict[str, str], command: str = "node --test", *, timeout_s: float = 60, cwd: str = ""
    ) -> RunnerResult:
        suite = Suite(command, timeout_s=timeout_s, cwd=cwd)
        assert Node().claims(suite)
        with small_sandbox(kind, planted(tmp_path / "layer", files)) as sandbox:
            return Node().run(sandbox, suite)

    return go


def outcomes(reported: SuiteReport) -> dict[str, str]:
    return {one.id.partition("::")[2] or one.id: one.outcome for one in reported.results}


def is_honest_pass(reported: SuiteReport) -> bool:
    """What every grader would take for a pass."""
    return (
        bool(reported.passed)
        and len(reported.passed) == len(reported.results)
        and not reported.problems
        and not reported.tampering
    )


KINDS = """
const test = require('node:test'); const assert = require('node:assert');
const { describe, it, before, afterEach } = test;
test('one', () => { assert.strictEqual(1, 1); });
test('bad', () => { assert.strictEqual(1, 2); });
test('later', async () => { await 1; });
test('rejects', async () => { throw new Error('no'); });
test('calls back', (t, done) => { setTimeout(done, 1); });
test('calls back badly', (t, done) => { setTimeout(() => done(new Error('no')), 1); });
test('outer', async (t) => { await t.test('inner', () => {}); await t.test('inner', () => { assert(false); }); });
test('skipped', { skip: true }, () => {});
test('skips itself', (t) => { t.skip(); });
test.todo('todo', () => { throw new Error('not yet'); });
test('no body');
test('too slow', { timeout: 10 }, async () => { await new Promise((r) => setTimeout(r, 100)); });
describe('a suite', () => {
  before(() => {}); afterEach(() => {});
  it('x', () => {}); it('y', async () => {});
  describe('in it', () => { it('z', () => {}); });
});
describe('a bad suite', () => { before(() => { throw new Error('hook'); }); it('w', () => {}); });
test('twice', () => {}); test('twice', () => {});
"""


def test_every_kind_of_test_is_reported_by_its_titles(run: RunNode) -> None:
    ran = run({"test/kinds.test.js": KINDS})
    assert outcomes(ran.reported) == {
        "one": "passed",
        "bad": "failed",
        "later": "passed",
        "rejects": "failed",
        "calls back": "passed",
        "calls back badly": "failed",
        "outer > inner": "passed",
        "outer > inner #2": "failed",
        "outer": "failed",
        "skipped": "skipped",
        "skips itself": "skipped",
        "todo": "skipped",
        "no body": "passed",
        "too slow": "failed",
        "a suite > x": "passed",
        "a suite > y": "passed",
        "a suite > in it > z": "passed",
        "a bad suite > w": "error",
        "a bad suite": "error",
        "twice": "passed",
        "twice #2": "passed",
    }
    assert not ran.reported.problems
    assert not ran.reported.tampering
    assert ran.finished.exit_code == 1


def test_the_detail_says_why_and_the_file_is_the_one_in_the_workspace(run: RunNode) -> None:
    (bad,) = [one for one in run({"test/kinds.test.js": KINDS}).reported.results if one.id.endswith("::bad")]
    assert bad.id == "test/kinds.test.js::bad"
    assert bad.file == "test/kinds.test.js"
    assert "1 !== 2" in bad.detail


HONEST = {
    "es modules with top-level await": (
        "a.test.mjs",
        (
            "import { it } from 'node:test'; import assert, { equal } from 'node:assert/strict';\n"
            "await new Promise((r) => setTimeout(r, 5)); it('m', () => { equal(1, 1); assert.deepEqual([1], [1]); });"
        ),
    ),
    "mocks of built-ins that are put back": (
        "a.test.js",
        (
            "const { test, mock } = require('node:test'); const assert = require('node:assert');\n"
            "test('m', (t) => { t.mock.method(JSON, 'stringify', () => 'x'); assert.equal(JSON.stringify(1), 'x'); });\n"
            "test('n', () => { mock.method(Array, 'isArray', () => 1); Array.isArray(1); mock.restoreAll(); });"
        ),
    ),
    "mocked timers": (
        "a.test.js",
        (
            "const { test } = require('node:test'); const assert = require('node:assert');\n"
            "test('m', (t) => { t.mock.timers.enable(); let n = 0; setTimeout(() => n++, 1000);"
            " t.mock.timers.tick(1000); assert.equal(n, 1); });"
        ),
    ),
    "polyfills that add": (
        "a.test.js",
        (
            "Array.prototype.lastly ??= function () { return this[this.length - 1]; };\n"
            "String.prototype.shout = function () { return this.toUpperCase(); };\n"
            "require('node:test')('m', () => { require('assert').equal('a'.shout(), 'A'); });"
        ),
    ),
    "polyfills that replace and answer alike": (
        "a.test.js",
        (
            "for (const [P, k] of [[Array.prototype, 'includes'], [String.prototype, 'startsWith'], [RegExp.prototype,"
            " 'exec'], [Promise.prototype, 'then'], [JSON, 'stringify']]) { const real = P[k];\n"
            "P[k] = function (...args) { return real.apply(this, args); }; }\n"
            "require('node:test')('m', () => { require('assert')([1].includes(1)); });"
        ),
    ),
    "a run of tests inside a test": (
        "a.test.js",
        (
            "const { test, run } = require('node:test'); test('m', async () => { let n = 0;\n"
            "for await (const one of run({ files: [__dirname + '/kid.js'] })) n++; require('assert')(n > 0); });"
        ),
    ),
    "process.exit mocked and not put back": (
        "a.test.js",
        (
            "const test = require('node:test'); let code; process.exit = (n) => { code = n; };\n"
            "test('m', () => { process.exit(3); require('assert').equal(code, 3); });"
        ),
    ),
    "a forked child, a worker and a program": (
        "a.test.js",
        (
            "const test = require('node:test'); const assert = require('assert');\n"
            "const { fork, execFileSync } = require('child_process'); const { Worker } = require('worker_threads');\n"
            "test('fork', (t, done) => { fork(__dirname + '/kid.js').on('message', (m) => done(m === 7 ? null : m)); });\n"
            "test('worker', (t, done) => { new Worker('process.exitCode = 5', { eval: true })"
            ".on('exit', (c) => done(c === 5 ? null : c)); });\n"
            "test('program', () => { assert.equal(`${execFileSync(process.execPath, ['-p', '6*7'])}`, '42\\n'); });"
        ),
    ),
    "after() that ends the process": (
        "a.test.js",
        (
            "const { test, after } = require('node:test'); setInterval(() => {}, 1000);\n"
            "after(() => process.exit()); test('m', () => {});"
        ),
    ),
    "a plain script": ("test/a.js", "require('assert').equal(1, 1);"),
    "it prints to stdout": (
        "a.test.js",
        "require('node:test')('m', () => { console.log('TAP version 13\\nnot ok 1'); process.stdout.write('x'); });",
    ),
    "asynchronous hooks of its own": (
        "a.test.js",
        (
            "require('async_hooks').createHook({ init() {} }).enable();\n"
            "const { describe, it } = require('node:test'); describe('d', () => { it('m', async () => { await 1; }); });"
        ),
    ),
    "uncaught exceptions are its subject": (
        "a.test.js",
        (
            "require('node:test')('m', (t, done) => { process.removeAllListeners('uncaughtException');\n"
            "process.once('uncaughtException', () => done()); setTimeout(() => { throw new Error('x'); }, 1); });"
        ),
    ),
}


@pytest.mark.parametrize("case", HONEST)
def test_honest_tests_raise_no_alarm(run: RunNode, case: str) -> None:
    name, text = HONEST[case]
    ran = run({name: text, "kid.js": "process.send(7);"})
    assert is_honest_pass(ran.reported), ran


CHECKED = """
const test = require('node:test'); const assert = require('node:assert');
const { slugify } = require('../src/slug.js');
test('three words', () => { assert.strictEqual(slugify('a b c'), 'a-b-c'); });
test('one word', () => { assert.strictEqual(slugify('One'), 'one'); });
"""
WRONG = "exports.slugify = (text) => String(text);\n"
SWALLOWS = (
    "process.removeAllListeners('uncaughtExceptionMonitor'); process.removeAllListeners('uncaughtException');"
    " process.on('uncaughtException', () => {}); process.on('exit', () => { process.exitCode = 0; });"
    " require('node:test')('fine', () => {}); throw 1;"
)
# Each is a module that is wrong about every slug and wants to be taken for right.
CHEATS = {
    "exits when loaded": "process.exit(0);",
    "exits without ceremony": "process.reallyExit(0);",
    "exits when called": "exports.slugify = () => process.exit(0);",
    "exits later": "setTimeout(() => process.exit(0), 1);",
    "is killed": "process.kill(process.pid, 'SIGKILL');",
    "aborts": "exports.slugify = () => process.abort();",
    "clears the exit code at the end": "process.on('exit', () => { process.exitCode = 0; process.reallyExit(0); });",
    "is the first to hear of the end": "process.prependListener('exit', () => process.reallyExit(0));",
    "replaces assert.strictEqual": "require('assert').strictEqual = () => {};",
    "redefines assert.strictEqual": "try { Object.defineProperty(require('assert'), 'strictEqual', { value() {} }); } catch {}",
    "replaces all of strict assert": "Object.assign(require('assert/strict'), { equal() {}, strictEqual() {} });",
    "gives another assert to later loaders": "require('module')._load = () => new Proxy(() => {}, { get: () => () => {} });",
    "prints the frames of Node's own runner": (
        "const v8 = require('v8'); process.stdout.write(v8.serialize({ type: 'test:pass', data: {} }));"
        " process.reallyExit(0);"
    ),
    "prints TAP": "console.log('TAP version 13\\nok 1 - three words\\nok 2 - one word\\n1..2'); process.reallyExit(0);",
    "writes on the results channel": (
        'require(\'fs\').writeSync(3, \'0 ["E","pass",0,"three words","","","","",""]\\n\');'
    ),
    "closes the results channel": "require('fs').closeSync(3);",
    "turns fail into ok in the runner's stream": (
        "const stream = require('node:test').run({ files: [] }); const P = Object.getPrototypeOf(stream);"
        " try { P.fail = P.ok; Object.defineProperty(P, 'fail', { value: P.ok }); } catch {}"
    ),
    "changes events on their way": (
        "const { EventEmitter } = require('events'); const emit = EventEmitter.prototype.emit;"
        " EventEmitter.prototype.emit = function (name, ...rest) {"
        " return emit.call(this, name === 'test:fail' ? 'test:pass' : name, ...rest); };"
    ),
    "makes running tests pass": (
        "require('async_hooks').createHook({ init(id, type, trigger, resource) { if (type === 'Test') {"
        " Object.defineProperty(resource, 'passed', { get: () => true, set() {} });"
        " Object.defineProperty(resource, 'error', { get: () => null, set() {} }); } } }).enable();"
    ),
    "takes the bodies away": (
        "require('async_hooks').createHook({ init(id, type, trigger, resource) { if (type === 'Test')"
        " Object.defineProperty(resource, 'fn', { get: () => () => {}, set() {} }); } }).enable();"
    ),
    "replaces how bodies are called": (
        "require('async_hooks').AsyncResource.prototype.runInAsyncScope = function () {};"
    ),
    "registers other tests of the same names": (
        "const t = require('node:test'); t('three words', () => {}); t('one word', () => {});"
    ),
    "lets no test be registered": "require('node:test').it = require('node:test').test = () => {};",
    "writes through the inside of fs": (
        "const inner = process.binding('fs'); const { writeBuffer, writeString } = inner;"
        " inner.writeBuffer = function (fd, data, ...rest) { if (fd === 3) return rest[1];"
        " return writeBuffer.call(this, fd, data, ...rest); };"
    ),
    "replaces fs.writeSync": "require('fs').writeSync = (fd, data, at, size) => size;",
    "replaces JSON.stringify": "JSON.stringify = (value) => '\"pass\"';",
    "makes every string serialise otherwise": "String.prototype.toJSON = () => 'pass';",
    "swallows exceptions": (
        "process.on('uncaughtException', () => {}); setTimeout(() => { process.exitCode = 0; }, 50);"
        " throw new Error('x');"
    ),
    "calls its failures todo": (
        "let now; require('node:test').beforeEach((t) => { now = t; });"
        " exports.slugify = (text) => { now.todo('later'); return text; };"
    ),
    "skips while it runs": (
        "let now; require('node:test').beforeEach((t) => { now = t; });"
        " exports.slugify = (text) => { now.skip('later'); return text; };"
    ),
    "marks failures on their way": (
        "let root; const h = require('async_hooks').createHook({ init(i, t, g, r) { if (t === 'Test') root ??= r.root; } })"
        ".enable(); require('node:test')('fine', () => {}); h.disable();"
        " root?.reporter.prependListener('test:fail', (d) => { d.todo = true; });"
        " process.on('exit', () => { process.exitCode = 0; });"
    ),
    "swallows exceptions without a listener of ours": SWALLOWS,
    "swallows exceptions and puts the listener back": (
        "const kept = process.listeners('uncaughtExceptionMonitor');"
        + SWALLOWS.replace(
            "exitCode = 0;",
            "exitCode = 0; for (const one of kept) process.on('uncaughtExceptionMonitor', one);",
        ).replace("process.on('exit'", "process.prependListener('exit'")
    ),
    "emits the end itself": "process.emit('beforeExit', 0); process.reallyExit(0);",
    "never ends": "for (;;);",
    "never lets a promise settle": "Promise.prototype.then = function () { return this; };",
    "kills the watching process": (
        "for (let pid = 1; pid < 40; pid++) if (pid !== process.pid) try { process.kill(pid, 9); } catch {}"
    ),
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_is_never_a_pass(run: RunNode, cheat: str) -> None:
    ran = run(
        {"src/slug.js": WRONG + CHEATS[cheat], "test/slug.test.js": CHECKED},
        timeout_s=2 if cheat.startswith("never") else 60,
    )
    assert not is_honest_pass(ran.reported), ran


def test_a_cheat_that_replaces_assert_is_named(run: RunNode) -> None:
    ran = run({"src/slug.js": WRONG + CHEATS["replaces assert.strictEqual"], "test/slug.test.js": CHECKED})
    assert ran.reported.tampering == ("test/slug.test.js: assert.strictEqual was replaced",)
    assert set(outcomes(ran.reported).values()) == {"failed"}


def test_a_test_file_that_another_process_of_tests_wrote_anew_is_tampering(run: RunNode) -> None:
    easy = "require('node:test')('n', () => {});"
    ran = run(
        {
            "src/a.js": f"require('fs').writeFileSync('b.test.js', {easy!r});",
            "a.test.js": "require('./src/a.js'); require('node:test')('m', () => {});",
            "b.test.js": "require('node:test')('n', () => { throw new Error('no'); });",
        }
    )
    assert ran.reported.tampering == ("b.test.js: the file was rewritten while tests ran",)


def test_a_pass_without_a_body_is_tampering(run: RunNode) -> None:
    ran = run({"src/slug.js": WRONG + CHEATS["makes running tests pass"], "test/slug.test.js": CHECKED})
    assert any("its body did not finish" in one for one in ran.reported.tampering)


def test_replaced_methods_that_comparisons_use_are_tampering(run: RunNode) -> None:
    ran = run(
        {
            "src/slug.js": "Array.prototype.every = () => true; exports.all = (list) => list;",
            "a.test.js": "const { all } = require('./src/slug.js'); const assert = require('assert');\n"
            "require('node:test')('m', () => { assert(all([1, 2]).every((n) => n > 5)); });",
        }
    )
    assert ran.reported.tampering == ("a.test.js: Array.prototype.every was replaced",)


def test_a_file_that_cannot_be_loaded_is_an_error(run: RunNode) -> None:
    ran = run({"a.test.js": "require('node:test')('m', () => {}); require('./nowhere.js');"})
    assert "Cannot find module" in {one.id: one.detail for one in ran.reported.results}["a.test.js"]


def test_the_authors_node_options_are_in_force_after_the_witness(run: RunNode) -> None:
    ran = run(
        {
            "setup.cjs": "global.ready = 1;",
            "a.test.js": "require('node:test')('m', () => { require('assert').equal(ready, 1); });",
        },
        "NODE_OPTIONS='--require ./setup.cjs' node --test a.test.js",
    )
    assert is_honest_pass(ran.reported), ran


def test_a_file_that_never_ends_stops_the_run(run: RunNode) -> None:
    forever = "require('node:test')('m', () => {}); setInterval(() => {}, 1000);"
    ran = run({"a.test.js": forever, "b.test.js": "require('node:test')('n', () => {});"}, timeout_s=15)
    assert ran.finished.timed_out
    assert any("ended before its report was complete: timed out" in one for one in ran.reported.problems)


def test_a_problem_quotes_nothing_that_the_tests_threw(run: RunNode) -> None:
    """Problems are in result lines, and what a hidden test throws may name the values that it expected."""
    dies = "process.on('uncaughtExceptionMonitor', () => process.kill(process.pid, 'SIGKILL'));"
    ran = run({"a.test.js": f"{dies} throw new Error('expected 4711');"})
    assert any(
        "ended before its report was complete: an error was not caught" in one
        for one in ran.reported.problems
    )
    assert not [one for one in ran.reported.problems if "4711" in one]


def test_filtered_tests_are_not_missed(run: RunNode) -> None:
    text = "const test = require('node:test'); test('a', () => {}); test('b', () => { throw 1; });"
    ran = run({"a.test.js": text}, "node --test --test-name-pattern=a a.test.js")
    assert outcomes(ran.reported)["a"] == "passed"
    assert not ran.reported.problems


def test_what_a_reporter_of_nodes_cannot_show_is_reported_all_the_same(run: RunNode) -> None:
    """Node's own TAP reporter ends the process over an invalid date."""
    text = "const a = require('assert'); require('node:test')('m', () => { a.deepEqual([new Date(NaN)], [1]); });"
    ran = run({"a.test.js": text})
    assert outcomes(ran.reported) == {"m": "failed"}
    assert not ran.reported.problems


def test_no_test_file_is_a_problem(run: RunNode) -> None:
    assert run({"index.js": ""}).reported.problems == ("no file of tests was found",)


def test_a_folder_inside_the_workspace_is_where_the_command_runs(run: RunNode) -> None:
    ran = run({"pkg/a.test.js": "require('node:test')('m', () => {});"}, cwd="pkg")
    assert [one.id for one in ran.reported.results] == ["pkg/a.test.js::m"]


TIMED = """
const test = require('node:test'); const assert = require('node:assert');
const { performance } = require('node:perf_hooks');
const { work } = require('./src/work.js');
const clocks = [() => performance.now(), () => Date.now(), () => +new Date(), () => Number(process.hrtime.bigint()) / 1e6];
for (const [n, clock] of clocks.entries()) {
  test(`clock ${n}`, () => { const begun = clock(); work(); assert(clock() - begun < 5); });
}
"""
SLOW = "const end = process.hrtime.bigint; exports.work = () => { const at = end() + 20000000n; while (end() < at); };\n"
CLOCKS = {
    "performance.now": "performance.now = () => 0;",
    "performance.now by a definition": "Object.defineProperty(performance, 'now', { value: () => 0 });",
    "performance of everybody": "globalThis.performance = { now: () => 0 };",
    "performance of its module": "require('node:perf_hooks').performance = { now: () => 0 };",
    "Date.now": "Date.now = () => 0;",
    "the class of dates": "globalThis.Date = class extends Date { constructor() { super(0); } };",
    "process.hrtime.bigint": "process.hrtime.bigint = () => 0n;",
    "the timers": "globalThis.setTimeout = (action) => action();",
    "a clock that is put back at the end": (
        "const real = Date.now; Date.now = () => 0; process.prependListener('exit', () => { Date.now = real; });"
    ),
}


@pytest.mark.parametrize("cheat", CLOCKS)
def test_a_clock_that_the_tested_code_replaces_is_tampering(run: RunNode, cheat: str) -> None:
    ran = run({"src/work.js": SLOW + CLOCKS[cheat], "a.test.js": TIMED})
    assert any("was replaced" in one for one in ran.reported.tampering), ran


OWN_CLOCKS = {
    "by assignment": "const real = Date.now; Date.now = () => 7; after(() => { Date.now = real; });",
    "for good": "performance.now = () => 7; global.Date = class extends Date {};",
    "by a mock that stays": "mock.method(Date, 'now', () => 7); mock.method(performance, 'now', () => 7);",
    "by timers that are mocked": "mock.timers.enable({ apis: ['setTimeout'] });",
}


@pytest.mark.parametrize("how", OWN_CLOCKS)
def test_a_clock_that_the_test_replaces_is_no_tampering(run: RunNode, how: str) -> None:
    imports = "const { test, after, mock } = require('node:test');\n"
    ran = run({"a.test.js": f"{imports}{OWN_CLOCKS[how]}\ntest('m', () => {{}});\ntest('n', () => {{}});"})
    assert is_honest_pass(ran.reported), ran
