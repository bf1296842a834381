/** The cluster at a glance: a group's nodes, and tasks by priority. */

import type { JSX } from 'react';
import type { ICluster, IGroupOverview, ILevelCount } from '../../api/types';
import { count, priorityLabel } from '../../text/format';
import { Bar, Notice } from '../react';

export function ClusterView(props: { cluster: ICluster }): JSX.Element {
  const { cluster } = props;
  return (
    <div data-testid="hai-cluster">
      {cluster.paused && (
        <Notice kind="warning">
          The cluster is paused: nothing starts until an administrator resumes it.
        </Notice>
      )}
      {cluster.standstill && (
        <Notice kind="warning">Nothing starts now, and running tasks go on. {cluster.standstill}</Notice>
      )}
      {cluster.groups.map(group => (
        <GroupView key={group.group} group={group} />
      ))}
      {cluster.groups.length === 0 && <p className="hai-Empty">There are no nodes yet.</p>}
    </div>
  );
}

function GroupView({ group }: { group: IGroupOverview }): JSX.Element {
  const levels = group.levels.filter(level => level.running_tasks > 0 || level.waiting_tasks > 0);
  const shared = group.shared > 0 ? ` (${group.shared} of them in part)` : '';
  const words = [`${group.held} of ${count(group.nodes, 'node')} held${shared}`, `${group.free} free`];
  if (group.unavailable > 0) {
    words.push(`${group.unavailable} unavailable`);
  }
  return (
    <section className="hai-Group" aria-label={`Node group ${group.group}`}>
      <header className="hai-Group-header">
        <span className="hai-Group-name">{group.group}</span>
        <span className="hai-Group-free">
          <b>{group.free}</b> of {group.nodes} free
          {group.shared > 0 && `, ${group.gpus_free} of ${count(group.gpus, 'GPU')}`}
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
      {levels.length > 0 && (
        <table className="hai-Levels">
          <thead>
            <tr>
              <th scope="col">Tasks (nodes)</th>
              <th scope="col">Running</th>
              <th scope="col">Waiting</th>
            </tr>
          </thead>
          <tbody>
            {levels.map(level => (
              <LevelRow key={level.priority} level={level} />
            ))}
          </tbody>
        </table>
      )}
    </section>
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
    <span className="hai-Levels-none" aria-label="none">
      –
    </span>
  ) : (
    <span title={`${count(tasks, 'task')} on ${count(nodes, 'node')}`}>
      {tasks} <span className="hai-Levels-nodes">({nodes})</span>
    </span>
  );
}
