/** The cluster at a glance: a group's nodes, and tasks by priority. */

import type { JSX } from 'react';
import type { ICluster, IGroupOverview, ILevelCount } from '../../api/types';
import { count, priorityLabel } from '../../text/words';
import { Bar, Notice } from '../react';
import { trans } from '../../text/translate';
import { Sentence } from '../Sentence';

/** Node groups; `levels: false`: without their tasks by priority. */
export function ClusterView(props: { cluster: ICluster; levels?: boolean }): JSX.Element {
  const { cluster, levels = true } = props;
  return (
    <div data-testid="hai-cluster">
      {cluster.paused && (
        <Notice kind="warning">
          {trans.__('The cluster is paused: nothing starts until an administrator resumes it.')}
        </Notice>
      )}
      {cluster.standstill && (
        <Notice kind="warning">
          {trans.__('Nothing starts now, and running tasks go on. %1', cluster.standstill)}
        </Notice>
      )}
      {cluster.groups.map(group => (
        <GroupView key={group.group} group={group} levels={levels} />
      ))}
      {cluster.groups.length === 0 && <p className="hai-Empty">{trans.__('There are no nodes yet.')}</p>}
    </div>
  );
}

function GroupView({ group, levels }: { group: IGroupOverview; levels: boolean }): JSX.Element {
  const words = [
    group.shared > 0
      ? trans.__('%1 of %2 held (%3 of them in part)', group.held, count(group.nodes, 'node'), group.shared)
      : trans.__('%1 of %2 held', group.held, count(group.nodes, 'node')),
    trans.__('%1 free', group.free)
  ];
  if (group.unavailable > 0) {
    words.push(trans.__('%1 unavailable', group.unavailable));
  }
  return (
    <section className="hai-Group" aria-label={trans.__('Node group %1', group.group)}>
      <header className="hai-Group-header">
        <span className="hai-Group-name">{group.group}</span>
        <span className="hai-Group-free">
          <Sentence text={trans.__('%1 of %2 free')} values={[<b key="free">{group.free}</b>, group.nodes]} />
          {group.shared > 0 && trans.__(', %1 of %2', group.gpus_free, count(group.gpus, 'GPU'))}
        </span>
      </header>
      <Bar
        label={`${group.group}: ${words.join(', ')}`}
        total={group.nodes}
        parts={[
          { className: 'hai-mod-held', value: group.held },
          { className: 'hai-mod-unavailable', value: group.unavailable }
        ]}
      />
      {levels && <LevelsTable levels={group.levels} />}
    </section>
  );
}

/** Running and waiting tasks by priority, where there are any. */
export function LevelsTable(props: { levels: readonly ILevelCount[]; empty?: string }): JSX.Element | null {
  const levels = props.levels.filter(level => level.running_tasks > 0 || level.waiting_tasks > 0);
  if (levels.length === 0) {
    return props.empty === undefined ? null : <p className="hai-Empty">{props.empty}</p>;
  }
  return (
    <table className="hai-Levels">
      <thead>
        <tr>
          <th scope="col">{trans.__('Tasks (nodes)')}</th>
          <th scope="col">{trans.__('Running')}</th>
          <th scope="col">{trans.__('Waiting')}</th>
        </tr>
      </thead>
      <tbody>
        {levels.map(level => (
          <LevelRow key={level.priority} level={level} />
        ))}
      </tbody>
    </table>
  );
}

function LevelRow({ level }: { level: ILevelCount }): JSX.Element {
  return (
    <tr>
      <th scope="row">{priorityLabel(level.priority)}</th>
      <td>{cell(level.running_tasks, level.running_nodes)}</td>
      <td>{cell(level.waiting_tasks, level.waiting_nodes)}</td>
    </tr>
  );
}

function cell(tasks: number, nodes: number): JSX.Element {
  return tasks === 0 ? (
    <span className="hai-Levels-none" aria-label={trans.__('none')}>
      –
    </span>
  ) : (
    <span title={trans.__('%1 on %2', count(tasks, 'task'), count(nodes, 'node'))}>
      {tasks} <span className="hai-Levels-nodes">({nodes})</span>
    </span>
  );
}
