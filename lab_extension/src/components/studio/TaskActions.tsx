/** What can be done to the chosen tasks, and what became of each. */

import { useState, type JSX } from 'react';
import type { TaskAction } from '../../api/operations';
import type { ITaskSummary } from '../../api/types';
import { trans } from '../../text/translate';
import { Icon } from '../icons';
import { useHost } from '../host';
import { actionLabel, actOnAll, resultText, stopAll, suits, type IOutcome } from './bulk';
import { comparedQuery, MOST_COMPARED } from './compared';
import { useStudio } from './context';
import { Link } from './router';

const ACTIONS: readonly TaskAction[] = ['suspend', 'hold', 'resume', 'stop'];

/** What was done last. */
export interface IDone {
  text: string;
  outcomes: readonly IOutcome[];
}

export function TaskActions(props: {
  chosen: readonly ITaskSummary[];
  /** What does the same in a terminal; null: there is no such command. */
  command: string | null;
  onDone: (done: IDone) => void;
  onNone: () => void;
}): JSX.Element {
  const { chosen } = props;
  const { api } = useStudio();
  const host = useHost();
  const [busy, setBusy] = useState(false);
  const act = async (action: TaskAction, tasks: readonly ITaskSummary[]): Promise<void> => {
    if (action === 'stop' && !(await host.confirm(stopAll(tasks)))) {
      return;
    }
    setBusy(true);
    const outcomes = await actOnAll(api.operations, action, tasks);
    setBusy(false);
    const text = resultText(action, outcomes);
    host.notify(outcomes.some(each => each.now === null) ? 'error' : 'info', text);
    props.onDone({ text, outcomes });
  };
  return (
    <div className="hai-Bulk" role="toolbar" aria-label={trans.__('Chosen tasks')}>
      <b>{trans._n('%1 chosen', '%1 chosen', chosen.length)}</b>
      {ACTIONS.map(action => {
        const tasks = chosen.filter(task => suits(action, task));
        return tasks.length === 0 ? null : (
          <button
            key={action}
            className={`hai-Button ${action === 'stop' ? 'hai-mod-danger' : ''}`}
            disabled={busy}
            onClick={() => void act(action, tasks)}
          >
            {actionLabel(action, tasks.length)}
          </button>
        );
      })}
      {chosen.length > 1 && chosen.length <= MOST_COMPARED && (
        <Link
          className="hai-Button"
          to={{ page: 'tasks', query: comparedQuery(chosen.map(task => task.id)) }}
        >
          {trans.__('Compare')}
        </Link>
      )}
      {chosen.length > MOST_COMPARED && (
        <span className="hai-Soft">{trans.__('Choose up to %1 tasks to compare them.', MOST_COMPARED)}</span>
      )}
      <button className="hai-Link" onClick={props.onNone}>
        {trans.__('Choose none')}
      </button>
      {props.command !== null && (
        <span className="hai-Soft">
          {trans.__('In a terminal, also with suspend, hold or resume:')} <code>{props.command}</code>
        </span>
      )}
    </div>
  );
}

/** The result of each task, those that were refused first. */
export function Results({ done, onClose }: { done: IDone; onClose: () => void }): JSX.Element {
  const { text, outcomes } = done;
  const refused = outcomes.filter(each => each.now === null);
  return (
    <section className="hai-Results" aria-label={trans.__('What became of each task')}>
      <details open={refused.length > 0}>
        <summary>{text}</summary>
        <ul>
          {[...refused, ...outcomes.filter(each => each.now !== null)].map(each => (
            <li key={each.task.id} className={each.now === null ? 'hai-mod-refused' : ''}>
              {each.now === null ? trans.__('Refused: %1', each.text) : each.text}
            </li>
          ))}
        </ul>
      </details>
      <button className="hai-IconButton" aria-label={trans.__('Close')} onClick={onClose}>
        <Icon name="close" />
      </button>
    </section>
  );
}
