import { useState, type JSX } from 'react';
import { fireEvent, render, screen, within } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { aNode, aNodeTask } from '../../../testing/nodes';
import { columnsOf, NodeMap, stepOf } from './NodeMap';
import { mapOf } from './states';

const NODES = [
  aNode('n-1', { state: 'held', tasks: [aNodeTask(41)] }),
  aNode('n-2', { state: 'down' }),
  aNode('n-3', { leaf: 'leaf-2' }),
  aNode('n-4', { leaf: 'leaf-2' })
];

function Map(props: { many: boolean; onChoose: (names: string[]) => void }): JSX.Element {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [{ group, leaves }] = mapOf(NODES) as [ReturnType<typeof mapOf>[number]];
  return (
    <NodeMap
      group={group}
      leaves={leaves}
      chosen={chosen}
      many={props.many}
      onChoose={names => {
        setChosen(names);
        props.onChoose([...names]);
      }}
    />
  );
}

function shown(many = true): { list: HTMLElement; onChoose: ReturnType<typeof vi.fn> } {
  const onChoose = vi.fn();
  render(<Map many={many} onChoose={onChoose} />);
  return { list: screen.getByRole('listbox', { name: 'Nodes of training' }), onChoose };
}

function activeOf(list: HTMLElement): string | null {
  const id = list.getAttribute('aria-activedescendant');
  return id === null ? null : (document.getElementById(id)?.getAttribute('aria-label') ?? null);
}

describe('the map of nodes', () => {
  it('has a group for each leaf, and says each node in words and with a sign', () => {
    const { list } = shown();
    const leaf = within(list).getByRole('group', { name: 'leaf-1: 2 nodes' });
    const cells = within(leaf).getAllByRole('option');
    expect(cells.map(cell => cell.getAttribute('aria-label'))).toEqual([
      'n-1: held, task 41 of alice',
      'n-2: down'
    ]);
    expect(cells[1]!.querySelector('path')).not.toBeNull();
    expect(cells[0]!.querySelector('path')).toBeNull();
  });

  it('is walked and chosen from by keyboard', () => {
    const { list, onChoose } = shown();
    fireEvent.focus(list);
    expect(activeOf(list)).toBe('n-1: held, task 41 of alice');
    fireEvent.keyDown(list, { key: 'ArrowRight' });
    fireEvent.keyDown(list, { key: ' ' });
    fireEvent.keyDown(list, { key: 'End' });
    fireEvent.keyDown(list, { key: ' ' });
    expect(onChoose.mock.calls.at(-1)![0]).toEqual(['n-2', 'n-4']);
    expect(screen.getByLabelText('n-2: down').getAttribute('aria-selected')).toBe('true');
    fireEvent.keyDown(list, { key: ' ' });
    expect(onChoose.mock.calls.at(-1)![0]).toEqual(['n-2']);
    fireEvent.keyDown(list, { key: 'a', ctrlKey: true });
    expect(onChoose.mock.calls.at(-1)![0]).toHaveLength(4);
    fireEvent.keyDown(list, { key: 'Escape' });
    expect(onChoose.mock.calls.at(-1)![0]).toEqual([]);
  });

  it('is chosen from by mouse: one, one more, and all up to one', () => {
    const { onChoose } = shown();
    fireEvent.click(screen.getByLabelText('n-2: down'));
    fireEvent.click(screen.getByLabelText('n-4: free'), { shiftKey: true });
    expect(onChoose.mock.calls.at(-1)![0]).toEqual(['n-2', 'n-3', 'n-4']);
    fireEvent.click(screen.getByLabelText('n-3: free'), { ctrlKey: true });
    expect(onChoose.mock.calls.at(-1)![0]).toEqual(['n-2', 'n-4']);
  });

  it('lets those who mark nothing choose one alone', () => {
    const { list, onChoose } = shown(false);
    fireEvent.click(screen.getByLabelText('n-2: down'));
    fireEvent.click(screen.getByLabelText('n-4: free'), { ctrlKey: true });
    expect(onChoose.mock.calls.at(-1)![0]).toEqual(['n-4']);
    fireEvent.keyDown(list, { key: 'a', ctrlKey: true });
    expect(onChoose).toHaveBeenCalledTimes(2);
  });
});

describe('the way of the arrow keys', () => {
  const leaf = (n: number): { nodes: ReturnType<typeof aNode>[] } => ({
    nodes: Array.from({ length: n }, (_, at) => aNode(`n-${at}`))
  });

  it('is up and down within a leaf, and from its edge to the next one', () => {
    const leaves = [leaf(20), leaf(4)];
    expect(columnsOf(20)).toBe(8);
    expect(stepOf(leaves, 0, 'ArrowDown')).toBe(8);
    expect(stepOf(leaves, 9, 'ArrowUp')).toBe(1);
    expect(stepOf(leaves, 15, 'ArrowDown')).toBe(20);
    expect(stepOf(leaves, 21, 'ArrowUp')).toBe(19);
    expect(stepOf(leaves, 23, 'ArrowDown')).toBe(23);
    expect(stepOf(leaves, 0, 'ArrowLeft')).toBe(0);
    expect(stepOf(leaves, 3, 'End')).toBe(23);
  });

  it('has rows that grow with the leaf', () => {
    expect([3, 8, 32, 64, 1_500, 9_000].map(columnsOf)).toEqual([3, 8, 8, 16, 64, 64]);
  });
});
