/** The state of a task as a coloured dot and a word. */

import type { JSX } from 'react';
import type { ITaskSummary } from '../api/types';
import { between, duration, moment } from '../text/format';
import { trans } from '../text/translate';
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

/** Says that GPUs are held and do nothing. */
export function IdleBadge(props: {
  task: Pick<ITaskSummary, 'idle_gpus_since'>;
  now: number;
  testId?: string;
}): JSX.Element | null {
  const since = props.task.idle_gpus_since;
  return since === null ? null : (
    <span
      className="hai-IdleBadge"
      data-testid={props.testId}
      title={trans.__('Since %1', moment(since, props.now))}
    >
      {trans.__('GPUs idle for %1', duration(between(since, props.now)))}
    </span>
  );
}
