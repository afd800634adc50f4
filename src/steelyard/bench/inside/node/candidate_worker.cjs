// Loads and calls the candidate's JavaScript, in the candidate's own sandbox; everything it says is a claim.
//
// fd 4: asks, fd 3: answers, one a line, as drawn in bench/split/__init__.py. A module is a path in the workspace;
// looking up the name "" gives what the module itself is.
'use strict';
const fs = require('fs');
const net = require('net');
const path = require('path');
const { createRequire } = require('module');
const { pathToFileURL } = require('url');

const ASKS = 4;
const ANSWERS = 3;

function serve(values) {
  const { CannotCross, MAX_FRAME, decode, encode, raised, tagged } = values;
  const objects = new Map();
  const numbers = new Map();
  const modules = new Map();
  let last = 0;
  const require = createRequire(path.join(process.cwd(), 'index.js'));

  async function load(name) {
    if (!modules.has(name)) {
      const file = path.join(process.cwd(), name);
      let found;
      try {
        found = require(file);
      } catch (error) {
        if (error?.code !== 'ERR_REQUIRE_ESM' && error?.code !== 'ERR_REQUIRE_ASYNC_MODULE' && !(error instanceof SyntaxError)) throw error;
        found = await import(pathToFileURL(file));
      }
      modules.set(name, found);
    }
    return modules.get(name);
  }

  // What a REF means, and what it is a property of.
  async function find(ref) {
    let owner;
    let found = 'handle' in ref ? objects.get(ref.handle) : await load(ref.module);
    for (const name of ref.path) {
      owner = found;
      found = found[name];
    }
    return { owner, found };
  }

  function keep(value) {
    if (!numbers.has(value)) {
      numbers.set(value, ++last);
      objects.set(numbers.get(value), value);
    }
    return tagged('handle', { n: numbers.get(value), class: ['', className(value)], callable: typeof value === 'function' });
  }

  const as = (mayStay) => (value) => {
    if (mayStay) return keep(value);
    const what = typeof value === 'function' ? 'a function inside data' : `an object of the class ${className(value)}`;
    throw new CannotCross(`${what}, which is not plain data`);
  };

  function about(found, mayStay) {
    if (typeof found === 'function') {
      if (found === Error || found.prototype instanceof Error) return { kind: 'exception', mro: chain(found) };
      return /^class\b/.test(Function.prototype.toString.call(found)) ? { kind: 'class', class: ['', found.name] } : { kind: 'function', async: false };
    }
    if (!mayStay && holdsCode(found)) return { kind: 'module', names: Object.keys(found).slice(0, 1000) };
    const value = encode(found, as(mayStay));
    return { kind: value?.$ === 'handle' ? 'object' : 'data', value };
  }

  function whole(found) {
    if (found === null || typeof found !== 'object' || Array.isArray(found)) return about(found, false);
    return { kind: 'module', names: Object.keys(found).slice(0, 1000) };
  }

  async function settled(value, mayStay) {
    if (typeof value?.then !== 'function') return encoded(value, mayStay);
    let result;
    try {
      result = await value;
    } catch (error) {
      throw new Rejected(error);
    }
    return tagged('promise', encoded(result, mayStay));
  }

  // A call's own result may be a function; one inside data is an object by another name.
  function encoded(value, mayStay) {
    return typeof value === 'function' ? keep(value) : encode(value, as(mayStay));
  }

  const OPS = {
    __proto__: null,
    import: async (ask) => { await load(ask.module); return null; },
    look: async (ask) => {
      const { found } = await find(ask.of);
      return ask.name === '' ? whole(found) : about(found[ask.name], ask.as === 'object');
    },
    call: async (ask) => {
      const args = await Promise.all(ask.args.map(arrived));
      const { owner, found } = await find(ask.of);
      const result = ask.new ? Reflect.construct(found, args) : Reflect.apply(found, owner, args);
      return settled(result, ask.as === 'object' || ask.new || result === objects.get(ask.of.handle));
    },
    set: async (ask) => { (await find(ask.of)).found[ask.name] = await arrived(ask.value); return null; },
    drop: async (ask) => {
      for (const n of ask.handles) {
        numbers.delete(objects.get(n));
        objects.delete(n);
      }
      return null;
    },
  };

  // Refs may need a module to be loaded first, so they are found before anything is decoded.
  async function arrived(data) {
    const refs = [];
    decode(data, (one) => { refs.push(one); });
    const found = [];
    for (const one of refs) found.push(one.$ === 'handle' ? objects.get(one.v.n) : (await find(one.v)).found);
    return decode(data, () => found.shift());
  }

  async function answer(ask) {
    try {
      return { ok: await OPS[ask.op](ask) };
    } catch (error) {
      if (error instanceof CannotCross) return { refused: error.message.slice(0, 1000) };
      const promise = error instanceof Rejected;
      return { raised: { ...raised(promise ? error.reason : error, (value) => encode(value, as(false))), promise } };
    }
  }

  function say(frame) {
    let line = Buffer.from(`${JSON.stringify(frame)}\n`);
    if (line.length > MAX_FRAME) line = Buffer.from(`${JSON.stringify({ id: frame.id, refused: `more than ${MAX_FRAME} bytes` })}\n`);
    for (let at = 0; at < line.length; ) at += fs.writeSync(ANSWERS, line, at);
  }

  return async (line) => {
    const ask = JSON.parse(line);
    say({ id: ask.id, ...(await answer(ask)) });
  };
}

class Rejected {
  constructor(reason) {
    this.reason = reason;
  }
}

// A plain object that exports functions by name: `exports.math = { add, sub }`.
function holdsCode(value, depth = 0) {
  if (value === null || typeof value !== 'object' || Array.isArray(value) || depth > 5) return false;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) return false;
  return Object.values(value).some((one) => typeof one === 'function' || holdsCode(one, depth + 1));
}

function chain(kind) {
  const names = [];
  for (let one = kind; typeof one === 'function' && one.name && names.length < 20; one = Object.getPrototypeOf(one)) names.push(['', one.name]);
  return names;
}

function className(value) {
  return String(value?.constructor?.name ?? typeof value).slice(0, 100);
}

// Lines of fd 4, while the event loop goes on: the candidate's timers and promises need it. Not a stream of a file: a
// thread that waits in read() would keep a candidate that exits from ending.
async function lines(take) {
  let rest = '';
  const decoder = new TextDecoder();
  for await (const chunk of new net.Socket({ fd: ASKS, readable: true, writable: false })) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop();
    for (const part of parts) await take(part);
  }
}

function main() {
  let answer = null;
  lines(async (line) => {
    if (answer) return answer(line);
    const order = JSON.parse(line);
    const values = { exports: {} };
    new Function('module', 'require', order.parts[0][1])(values, require);
    answer = serve(values.exports);
    fs.writeSync(ANSWERS, `{"ready":${process.pid}}\n`);
  }).then(() => process.exit(0));
}

main();
