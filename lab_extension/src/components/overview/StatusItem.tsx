/** A line in the status bar: how many of one's own tasks run and wait. */

import type { JSX } from 'react';
import type { ITaskSummary } from '../../api/types';
import { isUnfinished } from '../../text/format';
import { numberText, isWaiting } from '../../text/words';
import { trans } from '../../text/translate';

/** How many tasks hold nodes, and how many wait for some. */
export function countsOf(tasks: readonly Pick<ITaskSummary, 'state'>[]): {
  running: number;
  waiting: number;
} {
  const live = tasks.filter(task => isUnfinished(task.state));
  const waiting = live.filter(task => isWaiting(task.state)).length;
  return { running: live.length - waiting, waiting };
}

/** The line; empty until the tasks are known. A click shows them. */
export function StatusItem(props: {
  tasks: readonly Pick<ITaskSummary, 'state'>[];
  ready: boolean;
  onOpen: () => void;
}): JSX.Element | null {
  if (!props.ready) {
    return null;
  }
  const { running, waiting } = countsOf(props.tasks);
  return (
    <button
      type="button"
      className="hai-StatusItem"
      data-testid="hai-status"
      title={trans.__('Your tasks on the cluster; a click shows them')}
      onClick={props.onOpen}
    >
      {trans.__('HAI: %1 running, %2 waiting', numberText(running), numberText(waiting))}
    </button>
  );
}
