/** The state of a task as a coloured dot and a word. */

import type { JSX } from 'react';
import type { ITaskSummary } from '../api/types';
import { stateLabel } from '../text/words';

/** Which colour a state has; the names are classes in the style sheet. */
export function toneOf(task: Pick<ITaskSummary, 'state' | 'held'>): string {
  switch (task.state) {
    case 'running':
      return 'running';
    case 'starting':
      return 'starting';
    case 'suspending':
    case 'stopping':
      return 'leaving';
    case 'queued':
    case 'suspended':
      return task.held ? 'held' : 'waiting';
    default:
      return task.state;
  }
}

export function StateDot(props: { task: Pick<ITaskSummary, 'state' | 'held'> }): JSX.Element {
  return <span className={`hai-StateDot hai-mod-${toneOf(props.task)}`} aria-hidden="true" />;
}

export function StateBadge(props: {
  task: Pick<ITaskSummary, 'state' | 'held'>;
  testId?: string;
}): JSX.Element {
  return (
    <span className={`hai-StateBadge hai-mod-${toneOf(props.task)}`}>
      <StateDot task={props.task} />
      <span data-testid={props.testId}>{stateLabel(props.task)}</span>
    </span>
  );
}
