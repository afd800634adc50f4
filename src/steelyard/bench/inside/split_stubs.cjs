// Writes, in the sandbox of the tests, a stub where each of the candidate's scripts was. Nothing of it is here.
//
// An ES module must say what it exports before anybody asks, so the names are those that the tests import.
'use strict';
const fs = require('fs');
const path = require('path');

const { scripts, files } = JSON.parse(fs.readFileSync(0, 'utf8'));
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
    else if (entry.isFile() && /\.[cm]?[jt]sx?$/.test(entry.name)) yield name;
  }
}

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
  const bare = base.replace(/\.[cm]?[jt]sx?$/, '');
  return scripts.filter((script) => [base, bare].includes(script) || [base, bare, `${base}/index`].includes(script.replace(/\.[cm]?[jt]sx?$/, '')));
}

function namesIn(clause, source) {
  const names = [...clause.matchAll(/[\p{L}_$][\p{L}\p{N}_$]*/gu)].map(([name]) => name);
  const whole = /\*\s*as\s+([\w$]+)/.exec(clause)?.[1] ?? (/^\s*([\w$]+)\s*$/.exec(clause)?.[1]);
  if (whole) for (const found of source.matchAll(new RegExp(`\\b${whole.replace(/\$/g, '\\$')}\\.([\\w$]+)`, 'g'))) names.push(found[1]);
  return names;
}

const wanted = new Map(scripts.map((script) => [script, new Set()]));
for (const file of scriptsBelow('')) {
  const source = fs.readFileSync(file, 'utf8');
  const imports = [
    ...source.matchAll(/\b(?:import|export)\b([^'"`;]*?)\bfrom\s*['"](\.[^'"]*)['"]/g),
    ...source.matchAll(/([\w$]+|\{[^}]*\})\s*=\s*\(?\s*await\s+import\(\s*['"](\.[^'"]*)['"]/g),
  ];
  for (const [, clause, specifier] of imports) {
    for (const script of meant(file, specifier)) for (const name of namesIn(clause, source)) wanted.get(script).add(name);
  }
}

for (const [name, text] of files) write(`candidate/${name}`, text);
for (const script of scripts) {
  const up = path.posix.relative(path.posix.dirname(script), 'candidate/split.cjs');
  const link = JSON.stringify(up.startsWith('.') ? up : `./${up}`);
  const names = [...wanted.get(script)].filter((name) => NAME.test(name) && !RESERVED.has(name) && name !== 'there');
  write(script, isModule(script)
    ? `import split from ${link};\nconst there = split.standIn(${JSON.stringify(script)});\nexport default there.default;\n`
      + names.map((name) => `export const ${name} = there.${name};\n`).join('')
    : `module.exports = require(${link}).standIn(${JSON.stringify(script)});\n0 && (module.exports = { ${names.join(', ')} });\n`);
}
