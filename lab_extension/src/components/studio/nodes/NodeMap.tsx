/** The nodes as a map: a cell is a node, a block a leaf. Drawn as SVG, and a listbox for the keyboard. */

import {
  memo,
  useEffect,
  useId,
  useRef,
  useState,
  type JSX,
  type KeyboardEvent,
  type MouseEvent
} from 'react';
import type { INode } from '../../../api/types';
import { toggled } from '../../../models/choice';
import { trans } from '../../../text/translate';
import { count } from '../../../text/words';
import { SIGNS, stateWord, type ILeaf, type NodeState } from './states';

/** The distance of two cells, and the side of one, in pixels. */
const STEP = 20;
const SIDE = 17;
/** Cells in a row are a multiple of this, as many leaves are; and the most in a row. */
const ROW = 8;
const WIDE = 64;

export interface IMapProps {
  group: string;
  leaves: readonly ILeaf[];
  chosen: ReadonlySet<string>;
  /** Whether several nodes can be chosen. */
  many: boolean;
  onChoose: (chosen: ReadonlySet<string>) => void;
}

/** Cells in a row: blocks are about two and a half times as wide as high. */
export function columnsOf(nodes: number): number {
  return Math.min(nodes, WIDE, ROW * Math.max(1, Math.round(Math.sqrt(2.5 * nodes) / ROW)));
}

/** Where an arrow key leads: the number of a node among all of the leaves. */
export function stepOf(leaves: readonly Pick<ILeaf, 'nodes'>[], from: number, key: string): number {
  const last = leaves.reduce((all, leaf) => all + leaf.nodes.length, 0) - 1;
  const clamp = (to: number): number => Math.max(0, Math.min(last, to));
  switch (key) {
    case 'Home':
      return 0;
    case 'End':
      return last;
    case 'ArrowLeft':
      return clamp(from - 1);
    case 'ArrowRight':
      return clamp(from + 1);
    default:
  }
  let first = 0;
  for (const { nodes } of leaves) {
    if (from < first + nodes.length) {
      const columns = columnsOf(nodes.length);
      const to = key === 'ArrowUp' ? from - columns : from + columns;
      // From the edge of a leaf to the next one.
      return to < first ? clamp(first - 1) : to >= first + nodes.length ? clamp(first + nodes.length) : to;
    }
    first += nodes.length;
  }
  return clamp(from);
}

export function NodeMap(props: IMapProps): JSX.Element {
  const { group, leaves, chosen, many, onChoose } = props;
  const [active, setActive] = useState<string | null>(null);
  /** Where a range begins. */
  const anchor = useRef<string | null>(null);
  const prefix = useId();
  const box = useRef<HTMLDivElement>(null);
  const names = leaves.flatMap(leaf => leaf.nodes.map(node => node.name));
  const here = active !== null && names.includes(active) ? active : null;
  const idOf = (name: string): string => `${prefix}${name}`;
  useEffect(() => {
    if (here !== null && box.current?.matches(':focus')) {
      document.getElementById(`${prefix}${here}`)?.scrollIntoView({ block: 'nearest' });
    }
  }, [here, prefix]);

  const toggle = (name: string): void => onChoose(toggled(chosen, name, many));
  const range = (to: string): void => {
    const ends = [names.indexOf(anchor.current ?? to), names.indexOf(to)].sort((a, b) => a - b);
    onChoose(new Set([...chosen, ...names.slice(Math.max(0, ends[0] ?? 0), (ends[1] ?? 0) + 1)]));
  };
  const click = (event: MouseEvent): void => {
    const name = (event.target as Element).closest('[data-node]')?.getAttribute('data-node') ?? null;
    if (name === null) {
      return;
    }
    setActive(name);
    if (many && event.shiftKey) {
      range(name);
    } else if (many && (event.ctrlKey || event.metaKey)) {
      toggle(name);
    } else {
      onChoose(new Set(chosen.size === 1 && chosen.has(name) ? [] : [name]));
    }
    anchor.current = name;
  };
  const walk = (key: string, grow: boolean): void => {
    const to = names[here === null ? 0 : stepOf(leaves, names.indexOf(here), key)] ?? null;
    setActive(to);
    if (many && grow && to !== null) {
      anchor.current ??= here;
      range(to);
    }
  };
  const take = (how: 'toggle' | 'only'): void => {
    if (here !== null) {
      anchor.current = here;
      if (how === 'toggle') {
        toggle(here);
      } else {
        onChoose(new Set([here]));
      }
    }
  };
  const press = (event: KeyboardEvent): void => {
    if (/^(Arrow.*|Home|End)$/.test(event.key)) {
      walk(event.key, event.shiftKey);
    } else if (event.key === ' ' || event.key === 'Enter') {
      take(event.key === ' ' ? 'toggle' : 'only');
    } else if (event.key === 'Escape') {
      onChoose(new Set());
    } else if (event.key === 'a' && many && (event.ctrlKey || event.metaKey)) {
      onChoose(new Set([...chosen, ...names]));
    } else {
      return;
    }
    event.preventDefault();
  };
  return (
    <div
      ref={box}
      className="hai-Map"
      role="listbox"
      tabIndex={0}
      aria-label={trans.__('Nodes of %1', group)}
      aria-multiselectable={many}
      {...(here === null ? {} : { 'aria-activedescendant': idOf(here) })}
      onClick={click}
      onKeyDown={press}
      onFocus={() => here === null && setActive(names[0] ?? null)}
    >
      {leaves.map(leaf => (
        <Leaf key={leaf.key} leaf={leaf} prefix={prefix} chosen={chosen} active={here} />
      ))}
    </div>
  );
}

/** A leaf in words: its zone too where it has one. */
export function leafText(leaf: Pick<ILeaf, 'leaf' | 'zone'>): string {
  const parts = [leaf.zone, leaf.leaf].filter(part => part !== '');
  return parts.length === 0 ? trans.__('No leaf') : parts.join(' / ');
}

function Leaf(props: {
  leaf: ILeaf;
  prefix: string;
  chosen: ReadonlySet<string>;
  active: string | null;
}): JSX.Element {
  const { leaf, prefix, chosen, active } = props;
  const { nodes } = leaf;
  const columns = columnsOf(nodes.length);
  const [width, height] = [columns * STEP, Math.ceil(nodes.length / columns) * STEP];
  const name = leafText(leaf);
  return (
    <div
      className="hai-Map-leaf"
      role="group"
      aria-label={trans.__('%1: %2', name, count(nodes.length, 'node'))}
    >
      <div className="hai-Map-title" aria-hidden="true">
        {name} <span className="hai-Soft">{nodes.length}</span>
      </div>
      <svg role="presentation" width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        {nodes.map((node, place) => (
          <Cell
            key={node.name}
            id={`${prefix}${node.name}`}
            name={node.name}
            state={node.state}
            words={wordsOf(node)}
            busy={node.tasks.length > 0}
            x={(place % columns) * STEP + 1}
            y={Math.floor(place / columns) * STEP + 1}
            chosen={chosen.has(node.name)}
            active={active === node.name}
          />
        ))}
      </svg>
    </div>
  );
}

/** `n-1: held, task 41 of alice`. */
export function wordsOf(node: INode): string {
  const state = trans.__('%1: %2', node.name, stateWord(node.state));
  const [task] = node.tasks;
  if (task === undefined) {
    return state;
  }
  return node.tasks.length === 1
    ? trans.__('%1, task %2 of %3', state, task.task_id, task.user)
    : trans.__('%1, %2', state, count(node.tasks.length, 'task'));
}

/** A node. All it takes is plain, so that of 1,500 only those are drawn again that have changed. */
const Cell = memo(function Cell(props: {
  id: string;
  name: string;
  state: NodeState;
  words: string;
  busy: boolean;
  x: number;
  y: number;
  chosen: boolean;
  active: boolean;
}): JSX.Element {
  const { state, x, y } = props;
  return (
    <g
      id={props.id}
      role="option"
      aria-selected={props.chosen}
      aria-label={props.words}
      data-node={props.name}
      className={`hai-Map-node hai-mod-${state} ${props.active ? 'hai-mod-active' : ''}`}
      transform={`translate(${x} ${y})`}
    >
      <title>{props.words}</title>
      <Sign state={state} busy={props.busy} />
      {props.chosen && <rect className="hai-Map-chosen" x={1} y={1} width={SIDE - 2} height={SIDE - 2} />}
    </g>
  );
});

/** How a state looks: full, half full, empty, or with a sign; a line below the sign: tasks are still there. */
export function Sign({ state, busy }: { state: NodeState; busy: boolean }): JSX.Element {
  const sign = SIGNS[state];
  return (
    <>
      <rect className="hai-Map-cell" width={SIDE} height={SIDE} rx={2} />
      {state === 'shared' && (
        <rect className="hai-Map-half" y={SIDE / 2} width={SIDE} height={SIDE / 2} rx={2} />
      )}
      {sign !== '' && busy && (
        <rect className="hai-Map-busy" x={3} y={SIDE - 3} width={SIDE - 6} height={2} />
      )}
      {sign !== '' && <path d={sign} />}
    </>
  );
}
