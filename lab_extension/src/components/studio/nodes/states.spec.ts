import { describe, expect, it } from 'vitest';
import { aNode, aNodeTask } from '../../../testing/nodes';
import { countsOf, gpuUseOf, mapOf, nodeRows, nodeSort, nodesOf, sortNodes } from './states';

const NODES = [
  aNode('n-10', { state: 'down', reason: 'It does not answer.', since: '2026-11-21T03:00:00Z' }),
  aNode('n-2', { state: 'held', tasks: [aNodeTask(41)], gpus_free: 0 }),
  aNode('n-1', { leaf: 'leaf-2' }),
  aNode('e-1', { group: 'eval', leaf: '', state: 'cordoned', by: 'ann' })
];

function names(nodes: readonly { name: string }[]): string[] {
  return nodes.map(node => node.name);
}

describe('which nodes are shown', () => {
  it('are those of the address: by state, by node group, by text', () => {
    expect(names(nodesOf(NODES, {}))).toHaveLength(4);
    expect(names(nodesOf(NODES, { state: 'down' }))).toEqual(['n-10']);
    expect(names(nodesOf(NODES, { group: 'eval' }))).toEqual(['e-1']);
    expect(names(nodesOf(NODES, { q: '#41 alice' }))).toEqual(['n-2']);
    expect(names(nodesOf(NODES, { q: 'LEAF-2' }))).toEqual(['n-1']);
    // The legend counts all states.
    expect(names(nodesOf(NODES, { state: 'down', group: 'training' }, false))).toHaveLength(3);
  });

  it('are counted by state, those that need a look first', () => {
    expect(countsOf(NODES)).toEqual([
      ['down', 1],
      ['cordoned', 1],
      ['held', 1],
      ['free', 1]
    ]);
  });

  it('are in blocks by group and leaf, by their numbers', () => {
    const map = mapOf(NODES).map(({ group, leaves }) => [
      group,
      leaves.map(leaf => [leaf.leaf, names(leaf.nodes)])
    ]);
    expect(map).toEqual([
      ['eval', [['', ['e-1']]]],
      [
        'training',
        [
          ['leaf-1', ['n-2', 'n-10']],
          ['leaf-2', ['n-1']]
        ]
      ]
    ]);
  });

  it('keeps leaves of the same name in two zones apart', () => {
    const [group] = mapOf([aNode('a', { zone: 'z1' }), aNode('b', { zone: 'z2' })]);
    expect(group!.leaves.map(leaf => leaf.zone)).toEqual(['z1', 'z2']);
  });
});

describe('the order of the table', () => {
  it('is by a column, with what is not known last both ways', () => {
    expect(names(sortNodes(NODES, null))).toEqual(['e-1', 'n-1', 'n-2', 'n-10']);
    expect(names(sortNodes(NODES, nodeSort('-name')))).toEqual(['n-10', 'n-2', 'n-1', 'e-1']);
    expect(names(sortNodes(NODES, nodeSort('state')))[0]).toBe('n-10');
    expect(names(sortNodes(NODES, nodeSort('since')))[0]).toBe('n-10');
    expect(names(sortNodes(NODES, nodeSort('-since')))[0]).toBe('n-10');
    expect(nodeSort('nonsense')).toBeNull();
  });
});

describe('a node as a row of a file', () => {
  it('has what is measured, and nothing for what is not', () => {
    const use = { cpu: null, memory: null, gpu_memory: null, gpu_power: null, gpu_idle: null };
    const node = aNode('n-1', {
      tasks: [aNodeTask(1, { use: { ...use, gpu_use: 40 } }), aNodeTask(2, { use: { ...use, gpu_use: 60 } })]
    });
    expect(gpuUseOf(node)).toBe(50);
    expect(gpuUseOf(aNode('n-2'))).toBeNull();
    const { head, rows } = nodeRows([node]);
    expect(rows[0]![head.indexOf('tasks')]).toBe('1 2');
    expect(rows[0]![head.indexOf('users')]).toBe('alice');
    expect(rows[0]).toHaveLength(head.length);
  });
});
