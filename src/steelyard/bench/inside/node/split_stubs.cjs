// Writes, in the sandbox of the tests, a stub where each of the candidate's scripts was. Nothing of it is here.
//
// An ES module must declare its exports, so the names are those that the tests import.
//
// A script that only the change has gets a stub where a file of the tests names it, and only if nothing here goes by
// that name: its `data/cases.js` must not take the place of the tests' `data/cases.json` in `require('../data/cases')`.
'use strict';
const fs = require('fs');
const path = require('path');

const order = JSON.parse(fs.readFileSync(0, 'utf8'));
const SCRIPT = /\.[cm]?[jt]sx?$/;
const ENDINGS = ['', '.js', '.json', '.node', '.cjs', '.mjs', '.jsx', '.ts', '.cts', '.mts', '.tsx', '.wasm'];
const NAME = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;
const RESERVED = new Set(('break case catch class const continue debugger default delete do else enum export extends false finally for '
  + 'function if import in instanceof new null return super switch this throw true try typeof var void while with yield let static await').split(' '));

function write(name, text) {
  fs.mkdirSync(path.dirname(name), { recursive: true });
  fs.writeFileSync(name, text);
}

function* scriptsBelow(folder) {
  for (const entry of fs.readdirSync(folder || '.', { withFileTypes: true })) {
    const name = folder ? `${folder}/${entry.name}` : entry.name;
    if (entry.isDirectory() && entry.name !== 'node_modules' && entry.name !== '.git') yield* scriptsBelow(name);
    else if (entry.isFile() && SCRIPT.test(entry.name)) yield name;
  }
}

// What a script may be called in a specifier: itself, without its ending, and its folder if it is an index.
function calls(script) {
  const bare = script.replace(SCRIPT, '');
  return [script, bare, ...(path.posix.basename(bare) === 'index' ? [path.posix.dirname(bare)] : [])];
}

const own = new Set(order.own);

function isHere(file) {
  try {
    return own.has(file) || fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

// Whether anything that Node could mean by a name of the script's is here, or is a script of the baseline's.
function isTaken(script) {
  const [, bare] = calls(script);
  const files = calls(script).flatMap((name) => ENDINGS.flatMap((ending) => [`${name}${ending}`, `${name}/index${ending}`]));
  return isHere(`${bare}/package.json`) || files.some(isHere);
}

const sources = new Map([...scriptsBelow('')].map((file) => [file, fs.readFileSync(file, 'utf8')]));
const named = new Set();
for (const [file, source] of sources) {
  for (const [, specifier] of source.matchAll(/['"`](\.\.?(?:\/[^'"`\n]*)?)['"`]/g)) {
    const base = path.posix.join(path.posix.dirname(file), specifier).replace(/\/$/, '');
    named.add(base).add(base.replace(SCRIPT, '')); // a script in TypeScript is named as what it is compiled to
  }
}
const scripts = [...order.own, ...order.new.filter((script) => calls(script).some((name) => named.has(name)) && !isTaken(script))];

function isModule(script) {
  if (/\.m[jt]s$/.test(script)) return true;
  if (/\.c[jt]s$/.test(script)) return false;
  for (let folder = path.dirname(path.resolve(script)); ; folder = path.dirname(folder)) {
    try {
      return JSON.parse(fs.readFileSync(path.join(folder, 'package.json'), 'utf8')).type === 'module';
    } catch {
      if (folder === path.dirname(folder)) return false;
    }
  }
}

// Which of the scripts a specifier means, however it is abbreviated.
function meant(from, specifier) {
  const base = path.posix.normalize(path.posix.join(path.posix.dirname(from), specifier));
  const bare = base.replace(SCRIPT, '');
  return scripts.filter((script) => [base, bare].includes(script) || [base, bare, `${base}/index`].includes(script.replace(SCRIPT, '')));
}

function namesIn(clause, source) {
  const names = [...clause.matchAll(/[\p{L}_$][\p{L}\p{N}_$]*/gu)].map(([name]) => name);
  const whole = /\*\s*as\s+([\w$]+)/.exec(clause)?.[1] ?? (/^\s*([\w$]+)\s*$/.exec(clause)?.[1]);
  if (whole) for (const found of source.matchAll(new RegExp(`\\b${whole.replace(/\$/g, '\\$')}\\.([\\w$]+)`, 'g'))) names.push(found[1]);
  return names;
}

const wanted = new Map(scripts.map((script) => [script, new Set()]));
for (const [file, source] of sources) {
  const imports = [
    ...source.matchAll(/\b(?:import|export)\b([^'"`;]*?)\bfrom\s*['"](\.[^'"]*)['"]/g),
    ...source.matchAll(/([\w$]+|\{[^}]*\})\s*=\s*\(?\s*await\s+import\(\s*['"](\.[^'"]*)['"]/g),
  ];
  for (const [, clause, specifier] of imports) {
    for (const script of meant(file, specifier)) for (const name of namesIn(clause, source)) wanted.get(script).add(name);
  }
}

for (const [name, text] of order.files) write(`candidate/${name}`, text);
for (const script of scripts) {
  const up = path.posix.relative(path.posix.dirname(script), 'candidate/split.cjs');
  const link = JSON.stringify(up.startsWith('.') ? up : `./${up}`);
  const names = [...wanted.get(script)].filter((name) => NAME.test(name) && !RESERVED.has(name) && name !== 'there');
  write(script, isModule(script)
    ? `import split from ${link};\nconst there = split.standIn(${JSON.stringify(script)});\nexport default there.default;\n`
      + names.map((name) => `export const ${name} = there.${name};\n`).join('')
    : `module.exports = require(${link}).standIn(${JSON.stringify(script)});\n0 && (module.exports = { ${names.join(', ')} });\n`);
}
