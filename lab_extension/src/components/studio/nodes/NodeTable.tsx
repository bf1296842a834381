/** The nodes as a table, for sorting and for a file. */

import { useEffect, useMemo, useRef, type JSX } from 'react';
import type { INode } from '../../../api/types';
import { toggled } from '../../../models/choice';
import { localTimes, moment, relative } from '../../../text/format';
import { trans } from '../../../text/translate';
import { valueText } from '../../performance/units';
import { useNow } from '../../react';
import { Link } from '../router';
import { nextSort } from '../rows';
import { VirtualTable, type IColumn } from '../VirtualTable';
import { Sign } from './NodeMap';
import { gpuUseOf, nodeSort, sortNodes, stateWord } from './states';

export interface INodeTableProps {
  nodes: readonly INode[];
  /** The order, as the address has it. */
  sort: string | undefined;
  chosen: ReadonlySet<string>;
  many: boolean;
  onSort: (sort: string) => void;
  onChoose: (chosen: ReadonlySet<string>) => void;
}

export function NodeTable(props: INodeTableProps): JSX.Element {
  const { nodes, chosen, many, onChoose } = props;
  const now = useNow(30_000);
  const sort = nodeSort(props.sort);
  const { by, down } = sort ?? { by: 'name', down: false };
  const rows = useMemo(() => sortNodes(nodes, { by, down }), [nodes, by, down]);
  const toggle = (name: string): void => onChoose(toggled(chosen, name, many));
  // The columns are made once; what a click does depends on what is chosen then.
  const choose = useRef(toggle);
  useEffect(() => {
    choose.current = toggle;
  });
  const columns = useMemo(() => columnsOf(now, name => choose.current(name)), [now]);
  const all = rows.length > 0 && rows.every(node => chosen.has(node.name));
  return (
    <VirtualTable
      label={trans.__('Nodes')}
      testId="hai-nodes-table"
      columns={columns}
      heads={{
        choice: many ? (
          <input
            type="checkbox"
            aria-label={trans.__('Choose all')}
            checked={all}
            onChange={() => onChoose(new Set(all ? [] : rows.map(node => node.name)))}
          />
        ) : (
          <span className="hai-Hidden">{trans.__('Choose')}</span>
        )
      }}
      items={rows}
      keyOf={node => node.name}
      nameOf={node => node.name}
      sort={sort}
      onSort={column => props.onSort(nextSort(sort, column))}
      selected={chosen}
    />
  );
}

function columnsOf(now: number, onChoose: (name: string) => void): IColumn<INode>[] {
  return [
    {
      id: 'choice',
      title: trans.__('Choose'),
      width: '32px',
      cell: (node, selected) => (
        <input
          type="checkbox"
          aria-label={trans.__('Choose %1', node.name)}
          checked={selected}
          onChange={() => onChoose(node.name)}
        />
      )
    },
    { id: 'name', title: trans.__('Node'), sorts: true, width: '14%', cell: node => node.name },
    { id: 'group', title: trans.__('Group'), sorts: true, width: '100px', cell: node => node.group },
    { id: 'leaf', title: trans.__('Leaf'), sorts: true, width: '90px', cell: node => node.leaf },
    {
      id: 'state',
      title: trans.__('State'),
      sorts: true,
      width: '130px',
      cell: node => <StateCell node={node} />
    },
    {
      id: 'reason',
      title: trans.__('Reason'),
      width: 'auto',
      cell: node => (
        <span title={node.reason ?? ''}>{node.reason === null ? '' : localTimes(node.reason, now)}</span>
      )
    },
    {
      id: 'free',
      title: trans.__('GPUs free'),
      sorts: true,
      width: '90px',
      number: true,
      cell: node => trans.__('%1 of %2', node.gpus_free, node.gpus)
    },
    {
      id: 'use',
      title: trans.__('GPU use'),
      sorts: true,
      width: '80px',
      number: true,
      cell: node => {
        const use = gpuUseOf(node);
        return use === null ? '–' : valueText(use, '%');
      }
    },
    {
      id: 'tasks',
      title: trans.__('Tasks'),
      width: '15%',
      cell: node =>
        node.tasks.map(task => (
          <span key={task.task_id} className="hai-Table-item">
            <Link to={{ page: 'tasks', id: task.task_id }}>#{task.task_id}</Link> {task.user}
          </span>
        ))
    },
    {
      id: 'since',
      title: trans.__('Since'),
      sorts: true,
      width: '120px',
      cell: node => (node.since === null ? '–' : moment(node.since, now))
    },
    { id: 'by', title: trans.__('By'), sorts: true, width: '80px', cell: node => node.by ?? '' },
    {
      id: 'seen',
      title: trans.__('Last seen'),
      sorts: true,
      width: '100px',
      cell: node =>
        node.seen_at === null ? '–' : relative(node.seen_at, Math.max(now, Date.parse(node.seen_at)))
    }
  ];
}

function StateCell({ node }: { node: INode }): JSX.Element {
  return (
    <span className="hai-Map-word">
      <svg
        className={`hai-Map-node hai-mod-${node.state}`}
        width="14"
        height="14"
        viewBox="-1 -1 19 19"
        aria-hidden="true"
      >
        <Sign state={node.state} busy={node.tasks.length > 0} />
      </svg>{' '}
      {stateWord(node.state)}
    </span>
  );
}
