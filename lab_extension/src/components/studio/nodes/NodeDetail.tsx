/** One node in full: its state with reason, since when and by whom, and what its tasks use. */

import type { JSX, ReactNode } from 'react';
import type { IMeanUse, INode, INodeTask } from '../../../api/types';
import { between, duration, localTimes, moment, relative } from '../../../text/format';
import { trans } from '../../../text/translate';
import { priorityLabel } from '../../../text/words';
import { valueText, type Unit } from '../../performance/units';
import { useNow } from '../../react';
import { Table, type ITableColumn } from '../../Table';
import { Link } from '../router';
import { leafText } from './NodeMap';
import { stateWord } from './states';

export function NodeDetail({ node }: { node: INode }): JSX.Element {
  const now = useNow(15_000);
  return (
    <section className="hai-Card" aria-label={trans.__('Node %1', node.name)} data-testid="hai-node">
      <h2>{node.name}</h2>
      <dl className="hai-NodeFacts">
        <Fact title={trans.__('State')}>{stateWord(node.state)}</Fact>
        {node.reason !== null && <Fact title={trans.__('Reason')}>{localTimes(node.reason, now)}</Fact>}
        {node.network !== null && <Fact title={trans.__('Network')}>{node.network}</Fact>}
        <Fact title={trans.__('Since')}>
          {node.since === null ? '–' : `${moment(node.since, now)} (${relative(node.since, now)})`}
        </Fact>
        {node.by !== null && <Fact title={trans.__('By')}>{node.by}</Fact>}
        <Fact title={trans.__('Last seen')}>
          {node.seen_at === null ? '–' : relative(node.seen_at, Math.max(now, Date.parse(node.seen_at)))}
        </Fact>
        <Fact title={trans.__('Group')}>{node.group}</Fact>
        <Fact title={trans.__('Leaf')}>{leafText(node)}</Fact>
        <Fact title={trans.__('GPUs free')}>{trans.__('%1 of %2', node.gpus_free, node.gpus)}</Fact>
        {node.orphan !== null && <Fact title={trans.__('Orphaned run')}>{node.orphan}</Fact>}
      </dl>
      {node.tasks.length === 0 ? (
        <p className="hai-Empty">{trans.__('No task holds it.')}</p>
      ) : (
        <Table
          region={trans.__('Tasks of %1', node.name)}
          items={node.tasks}
          keyOf={task => task.task_id}
          columns={[
            {
              title: trans.__('Task'),
              head: true,
              cell: task =>
                task.name === '' ? (
                  <span className="hai-Soft">#{task.task_id}</span>
                ) : (
                  <Link to={{ page: 'tasks', id: task.task_id }}>
                    {task.name} #{task.task_id}
                  </Link>
                )
            },
            { title: trans.__('User'), cell: task => task.user },
            {
              title: trans.__('Priority'),
              cell: task => (task.priority === null ? '–' : priorityLabel(task.priority))
            },
            { title: trans.__('What it does'), cell: task => phaseText(task, now) },
            {
              title: trans.__('GPUs'),
              cell: ({ gpus }) => (gpus.length === 0 ? trans.__('whole node') : gpus.join(', '))
            },
            used(trans.__('GPU use'), 'gpu_use', '%'),
            used(trans.__('GPU memory'), 'gpu_memory', 'bytes'),
            used(trans.__('Cores'), 'cpu', 'cores'),
            used(trans.__('Memory'), 'memory', 'bytes')
          ]}
        />
      )}
    </section>
  );
}

function Fact(props: { title: string; children: ReactNode }): JSX.Element {
  return (
    <div>
      <dt>{props.title}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

/** What a task uses on the node; a dash where it was not measured. */
function used(title: string, what: keyof IMeanUse, unit: Unit): ITableColumn<INodeTask> {
  return {
    title,
    number: true,
    cell: ({ use }) => {
      const value = use?.[what] ?? null;
      return value === null ? '–' : valueText(value, unit);
    }
  };
}

/** `running for 2 h`, `leaves by 14:20:00`. */
function phaseText(task: INodeTask, now: number): string {
  switch (task.phase) {
    case 'starting':
      return trans._p('state', 'starting');
    case 'leaving':
      if (task.deadline === null) {
        return trans.__('leaves');
      }
      return Date.parse(task.deadline) < now
        ? trans.__('its time is over')
        : trans.__('leaves by %1', moment(task.deadline, now));
    case 'running':
      return task.running_since === null
        ? trans._p('state', 'running')
        : trans.__('running for %1', duration(between(task.running_since, now)));
    case null:
      return '–';
  }
}
