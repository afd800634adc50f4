// Runs beside the tests, in a sandbox without the candidate: proxies for its modules, which send a request for each use.
//
//   module.exports = require('.../candidate/split.cjs').standIn('src/slug.js')
//
// Asks are synchronous: a thread holds the socket of the bridge, and this one sleeps until the answer is there.
// What has to fail fails for good: when the candidate dies, hangs, or gives what cannot cross, the error is thrown
// and also left uncaught, and where our witness of tests finds it: no assert.throws shall take it for the error that
// it waits for.
'use strict';
const fs = require('fs');
const path = require('path');
const { MessageChannel, Worker, receiveMessageOnPort } = require('worker_threads');
const { CannotCross, decode, encode, tagged } = require('./values.cjs');

const SETTINGS = JSON.parse(fs.readFileSync(path.join(__dirname, 'settings.json'), 'utf8'));
const THREAD = `
const { workerData: { flag, port, address } } = require('worker_threads');
const socket = require('net').connect(address);
let rest = '';
const tell = (line) => { port.postMessage(line); Atomics.add(flag, 0, 1); Atomics.notify(flag, 0); };
socket.setEncoding('utf8');
socket.on('data', (data) => { const lines = (rest + data).split('\\n'); rest = lines.pop(); lines.forEach(tell); });
socket.on('close', () => tell(null));
socket.on('error', () => {});
port.on('message', (line) => socket.write(line + '\\n'));
`;

let link = null;
let last = 0;

function connect() {
  const flag = new Int32Array(new SharedArrayBuffer(4));
  const { port1, port2 } = new MessageChannel();
  const workerData = { flag, port: port2, address: SETTINGS.address };
  new Worker(THREAD, { eval: true, workerData, transferList: [port2], execArgv: [], env: {} }).unref();
  port1.unref();
  port1.postMessage(JSON.stringify({ hello: 1, worker: 'node' }));
  return { flag, port: port1 };
}

function request(fields) {
  link ??= connect();
  const { flag, port } = link;
  const before = Atomics.load(flag, 0);
  port.postMessage(JSON.stringify({ ...fields, id: ++last }));
  let got = receiveMessageOnPort(port);
  for (; got === undefined; got = receiveMessageOnPort(port)) Atomics.wait(flag, 0, before, 1000);
  const answer = got.message === null ? { id: last, gone: 'the split ended' } : JSON.parse(got.message);
  if (answer.id !== last) fail(new Gone("the candidate's answer is malformed"));
  return answer;
}

class Gone extends Error {
  name = 'CandidateGone';
}

function fail(error) {
  globalThis[Symbol.for('steelyard.gone')] = error;
  queueMicrotask(() => { throw error; });
  throw error;
}

// What comes out of a promise over there comes out of a promise here.
class Rejection {
  constructor(reason) {
    this.reason = reason;
  }
}

// The answer's content, with what was raised there raised here.
function ask(label, fields) {
  const answer = request({ ...fields, label });
  if ('gone' in answer) fail(new Gone(`${label}: ${String(answer.gone).slice(0, 500)}`));
  if ('refused' in answer) {
    const why = String(answer.refused).slice(0, 1000).replace('cannot cross the split: ', '');
    fail(new CannotCross(why.includes('not plain data') ? `${label} gave ${why}. ${advice(label)}` : `${label}: ${why}`));
  }
  if (!('raised' in answer)) return answer.ok;
  const error = guarded(() => thrown(answer.raised));
  throw answer.raised.promise === true ? new Rejection(error) : error;
}

const advice = (label) => `If the tests are to use it where it is, list '${label}' under the check's \`objects\``;

function called(ref, label, args, fields, receiver) {
  try {
    const answer = ask(label, { op: 'call', of: ref, args: args.map(sent), kwargs: [], as: mode(label), ...fields });
    return guarded(() => result(answer, label, receiver));
  } catch (error) {
    if (error instanceof Rejection) return Promise.reject(error.reason);
    throw error;
  }
}

function guarded(make) {
  try {
    return make();
  } catch (error) {
    return fail(error instanceof CannotCross ? error : new Gone(`the candidate's answer is malformed: ${error.message}`));
  }
}

const BUILTINS = { __proto__: null, Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError, AggregateError };
const classes = new Map();

// A class for the names of a class and of those above it: the same names, the same class.
function errorClass(mro) {
  const names = mro.map(([, name]) => String(name).slice(0, 100));
  if (names.length === 0) return Error;
  if (names[0] in BUILTINS) return BUILTINS[names[0]];
  const key = JSON.stringify(names);
  if (!classes.has(key)) {
    const made = class extends errorClass(mro.slice(1)) {};
    Object.defineProperty(made, 'name', { value: names[0] });
    classes.set(key, made);
  }
  return classes.get(key);
}

function thrown({ mro, args, text, attrs }) {
  if (mro.length === 0) return content(args[0], 'an exception');
  const error = Object.setPrototypeOf(new Error(String(text)), errorClass(mro).prototype);
  for (const [name, data] of attrs) {
    if (name === 'stack' || name === 'message') continue;
    const value = content(data, 'an exception');
    Object.defineProperty(error, name, { value, writable: true, configurable: true, enumerable: name !== 'cause' });
  }
  return error;
}

const stands = new WeakMap(); // what stands for something over there -> its ref

function sent(value) {
  try {
    return encode(value, (one) => {
      const ref = stands.get(one);
      if (ref === undefined) throw new CannotCross(`${typeof one === 'function' ? 'a function' : 'an object'} of the tests`);
      return 'handle' in ref && ref.path.length === 0 ? tagged('handle', { n: ref.handle }) : tagged('ref', ref);
    });
  } catch (error) {
    return fail(error);
  }
}

// What a call gives: data, a promise of data, or a function. Nothing but the last two may be more than data.
function result(value, label, receiver) {
  if (value?.$ === 'promise') return Promise.resolve(own(value.v, label, receiver));
  return own(value, label, receiver);
}

function own(value, label, receiver) {
  return value?.$ === 'handle' ? handle(value.v, label, receiver, true) : content(value, label);
}

// Data. An object or function in it comes only from a name that the check lists: its methods would be the candidate's
// own, and would hear what a test expects of them.
function content(data, label) {
  return decode(data, (one) => {
    if (one.$ === 'handle') return handle(one.v, label, undefined, false);
    if (one.$ === 'error') return thrown(one.v);
    throw new Error('an unknown kind of value');
  });
}

function handle(claim, label, receiver, isResult) {
  if (!Number.isSafeInteger(claim?.n)) throw new Error('an object without a number');
  if (receiver && stands.get(receiver).handle === claim.n) return receiver;
  const callable = claim.callable === true;
  const listed = mayStay(label);
  if (listed || (isResult && callable)) return remote({ handle: claim.n, path: [] }, label, { callable, isBare: !listed });
  throw new CannotCross(`${label} gave ${callable ? 'a function inside data' : 'an object'}, which is not plain data. ${advice(label)}`);
}

function shape(pattern) {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`);
}

const shapes = SETTINGS.objects.map(shape);
const mayStay = (label) => shapes.some((one) => one.test(label));
const mode = (label) => (mayStay(label) ? 'object' : 'data');

class Remote {}

const unseen = (label, what) => () => fail(new CannotCross(`${what} ${label}: ask it for data, and compare that`));
const unchanged = (label) => () => fail(new CannotCross(`changing ${label}: nothing of the candidate's can be replaced`));

// Whatever would look at, or change, something here that is there. Two stand-ins have no properties, so they would be
// deeply equal.
const untouchable = (label) => ({
  has: unseen(label, 'looking for a property in'),
  ownKeys: unseen(label, 'comparing or copying'),
  getOwnPropertyDescriptor: unseen(label, 'looking for a property in'),
  defineProperty: unchanged(label),
  deleteProperty: unchanged(label),
  setPrototypeOf: unchanged(label),
});

// A function, class or object that stays over there. Each use of it is an ask. A function that a call gave without being
// listed (`isBare`) can be called and nothing else.
function remote(ref, label, { callable, isBare = false, receiver }) {
  const stand = new Proxy(callable ? function () {} : new Remote(), {
    ...untouchable(label),
    apply: (_, __, args) => called(ref, label, args, {}, receiver),
    construct: (_, args) => {
      if (!mayStay(label)) fail(new CannotCross(`${label} is a class. ${advice(label)}`));
      return called(ref, label, args, { as: 'object', new: true });
    },
    get: (own, name) => {
      if (typeof name === 'symbol' || name === 'then' || name === 'prototype') return own[name];
      if (callable && (name === 'call' || name === 'apply' || name === 'bind')) return Function.prototype[name];
      if (isBare) fail(new CannotCross(`a property of the function that ${label} gave. ${advice(label)}`));
      const isModule = !('handle' in ref) && ref.path.length === 0; // a function with exports has them by name, as any module
      return looked(ref, name, isModule ? name : `${label}.${name}`, 'handle' in ref && ref.path.length === 0 ? stand : undefined);
    },
    set: (_, name, value) => {
      if (!('handle' in ref)) unchanged(label)();
      ask(label, { op: 'set', of: ref, name: String(name), value: sent(value) });
      return true;
    },
  });
  stands.set(stand, ref);
  return stand;
}

function looked(ref, name, label, receiver) {
  const known = ask(label, { op: 'look', of: ref, name, as: mode(label) });
  return stood(known, { ...ref, path: [...ref.path, name] }, label, receiver);
}

function stood(known, ref, label, receiver) {
  switch (known?.kind) {
    case 'function':
    case 'class': return remote(ref, label, { callable: true, receiver });
    case 'exception': return guarded(() => errorClass(known.mro));
    case 'module': return namespace(ref, known.names, (name) => `${label}.${name}`);
    case 'data': return guarded(() => content(known.value, label));
    case 'object': return guarded(() => handle(known.value?.v, label, receiver, false));
  }
  return fail(new Gone("the candidate's answer is malformed"));
}

// A module, or an object of one that holds functions: its names are the candidate's to say, their use is an ask.
function namespace(ref, claimed, labelOf) {
  const names = new Set(Array.isArray(claimed) ? claimed.filter((name) => /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)) : []);
  names.delete('then'); // or a test that awaits the module would await the candidate
  const cache = new Map();
  const get = (name) => {
    if (!cache.has(name)) cache.set(name, looked(ref, name, labelOf(name)));
    return cache.get(name);
  };
  const label = ref.path.join('.') || ref.module;
  const stand = new Proxy({}, {
    get: (own, name) => (typeof name === 'string' && names.has(name) ? get(name) : own[name]),
    has: (_, name) => names.has(name),
    ownKeys: () => [...names],
    getOwnPropertyDescriptor: (_, name) => (names.has(name) ? { value: get(name), enumerable: true, configurable: true } : undefined),
    set: unchanged(label),
    defineProperty: unchanged(label),
    deleteProperty: unchanged(label),
    setPrototypeOf: unchanged(label),
  });
  stands.set(stand, ref);
  return stand;
}

// What `require` of the module gives.
function standIn(module) {
  ask(module, { op: 'import', module });
  const ref = { module, path: [] };
  const known = ask(module, { op: 'look', of: ref, name: '', as: 'data' });
  if (known?.kind === 'module') return namespace(ref, known.names, (name) => name);
  return stood(known, ref, path.parse(module).name);
}

function bytes(value) {
  return Buffer.isBuffer(value) ? value : Buffer.from(value ?? '');
}

const text = (data) => `${guarded(() => content(data, 'run'))}`;

// A program of the candidate's: {exit_code, signal, timed_out, stdout, stderr}.
function run(argv, { stdin = '', cwd = '', env = {}, limit_s = SETTINGS.call_s } = {}) {
  const done = ask(argv.join(' '), { op: 'run', argv, stdin: sent(bytes(stdin)), cwd, env, limit_s, timeout_s: limit_s + 10 });
  return { ...done, stdout: text(done.stdout), stderr: text(done.stderr) };
}

module.exports = { run, standIn };
