// Plain data <-> what crosses between the sandboxes of a split oracle, on JavaScript's side of both.
//
// As drawn in bench/split/__init__.py, and between two Nodes also:
//   {"$": "utf16", "v": base64}      a text with half a character      {"$": "bare", "v": [[key, V]]}   no prototype
//   {"$": "map", "v": [[V, V]]}      {"$": "instant", "v": ms | null}  {"$": "typed", "v": [name, base64]}
//   {"$": "float", "v": "-0"}        also for numbers that JSON would write as huge integers
//   {"$": "error", "v": RAISED}      {"$": "promise", "v": V}
'use strict';

const MAX_DEPTH = 60;
const MAX_ITEMS = 200000;
const MAX_FRAME = 8 << 20;
const TYPED = new Map(
  [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array,
    BigInt64Array, BigUint64Array].map((kind) => [kind.name, kind]),
);

class CannotCross extends Error {
  constructor(what) {
    super(`cannot cross the split: ${what}`);
    this.name = 'CannotCross';
  }
}

class Malformed extends Error {}

const tagged = (tag, value) => ({ $: tag, v: value });

// `other` gets functions and objects that are not plain data; it returns something encoded, or throws CannotCross.
function encode(value, other) {
  let items = 0;

  function walk(one, depth) {
    if (depth > MAX_DEPTH) throw new CannotCross(`data deeper than ${MAX_DEPTH}, or containing itself`);
    if (++items > MAX_ITEMS) throw new CannotCross(`more than ${MAX_ITEMS} values`);
    switch (typeof one) {
      case 'undefined': return tagged('undefined', null);
      case 'boolean': return one;
      case 'string': return /\p{Surrogate}/u.test(one) ? tagged('utf16', Buffer.from(one, 'utf16le').toString('base64')) : one;
      case 'number': return number(one);
      case 'bigint': return tagged('int', `${one < 0n ? '-' : ''}0x${(one < 0n ? -one : one).toString(16)}`);
      case 'symbol': throw new CannotCross('a symbol');
      case 'function': return other(one);
    }
    return one === null ? null : object(one, (inner) => walk(inner, depth + 1));
  }

  function object(one, inner) {
    const pairs = (target) => Reflect.ownKeys(target).filter((key) => Object.prototype.propertyIsEnumerable.call(target, key))
      .map((key) => {
        if (typeof key === 'symbol') throw new CannotCross('a property whose name is a symbol');
        return [inner(key), inner(target[key])];
      });
    if (Array.isArray(one)) return Array.from(one, inner);
    const prototype = Object.getPrototypeOf(one);
    if (prototype === null) return tagged('bare', pairs(one));
    if (prototype === Object.prototype) return tagged('dict', pairs(one));
    if (one instanceof Map) return tagged('map', Array.from(one, ([key, held]) => [inner(key), inner(held)]));
    if (one instanceof Set) return tagged('set', Array.from(one, inner));
    if (one instanceof Date) return tagged('instant', Number.isNaN(one.getTime()) ? null : one.getTime());
    if (Buffer.isBuffer(one)) return tagged('bytes', one.toString('base64'));
    if (ArrayBuffer.isView(one) && TYPED.has(one.constructor?.name)) {
      return tagged('typed', [one.constructor.name, Buffer.from(one.buffer, one.byteOffset, one.byteLength).toString('base64')]);
    }
    if (one instanceof Error) return tagged('error', raised(one, inner));
    return other(one);
  }

  return walk(value, 0);
}

function number(one) {
  if (Number.isNaN(one)) return tagged('float', 'nan');
  if (!Number.isFinite(one)) return tagged('float', one > 0 ? 'inf' : '-inf');
  const plain = Number.isInteger(one) ? Number.isSafeInteger(one) && !Object.is(one, -0) : true;
  return plain ? one : tagged('float', Object.is(one, -0) ? '-0' : String(one));
}

// An exception: the names of its classes, what it says, what it carries; `inner` encodes that.
function raised(error, inner) {
  const encodeOrText = (value) => {
    try {
      return inner(value);
    } catch {
      return String(value).slice(0, 1000);
    }
  };
  if (!(error instanceof Error)) return { mro: [], args: [encodeOrText(error)], text: '', attrs: [] };
  const mro = [];
  for (let kind = Object.getPrototypeOf(error); kind && kind !== Object.prototype && mro.length < 20; kind = Object.getPrototypeOf(kind)) {
    mro.push(['', String(kind.constructor?.name ?? 'Error').slice(0, 100)]);
  }
  const names = Object.getOwnPropertyNames(error).filter((name) => name !== 'stack' && name !== 'message').slice(0, 50);
  if (!names.includes('name') && error.name !== 'Error' && error.name !== mro[0]?.[1]) names.push('name');
  return { mro, args: [], text: clean(String(error.message)), attrs: names.map((name) => [clean(name), encodeOrText(error[name])]) };
}

const clean = (text) => Buffer.from(text.slice(0, 10000)).toString();

// `other` gets handles, refs and exceptions, as they arrived. Everything else is made here, of builtins.
function decode(data, other) {
  let items = 0;

  function walk(one, depth) {
    if (depth > MAX_DEPTH || ++items > MAX_ITEMS) throw new Malformed('too deep or too much');
    if (one === null || typeof one !== 'object') return one;
    const inner = (held) => walk(held, depth + 1);
    if (Array.isArray(one)) return one.map(inner);
    const made = MAKERS[one.$];
    return made ? made(one.v, inner) : other(one, inner);
  }

  return walk(data, 0);
}

const list = (value) => {
  if (!Array.isArray(value)) throw new Malformed('not a list');
  return value;
};
const text = (value) => {
  if (typeof value !== 'string') throw new Malformed('not a text');
  return value;
};
const pairs = (value, inner) => list(value).map((pair) => {
  if (list(pair).length !== 2) throw new Malformed('not a pair');
  return [inner(pair[0]), inner(pair[1])];
});
// No assignment: a key may be called __proto__.
const filled = (target, value, inner) => {
  for (const [key, held] of pairs(value, inner)) {
    Object.defineProperty(target, text(key), { value: held, writable: true, enumerable: true, configurable: true });
  }
  return target;
};
const FLOATS = { __proto__: null, nan: NaN, inf: Infinity, '-inf': -Infinity, '-0': -0 };
const MAKERS = {
  __proto__: null,
  undefined: () => undefined,
  dict: (value, inner) => filled({}, value, inner),
  bare: (value, inner) => filled(Object.create(null), value, inner),
  map: (value, inner) => new Map(pairs(value, inner)),
  set: (value, inner) => new Set(list(value).map(inner)),
  bytes: (value) => Buffer.from(text(value), 'base64'),
  utf16: (value) => Buffer.from(text(value), 'base64').toString('utf16le'),
  instant: (value) => new Date(value === null ? NaN : Number(value)),
  float: (value) => FLOATS[text(value)] ?? Number(text(value)),
  int: (value) => {
    if (!/^-?0x[0-9a-f]{1,20000}$/.test(text(value))) throw new Malformed('not a number');
    return value.startsWith('-') ? -BigInt(value.slice(1)) : BigInt(value);
  },
  typed: (value) => {
    const kind = TYPED.get(text(list(value)[0]));
    const held = Buffer.from(text(value[1]), 'base64');
    if (!kind || held.length % kind.BYTES_PER_ELEMENT) throw new Malformed('not an array of numbers');
    return new kind(new Uint8Array(held).buffer);
  },
};

module.exports = { CannotCross, Malformed, MAX_FRAME, decode, encode, raised, tagged };
