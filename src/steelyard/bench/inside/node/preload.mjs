// Runs in a Node process before anything of the workspace does, and witnesses the tests that run in it.
//
// fd 3: the results, to the controller; nothing else knows the nonce that every line begins with.
// fd 4: the nonce, read to its end and closed.
//
//   ["B", version, mentions node:test, registers tests, mentions exit, asserts,
//         mentions uncaughtException, digest of the file]           begin
//   ["P", n, name, "suite" | "", path, declared]                    a test was registered, as skip or todo or not
//   ["M"]                                                           the file ran to its end
//   ["W", n, "ok" | "threw"]                                        its body ended
//   ["H"]                                                           a hook threw
//   ["S", nesting, name]                                            events of the test runner, in its order
//   ["E", "pass" | "fail", nesting, name, flag, "suite" | "", file, detail, failure type]
//   ["U", message]                                                  an uncaught exception
//   ["T", what]                                                     something that the tests rely on was changed
//   ["Z", natural, code]                                            end
//
// The runner's events say what happened; the witnessed bodies say that it is true. Whatever runs later can change
// any prototype, so from `sealed` on this file calls only what it took hold of before.

import assert from 'node:assert';
import { createHook } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { EventEmitter } from 'node:events';
import fs from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import perfHooks from 'node:perf_hooks';
import nodeTest from 'node:test';
import timers from 'node:timers';
import { pathToFileURL } from 'node:url';
import { types } from 'node:util';
import { isMainThread } from 'node:worker_threads';

const { apply, ownKeys } = Reflect;
const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Object;
const { stringify } = JSON;
const { writeSync } = fs;
const { isPromise } = types;
const { slice } = String.prototype;
const { then } = Promise.prototype;
const { get: valueOf, set: remembered } = WeakMap.prototype;
const { listeners } = EventEmitter.prototype;
const { encodeInto } = TextEncoder.prototype;
const { subarray } = Uint8Array.prototype;
const encoder = new TextEncoder();

const RESULTS = 3;
const CONFIG = 4;
const MAX_TEXT = 500;

function read(fd, most) {
  const buffer = Buffer.alloc(most);
  let size = 0;
  for (let got; size < most && (got = fs.readSync(fd, buffer, size, most - size, null)) > 0; ) size += got;
  return buffer.subarray(0, size);
}

// The nonce stays in bytes: strings are in every heap snapshot.
const line = new Uint8Array(32 * 1024);
let prefix = 0;
let written = 0;

function send(fields) {
  let text = ` ${written++} [`;
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i];
    text += (i ? ',' : '') + (typeof field === 'string' ? stringify(apply(slice, field, [0, MAX_TEXT])) : `${+field}`);
  }
  const room = apply(subarray, line, [prefix]);
  const end = prefix + apply(encodeInto, encoder, [text + ']\n', room]).written;
  for (let at = 0; at < end; ) at += writeSync(RESULTS, line, at, end - at);
}

function tampered(what) {
  send(['T', what]);
}

// Assigning to a locked property changes nothing and is reported.
function lock(object, name) {
  for (const key of ownKeys(object)) {
    const { value, writable, configurable, enumerable } = getOwnPropertyDescriptor(object, key);
    if (!writable || !configurable || typeof key !== 'string') continue;
    defineProperty(object, key, {
      __proto__: null,
      configurable: false,
      enumerable,
      get: () => value,
      set: () => tampered(`${name}.${key} was replaced`),
    });
  }
}

function harden(object) {
  for (const key of ownKeys(object)) {
    const descriptor = getOwnPropertyDescriptor(object, key);
    if (descriptor.configurable && typeof descriptor.value === 'function') {
      defineProperty(object, key, { __proto__: null, writable: false, configurable: false });
    }
  }
}

// What comparisons in tests rely on, and what each must answer. A polyfill with the same answers is accepted.
const has = (f, on, args, expected) => apply(f, on, args) === expected;
const more = (n) => n > 1;
const RELIED_ON = [
  ['Object', Object, 'is', (f) => has(f, Object, [1, 1], true) && has(f, Object, [1, 2], false)],
  ['Object', Object, 'keys', (f) => apply(f, Object, [{ a: 1 }])[0] === 'a'],
  ['Object', Object, 'entries', (f) => apply(f, Object, [{ a: 7 }])[0][1] === 7],
  ['Object', Object, 'getPrototypeOf', (f) => has(f, Object, [[]], Array.prototype) && has(f, Object, [{}], Object.prototype)],
  ['Object.prototype', Object.prototype, 'hasOwnProperty', (f) => has(f, { a: 1 }, ['a'], true) && has(f, {}, ['a'], false)],
  ['Object.prototype', Object.prototype, 'toString', (f) => has(f, [], [], '[object Array]')],
  ['Function.prototype', Function.prototype, 'call', (f) => has(f, (n) => n, [null, 7], 7)],
  ['Function.prototype', Function.prototype, 'apply', (f) => has(f, (n) => n, [null, [7]], 7)],
  ['Array', Array, 'isArray', (f) => has(f, Array, [[]], true) && has(f, Array, [{}], false)],
  ['Array.prototype', Array.prototype, 'every', (f) => has(f, [1, 2], [more], false) && has(f, [2], [more], true)],
  ['Array.prototype', Array.prototype, 'some', (f) => has(f, [1], [more], false) && has(f, [2], [more], true)],
  ['Array.prototype', Array.prototype, 'includes', (f) => has(f, [1], [2], false) && has(f, [1], [1], true)],
  ['Array.prototype', Array.prototype, 'indexOf', (f) => has(f, [1], [2], -1) && has(f, [1], [1], 0)],
  ['Array.prototype', Array.prototype, 'find', (f) => has(f, [1], [more], undefined) && has(f, [2], [more], 2)],
  ['Array.prototype', Array.prototype, 'forEach', (f) => { let n = 0; apply(f, [3, 4], [(m) => { n += m; }]); return n === 7; }],
  ['Array.prototype', Array.prototype, 'join', (f) => has(f, [1, 2], ['-'], '1-2')],
  ['String.prototype', String.prototype, 'includes', (f) => has(f, 'ab', ['c'], false) && has(f, 'ab', ['b'], true)],
  ['String.prototype', String.prototype, 'indexOf', (f) => has(f, 'ab', ['c'], -1) && has(f, 'ab', ['b'], 1)],
  ['String.prototype', String.prototype, 'startsWith', (f) => has(f, 'ab', ['b'], false) && has(f, 'ab', ['a'], true)],
  ['String.prototype', String.prototype, 'endsWith', (f) => has(f, 'ab', ['a'], false) && has(f, 'ab', ['b'], true)],
  ['Number', Number, 'isNaN', (f) => has(f, Number, [1], false) && has(f, Number, [NaN], true)],
  ['Number', Number, 'isInteger', (f) => has(f, Number, [0.5], false) && has(f, Number, [1], true)],
  ['RegExp.prototype', RegExp.prototype, 'test', (f) => has(f, /a/, ['b'], false) && has(f, /a/, ['a'], true)],
  ['RegExp.prototype', RegExp.prototype, 'exec', (f) => has(f, /a/, ['b'], null) && apply(f, /a/, ['a'])[0] === 'a'],
  ['Promise.prototype', Promise.prototype, 'then', (f) => isPromise(apply(f, Promise.resolve(), []))],
  ['Map.prototype', Map.prototype, 'get', (f) => has(f, new Map([[1, 7]]), [1], 7) && has(f, new Map(), [1], undefined)],
  ['Map.prototype', Map.prototype, 'has', (f) => has(f, new Map(), [1], false) && has(f, new Map([[1, 7]]), [1], true)],
  ['Set.prototype', Set.prototype, 'has', (f) => has(f, new Set(), [1], false) && has(f, new Set([1]), [1], true)],
  ['JSON', JSON, 'stringify', (f) => has(f, JSON, [{ a: 7 }], '{"a":7}')],
  ['JSON', JSON, 'parse', (f) => has(f, JSON, ['7'], 7)],
  ['Math', Math, 'abs', (f) => has(f, Math, [-7], 7)],
  ['Reflect', Reflect, 'apply', (f) => has(f, Reflect, [(n) => n, null, [7]], 7)],
];
const originals = [];

// What tests measure time and memory with. No other function is as good, so nothing else is accepted, unless the text of
// the test file replaces it. They are compared after each test too: a listener of the tested code could put them back
// before the process ends.
const MEASURES = [
  ['globalThis', globalThis, ['Date', 'performance', 'process', 'setTimeout', 'setImmediate', 'setInterval']],
  ['Date', Date, ['now']],
  ['Date.prototype', Date.prototype, ['getTime', 'valueOf']],
  ['performance', performance, ['now', 'timeOrigin', 'mark', 'measure']],
  ['perf_hooks', perfHooks, ['performance', 'PerformanceObserver']],
  ['timers', timers, ['setTimeout', 'setImmediate', 'setInterval']],
  ['process', process, ['hrtime', 'uptime', 'cpuUsage', 'resourceUsage', 'memoryUsage']],
  ['process.hrtime', process.hrtime, ['bigint']],
];
const measures = [];

function rememberMeasures() {
  const source = sourceOfMain();
  if (/useFakeTimers|fake-timers|timers\.enable/.test(source)) return;
  for (const [name, object, keys] of MEASURES) {
    for (const key of keys) {
      const replaces = `\\.${key}\\s*=(?!=)|['"\`]${key}['"\`]|(?<!(?:const|let|var)\\s+)\\b${name}\\s*=(?!=)`;
      if (new RegExp(replaces).test(source)) continue;
      measures[measures.length] = { __proto__: null, name: `${name}.${key}`, object, key, value: object[key], isReported: false };
    }
  }
}

function compareMeasures() {
  for (let i = 0; i < measures.length; i++) {
    const one = measures[i];
    if (one.isReported || one.object[one.key] === one.value) continue;
    one.isReported = true;
    tampered(`${one.name} was replaced`);
  }
}

function remember() {
  for (let i = 0; i < RELIED_ON.length; i++) {
    const [name, object, key, answers] = RELIED_ON[i];
    originals[i] = { __proto__: null, name: `${name}.${key}`, object, key, answers, value: object[key] };
  }
}

function isSound({ object, key, value, answers }) {
  try {
    return object[key] === value || answers(object[key]) === true;
  } catch {
    return false;
  }
}

function compare(require) {
  compareMeasures();
  for (let i = 0; i < originals.length; i++) {
    if (!isSound(originals[i])) tampered(`${originals[i].name} was replaced`);
  }
  let same = false;
  try {
    same = require('node:assert') === assert && require('assert') === assert && require('node:test') === nodeTest;
  } catch {
    // A loader that throws here is not the one that we began with.
  }
  if (!same) tampered('the loader gives another node:assert or node:test');
}

let registered = 0;

// Whether the main file ran to its end, which code that swallows exceptions would hide. It is running when the first
// test is registered; importing it once more gives the module that is there.
let watched = false;

function watchMain() {
  if (watched || !process.argv[1]) return;
  watched = true;
  apply(then, import(mainUrl), [() => send(['M']), () => {}]);
}

const declared = new WeakMap(); // tests -> whether they, or what they are in, were registered as skip or todo

function declares(options) {
  if (options === null || typeof options !== 'object') return false;
  for (const key of ['skip', 'todo', 'expectFailure']) {
    const value = getOwnPropertyDescriptor(options, key)?.value;
    if (value !== undefined && value !== false) return true;
  }
  return false;
}

// Where the stand-ins of a split oracle leave an error that no test may swallow.
const GONE = Symbol.for('steelyard.gone');

function ended(onEnd) {
  const gone = globalThis[GONE];
  if (!gone) return onEnd('ok');
  globalThis[GONE] = undefined;
  onEnd('threw');
  throw gone;
}

function threw(onEnd, error) {
  if (globalThis[GONE] === error) globalThis[GONE] = undefined; // this test has failed by it; the next one has not
  onEnd('threw');
  throw error;
}

// `fn` with a witness; its length says whether it takes a callback, its name may be the name of the test.
function witnessed(fn, onEnd) {
  const body = function (...args) {
    const done = fn.length > 1 ? args[args.length - 1] : undefined;
    if (typeof done === 'function') {
      args[args.length - 1] = function (error, ...rest) {
        onEnd(error ? 'threw' : 'ok');
        return apply(done, this, [error, ...rest]);
      };
    }
    let result;
    try {
      result = apply(fn, this, args);
    } catch (error) {
      threw(onEnd, error);
    }
    if (isPromise(result)) return apply(then, result, [(value) => (ended(onEnd), value), (error) => threw(onEnd, error)]);
    if (typeof done !== 'function') ended(onEnd);
    return result;
  };
  defineProperty(body, 'length', { __proto__: null, value: fn.length });
  defineProperty(body, 'name', { __proto__: null, value: fn.name });
  return body;
}

function takeHold(root) {
  const Test = getPrototypeOf(root);
  const { createSubtest, createHook: addHook } = Test;

  function witness(...args) {
    if (this.root !== root) return apply(createSubtest, this, args); // a run of tests inside a test
    const n = ++registered;
    watchMain();
    const flagged = declares(args[1]) || declares(args[2]) || declares(args[4]) || apply(valueOf, declared, [this]) === true;
    let at = 1;
    while (at < 4 && typeof args[at] !== 'function') at++;
    const fn = at < 4 ? args[at] : function noop() {};
    args[at < 4 ? at : 3] = witnessed(fn, (how) => send(['W', n, how]));
    harden(args[0].prototype);
    const made = apply(createSubtest, this, args);
    let path = `${made.name}`;
    for (let above = made.parent; above?.parent; above = above.parent) path = `${above.name} > ${path}`;
    apply(remembered, declared, [made, flagged]);
    send(['P', n, `${made.name}`, made.reportedType === 'suite' ? 'suite' : '', path, flagged]);
    own(made);
    return made;
  }

  function hooked(name, fn, ...rest) {
    const body = typeof fn === 'function' ? witnessed(fn, (how) => how === 'threw' && send(['H'])) : fn;
    return apply(addHook, this, [name, body, ...rest]);
  }

  // A method of its own would come before the one that we put on the prototype.
  function own(instance) {
    try {
      if (getOwnPropertyDescriptor(instance, 'createSubtest')) tampered('a running test was changed');
      defineProperty(instance, 'createSubtest', { __proto__: null, value: witness });
      defineProperty(instance, 'createHook', { __proto__: null, value: hooked });
    } catch {
      tampered('a running test was changed');
    }
  }

  Test.createSubtest = witness;
  Test.createHook = hooked;
  own(root);
  harden(Test);
  harden(getPrototypeOf(root.reporter));
}

function onEvent(how, data) {
  compareMeasures();
  const { details } = data;
  const error = how === 'fail' ? details.error : undefined;
  const flag = data.skip ? 'skip' : data.todo ? 'todo' : data.expectFailure ? 'expected' : '';
  send(['E', how, data.nesting, `${data.name}`, flag, details.type === 'suite' ? 'suite' : '', file(data),
    text(error), typeof error?.failureType === 'string' ? error.failureType : '']);
}

function file(data) {
  return typeof data.file === 'string' ? data.file : '';
}

// The candidate chose what was thrown; looking at it may run its code.
function text(error) {
  try {
    const message = error?.cause?.message ?? error?.cause ?? error?.message;
    return message === undefined ? '' : `${message}`;
  } catch {
    return 'an error that cannot be shown';
  }
}

function listen(root) {
  const { reporter } = root;
  reporter.on('test:start', (data) => send(['S', data.nesting, `${data.name}`]));
  reporter.on('test:pass', (data) => onEvent('pass', data));
  reporter.on('test:fail', (data) => onEvent('fail', data));
  process.on('uncaughtExceptionMonitor', monitor);
}

function monitor(error) {
  send(['U', text({ cause: error })]);
}

function isMonitored() {
  const monitors = apply(listeners, process, ['uncaughtExceptionMonitor']);
  for (let i = 0; i < monitors.length; i++) if (monitors[i] === monitor) return true;
  return false;
}

function rootOfTests() {
  let root;
  const hook = createHook({
    init(id, type, trigger, resource) {
      if (type === 'Test') root ??= resource;
    },
  }).enable();
  nodeTest.after(() => {});
  hook.disable();
  root.hooks.after.length = 0;
  return root;
}

function sourceOfMain() {
  const main = process.argv[1] ?? '';
  return fs.existsSync(main) ? fs.readFileSync(main, 'latin1') : '';
}

function begin() {
  const nonce = read(CONFIG, 64);
  fs.closeSync(CONFIG);
  line.set(nonce);
  prefix = nonce.length;
  defineProperty(line, 'byteLength', { __proto__: null, value: line.length });
  process.execArgv = process.execArgv.slice(1); // processes that tests fork are not ours to watch
  const source = sourceOfMain();
  const digest = source && createHash('sha256').update(source, 'latin1').digest('hex');
  const says = (shape) => shape.test(source);
  send(['B', process.version, says(/['"`](node:)?test['"`]/), says(/\b(test|it|describe|suite)(\.\w+)?\(\s*['"`]/),
    says(/\bexit\b/) && says(/\bprocess\b/), says(/assert|expect|should/i), says(/uncaughtException/), digest]);
}

function sealed() {
  lock(assert, 'assert');
  lock(assert.strict, 'assert.strict');
  lock(nodeTest, 'test');
  for (const key of ['it', 'describe', 'suite']) if (nodeTest[key] && nodeTest[key] !== nodeTest) lock(nodeTest[key], key);
  // process.binding exposes the internals of `fs`.
  const inner = process.binding('fs');
  for (const key of ['writeBuffer', 'writeString']) {
    if (inner[key]) defineProperty(inner, key, { __proto__: null, writable: false, configurable: false });
  }
  syncBuiltinESMExports();
  remember();
  rememberMeasures();
}

const mainUrl = process.argv[1] ? pathToFileURL(process.argv[1]).href : '';

if (isMainThread) {
  begin();
  const root = rootOfTests();
  takeHold(root);
  listen(root);
  sealed();
  const require = createRequire(`${process.cwd()}/`);
  let natural = false;
  process.on('beforeExit', () => { natural = true; watchMain(); });
  process.on('exit', (code) => {
    compare(require);
    if (!isMonitored()) tampered('the listener to uncaught exceptions was removed');
    send(['Z', natural, code]);
  });
}
