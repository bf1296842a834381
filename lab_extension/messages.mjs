// The texts of the interface and their translations. `node messages.mjs --check` fails when a language lacks a text, has one that nobody
// uses, or fills in other places than the English text; `node messages.mjs --write` adds what is missing, empty, and drops the rest.
// The command `hai` says some of these texts too, and others of its own: these are translated here as well (tools/languages.py).
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const here = dirname(fileURLToPath(import.meta.url));
const LOCALES = join(here, 'hai_lab', 'locale');
/** Between a context and its text, as in gettext. */
const CONTEXT = '\u0004';

/** All texts of the sources: the key of the catalogue, and whether it has a plural. */
function messages() {
  const found = new Map();
  for (const name of readdirSync(join(here, 'src'), { recursive: true })) {
    if (!/\.tsx?$/.test(name) || /\.spec\.|^testing|translate\.ts$/.test(name)) {
      continue;
    }
    const path = join(here, 'src', name);
    const file = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
    const visit = node => {
      if (
        ts.isCallExpression(node) &&
        ts.isPropertyAccessExpression(node.expression) &&
        node.expression.expression.getText(file) === 'trans'
      ) {
        const [first, second] = node.arguments.map(each => (ts.isStringLiteralLike(each) ? each.text : null));
        const method = node.expression.name.text;
        const key = method === '_p' ? `${first}${CONTEXT}${second}` : first;
        found.set(key, { plural: method === '_n' ? second : null, where: relative(here, path) });
      }
      ts.forEachChild(node, visit);
    };
    visit(file);
  }
  return found;
}

/** The keys of all texts that the command `hai` says. */
function terminalKeys() {
  const script = join(here, '..', 'tools', 'languages.py');
  const done = spawnSync('python3', [script, '--keys'], { encoding: 'utf8' });
  if (done.status !== 0) {
    throw new Error(`python3 ${script} --keys: ${done.error ?? done.stderr}`);
  }
  return JSON.parse(done.stdout);
}

/** The places of a text that are filled in. */
function places(text) {
  return [...new Set(text.match(/%\d+/g) ?? [])].sort().join(' ');
}

/** How many forms a text with a plural has: JupyterLab takes one form for a text without, also where a language has but one. */
function formsOf(catalogue) {
  return Math.max(2, Number(/nplurals=(\d+)/.exec(catalogue[''].plural_forms)?.[1]));
}

/** What is wrong with a catalogue. */
function faults(catalogue, texts) {
  const forms = formsOf(catalogue);
  const wrong = [];
  for (const [key, { plural, where }] of texts) {
    const given = catalogue[key];
    const english = key.split(CONTEXT).at(-1);
    if (given === undefined || given.some(text => text === '')) {
      wrong.push(`${where}: “${english}” has no translation`);
    } else if (given.length !== (plural === null ? 1 : forms)) {
      wrong.push(`“${english}” has ${given.length} forms instead of ${plural === null ? 1 : forms}`);
    } else if (given.some(text => places(text) !== places(plural ?? english))) {
      wrong.push(`“${english}” is filled with ${places(plural ?? english)}, its translation is not`);
    }
  }
  const unused = Object.keys(catalogue).filter(key => key !== '' && !texts.has(key));
  return [...wrong, ...unused.map(key => `nothing says “${key.replace(CONTEXT, ': ')}”`)];
}

const texts = messages();
for (const key of terminalKeys()) {
  if (!texts.has(key)) {
    texts.set(key, { plural: null, where: 'the command hai' });
  }
}
let bad = 0;
for (const locale of readdirSync(LOCALES)) {
  const path = join(LOCALES, locale, 'LC_MESSAGES', 'hai_lab.json');
  const catalogue = JSON.parse(readFileSync(path, 'utf8'));
  if (process.argv.includes('--write')) {
    const forms = formsOf(catalogue);
    const kept = [...texts.keys()].sort().map(key => {
      const length = texts.get(key).plural === null ? 1 : forms;
      return [key, catalogue[key]?.length === length ? catalogue[key] : Array(length).fill('')];
    });
    const all = Object.fromEntries([['', catalogue['']], ...kept]);
    writeFileSync(path, `${JSON.stringify(all, null, 2)}\n`);
  } else {
    const found = faults(catalogue, texts);
    bad += found.length;
    for (const fault of found) {
      process.stderr.write(`${locale}: ${fault}\n`);
    }
  }
}
if (bad > 0) {
  process.stderr.write('Run `node messages.mjs --write`, and fill what is empty.\n');
  process.exit(1);
}
