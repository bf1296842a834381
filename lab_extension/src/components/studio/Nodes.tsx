/** The nodes by group: what each does, and for whom. */

import type { JSX } from 'react';
import type { INode } from '../../api/types';
import { NodesModel } from '../../models/nodes';
import { count } from '../../text/words';
import { trans } from '../../text/translate';
import { Notice } from '../react';
import { useModel, useStudio } from './context';
import { Link } from './router';

/** What a node does, in a word. */
export function nodeWord(node: INode): string {
  if (!node.ready) {
    return trans.__('not ready');
  }
  if (node.mark !== 'none') {
    return {
      cordoned: trans.__('cordoned'),
      draining: trans.__('draining'),
      quarantined: trans.__('quarantined')
    }[node.mark];
  }
  return node.tasks.length > 0 ? trans.__('in use') : trans.__('free');
}

export function NodesPage(): JSX.Element {
  const { api, feed } = useStudio();
  const model = useModel(() => new NodesModel(api, feed));
  const groups = [...new Set(model.items.map(node => node.group))].sort();
  return (
    <>
      <h1>{trans.__('Nodes')}</h1>
      {model.error !== null && <Notice kind="error">{model.error}</Notice>}
      {!model.ready && model.error === null && <p className="hai-Empty">{trans.__('Loading…')}</p>}
      {groups.map(group => (
        <Group key={group} group={group} nodes={model.items.filter(node => node.group === group)} />
      ))}
      {model.ready && groups.length === 0 && (
        <p className="hai-Empty">{trans.__('There are no nodes yet.')}</p>
      )}
    </>
  );
}

function Group(props: { group: string; nodes: readonly INode[] }): JSX.Element {
  return (
    <section className="hai-Card" aria-label={trans.__('Node group %1', props.group)}>
      <h2>
        {props.group} <span className="hai-Soft">{count(props.nodes.length, 'node')}</span>
      </h2>
      <div className="hai-Table-scroll">
        <table className="hai-Table">
          <thead>
            <tr>
              <th scope="col">{trans.__('Node')}</th>
              <th scope="col">{trans.__('State')}</th>
              <th scope="col">{trans.__('GPUs free')}</th>
              <th scope="col">{trans.__('Tasks')}</th>
            </tr>
          </thead>
          <tbody>
            {props.nodes.map(node => (
              <tr key={node.name}>
                <th scope="row">{node.name}</th>
                <td>{nodeWord(node)}</td>
                <td>{trans.__('%1 of %2', node.gpus_free, node.gpus)}</td>
                <td>
                  {node.tasks.map(task => (
                    <span key={task.task_id} className="hai-Table-item">
                      <Link to={{ page: 'tasks', id: task.task_id }}>#{task.task_id}</Link> {task.user}
                    </span>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
