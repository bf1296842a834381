/** The rule `circles/acyclic`: no module needs itself, by way of the modules that it imports. Types count. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';

const known = new Map();

/** The modules here that a module imports. */
function imported(file) {
  if (!known.has(file)) {
    const paths = [...readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)];
    known.set(
      file,
      paths
        .map(([, path]) => resolve(dirname(file), path))
        .flatMap(path => ['.ts', '.tsx', '/index.ts'].map(end => path + end).filter(existsSync))
    );
  }
  return known.get(file);
}

/** The shortest way from a module to itself; none, if there is no circle. */
function circle(file) {
  const before = new Map(imported(file).map(next => [next, file]));
  // What is added meanwhile is visited too.
  for (const at of before.keys()) {
    for (const next of imported(at)) if (!before.has(next)) before.set(next, at);
  }
  if (!before.has(file)) return [];
  const way = [file];
  do way.unshift(before.get(way[0]));
  while (way[0] !== file);
  return way;
}

export const acyclic = {
  meta: {
    type: 'problem',
    docs: { description: 'No module needs itself.' },
    messages: { circle: 'A circle: {{way}}. Move what both need into one of them, or into a third.' },
    schema: []
  },
  create: context => ({
    Program(node) {
      const way = circle(context.filename).map(file => relative(context.cwd, file));
      if (way.length > 0) context.report({ node, messageId: 'circle', data: { way: way.join(' → ') } });
    }
  })
};
