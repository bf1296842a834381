/** What can be done to a task, and what it means. Pure. */

import type { TaskAction } from '../../api/operations';
import type { ITaskDetail } from '../../api/types';
import { duration, isUnfinished } from '../../text/format';
import { count, isWaiting } from '../../text/words';
import { trans } from '../../text/translate';

export interface IAction {
  action: TaskAction;
  label: string;
  /** What happens when it is clicked; a sentence. */
  hint: string;
}

/** The actions that make sense now, in the order of their buttons. */
export function actionsOf(task: Pick<ITaskDetail, 'state' | 'held' | 'grace_s'>): IAction[] {
  if (!isUnfinished(task.state) || task.state === 'stopping') {
    return [];
  }
  const actions: IAction[] = [];
  if (task.held) {
    actions.push({
      action: 'resume',
      label: trans.__('Resume'),
      hint: isWaiting(task.state)
        ? trans.__('Let it wait for its turn again.')
        : trans.__('Let it start again after this run.')
    });
  } else {
    if (task.state === 'running' || task.state === 'starting') {
      actions.push({
        action: 'suspend',
        label: trans.__('Suspend'),
        hint: trans.__(
          'Tell it to save (it has %1), give its nodes back and keep it until you resume it.',
          duration(task.grace_s)
        )
      });
    }
    actions.push({
      action: 'hold',
      label: trans.__('Hold'),
      hint: isWaiting(task.state)
        ? trans.__('Do not start it until you resume it.')
        : trans.__('Go on with this run, but do not start another until you resume it.')
    });
  }
  actions.push({ action: 'stop', label: trans.__('Stop'), hint: trans.__('End it for good.') });
  return actions;
}

/** What stopping means for this task, for the question before it. */
export function stopWarning(task: Pick<ITaskDetail, 'state' | 'nodes' | 'grace_s' | 'checkpoint'>): string {
  if (isWaiting(task.state)) {
    return trans.__('It will not run again. What it has saved stays where it is.');
  }
  const saved = task.checkpoint === null ? trans.__('It has not saved anything yet.') : '';
  const told = trans.__(
    'It is told to leave, has %1 to save, and frees %2. It will not run again.',
    duration(task.grace_s),
    count(task.nodes, 'node')
  );
  return `${told} ${saved}`.trim();
}
