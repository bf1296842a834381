/** One node in full: its state with reason, since when and by whom, and what its tasks use. */

import type { JSX, ReactNode } from 'react';
import type { INode, INodeTask } from '../../../api/types';
import { between, duration, localTimes, moment, relative } from '../../../text/format';
import { trans } from '../../../text/translate';
import { priorityLabel } from '../../../text/words';
import { valueText, type Unit } from '../../performance/units';
import { useNow } from '../../react';
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
        <div
          className="hai-Table-scroll"
          tabIndex={0}
          role="region"
          aria-label={trans.__('Tasks of %1', node.name)}
        >
          <table className="hai-Table">
            <thead>
              <tr>
                <th scope="col">{trans.__('Task')}</th>
                <th scope="col">{trans.__('User')}</th>
                <th scope="col">{trans.__('Priority')}</th>
                <th scope="col">{trans.__('What it does')}</th>
                <th scope="col">{trans.__('GPUs')}</th>
                <th scope="col" className="hai-mod-number">
                  {trans.__('GPU use')}
                </th>
                <th scope="col" className="hai-mod-number">
                  {trans.__('GPU memory')}
                </th>
                <th scope="col" className="hai-mod-number">
                  {trans.__('Cores')}
                </th>
                <th scope="col" className="hai-mod-number">
                  {trans.__('Memory')}
                </th>
              </tr>
            </thead>
            <tbody>
              {node.tasks.map(task => (
                <TaskRow key={task.task_id} task={task} now={now} />
              ))}
            </tbody>
          </table>
        </div>
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

function Measured(props: { value: number | null | undefined; unit: Unit }): JSX.Element {
  const value = props.value ?? null;
  return <td className="hai-mod-number">{value === null ? '–' : valueText(value, props.unit)}</td>;
}

function TaskRow({ task, now }: { task: INodeTask; now: number }): JSX.Element {
  const { use } = task;
  return (
    <tr>
      <th scope="row">
        {task.name === '' ? (
          <span className="hai-Soft">#{task.task_id}</span>
        ) : (
          <Link to={{ page: 'tasks', id: task.task_id }}>
            {task.name} #{task.task_id}
          </Link>
        )}
      </th>
      <td>{task.user}</td>
      <td>{task.priority === null ? '–' : priorityLabel(task.priority)}</td>
      <td>{phaseText(task, now)}</td>
      <td>{task.gpus.length === 0 ? trans.__('whole node') : task.gpus.join(', ')}</td>
      <Measured value={use?.gpu_use} unit="%" />
      <Measured value={use?.gpu_memory} unit="bytes" />
      <Measured value={use?.cpu} unit="cores" />
      <Measured value={use?.memory} unit="bytes" />
    </tr>
  );
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
