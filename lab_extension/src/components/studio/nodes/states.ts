/** The states of nodes in words and signs, and which nodes are shown where. Pure functions. */

import type { INode } from '../../../api/types';
import { trans } from '../../../text/translate';
import type { Query } from '../router';
import type { ISort } from '../rows';

export type NodeState = INode['state'];

/** All states, those that need a look first. */
export const NODE_STATES = [
  'down',
  'orphaned',
  'quarantined',
  'draining',
  'cordoned',
  'closed',
  'crowded',
  'held',
  'shared',
  'free'
] as const satisfies readonly NodeState[];

/**
 * The sign of a state in the map, as lines in a square of 17 by 17: an exclamation mark, or the letter that the state begins
 * with. Nodes that take runs have none: they are full, half full or empty.
 */
export const SIGNS: Record<NodeState, string> = {
  down: 'M8.5 3.5v6.2M8.5 12v1.5',
  orphaned: 'M8.5 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 1 0 0-7',
  quarantined: 'M8.5 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 1 0 0-7M9.3 9.8l3 3',
  draining: 'M6 5v7h1.8a3.5 3.5 0 0 0 0-7z',
  cordoned: 'M11.3 6.3a3.5 3.5 0 1 0 0 4.4',
  closed: 'M5.5 5.5l6 6M11.5 5.5l-6 6',
  crowded: 'M8.5 4v9M4 8.5h9',
  held: '',
  shared: '',
  free: ''
};

/** What a node does, in a word. */
export function stateWord(state: NodeState): string {
  switch (state) {
    case 'down':
      return trans._p('node', 'down');
    case 'orphaned':
      return trans._p('node', 'held by an orphaned run');
    case 'quarantined':
      return trans.__('quarantined');
    case 'draining':
      return trans.__('draining');
    case 'cordoned':
      return trans.__('cordoned');
    case 'closed':
      return trans._p('node', 'closed');
    case 'crowded':
      return trans._p('node', 'crowded');
    case 'held':
      return trans._p('node', 'held');
    case 'shared':
      return trans._p('node', 'shared');
    case 'free':
      return trans.__('free');
  }
}

/** How many nodes are in each state, in the order of `NODE_STATES`; states of none are left out. */
export function countsOf(nodes: readonly INode[]): [NodeState, number][] {
  const counts = new Map<NodeState, number>();
  nodes.forEach(node => counts.set(node.state, (counts.get(node.state) ?? 0) + 1));
  return NODE_STATES.flatMap(state => {
    const n = counts.get(state);
    return n === undefined ? [] : [[state, n]];
  });
}

/** The nodes that the words of an address ask for: by text and node group, and by state too. */
export function nodesOf(nodes: readonly INode[], query: Query, states = true): readonly INode[] {
  const words = (query.q ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  return nodes.filter(node => {
    if (query.group !== undefined && node.group !== query.group) {
      return false;
    }
    if (states && query.state !== undefined && node.state !== query.state) {
      return false;
    }
    if (words.length === 0) {
      return true;
    }
    const tasks = node.tasks.map(task => `#${task.task_id} ${task.user} ${task.name}`).join(' ');
    const hay = `${node.name} ${node.leaf} ${node.zone} ${tasks}`.toLowerCase();
    return words.every(word => hay.includes(word));
  });
}

/** Nodes of a group that are connected to the same switch. */
export interface ILeaf {
  /** Its word in the page; not its name, which two zones may share. */
  key: string;
  leaf: string;
  zone: string;
  nodes: readonly INode[];
}

/** The node groups with their leaves, all in the order of their names; `n-2` is before `n-10`. */
export function mapOf(nodes: readonly INode[]): { group: string; leaves: ILeaf[] }[] {
  const groups = new Map<string, Map<string, INode[]>>();
  for (const node of [...nodes].sort((a, b) => byName(a.name, b.name))) {
    const leaves = groups.get(node.group) ?? new Map<string, INode[]>();
    groups.set(node.group, leaves);
    const key = JSON.stringify([node.zone, node.leaf]);
    const members = leaves.get(key);
    if (members) {
      members.push(node);
    } else {
      leaves.set(key, [node]);
    }
  }
  return [...groups]
    .sort(([a], [b]) => byName(a, b))
    .map(([group, leaves]) => ({
      group,
      leaves: [...leaves]
        .sort(([a], [b]) => byName(a, b))
        .map(([key, members]) => ({
          key,
          leaf: members[0]?.leaf ?? '',
          zone: members[0]?.zone ?? '',
          nodes: members
        }))
    }));
}

const collator = new Intl.Collator('en', { numeric: true });

function byName(a: string, b: string): number {
  return collator.compare(a, b);
}

/** The mean GPU use of what was measured on a node, in per cent; null: nothing was. */
export function gpuUseOf(node: INode): number | null {
  const known = node.tasks.map(task => task.use?.gpu_use ?? null).filter(use => use !== null);
  return known.length === 0 ? null : known.reduce((all, each) => all + each, 0) / known.length;
}

/** What the columns are sorted by; null comes last. */
const KEYS: Record<string, (node: INode) => string | number | null> = {
  name: node => node.name,
  group: node => node.group,
  leaf: node => node.leaf,
  state: node => NODE_STATES.indexOf(node.state),
  free: node => node.gpus_free,
  use: gpuUseOf,
  since: node => (node.since === null ? null : Date.parse(node.since)),
  by: node => node.by,
  seen: node => (node.seen_at === null ? null : Date.parse(node.seen_at))
};

/** The order that an address asks for; null: by name. */
export function nodeSort(text: string | undefined): ISort | null {
  const by = (text ?? '').replace(/^-/, '');
  return by in KEYS ? { by, down: text?.startsWith('-') === true } : null;
}

/** The nodes in the order of a column. */
export function sortNodes(nodes: readonly INode[], sort: ISort | null): readonly INode[] {
  const key = KEYS[sort?.by ?? 'name'] ?? ((node: INode) => node.name);
  const sign = sort?.down === true ? -1 : 1;
  return [...nodes].sort((a, b) => {
    const [one, other] = [key(a), key(b)];
    if (one === null || other === null) {
      return one === other ? byName(a.name, b.name) : one === null ? 1 : -1;
    }
    const order =
      typeof one === 'number' && typeof other === 'number' ? one - other : byName(String(one), String(other));
    return order * sign || byName(a.name, b.name);
  });
}

/** The nodes as a table for a file. */
export function nodeRows(nodes: readonly INode[]): {
  head: string[];
  rows: (string | number | null)[][];
} {
  return {
    head: [
      'node',
      'group',
      'zone',
      'leaf',
      'state',
      'reason',
      'since',
      'by',
      'gpus',
      'gpus_free',
      'tasks',
      'users',
      'gpu_use',
      'seen_at'
    ],
    rows: nodes.map(node => [
      node.name,
      node.group,
      node.zone,
      node.leaf,
      node.state,
      node.reason,
      node.since,
      node.by,
      node.gpus,
      node.gpus_free,
      node.tasks.map(task => task.task_id).join(' '),
      [...new Set(node.tasks.map(task => task.user))].join(' '),
      gpuUseOf(node),
      node.seen_at
    ])
  };
}
