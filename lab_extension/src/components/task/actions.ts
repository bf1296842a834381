/** What can be done to a task, and what it means. Pure. */

import type { TaskAction } from '../../api/client';
import type { ITaskDetail } from '../../api/types';
import { count, duration, isUnfinished, isWaiting } from '../../text/format';

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
      label: 'Resume',
      hint: isWaiting(task.state) ? 'Let it wait for its turn again.' : 'Let it start again after this run.'
    });
  } else {
    if (task.state === 'running' || task.state === 'starting') {
      actions.push({
        action: 'suspend',
        label: 'Suspend',
        hint: `Tell it to save (it has ${duration(task.grace_s)}), give its nodes back and keep it until you resume it.`
      });
    }
    actions.push({
      action: 'hold',
      label: 'Hold',
      hint: isWaiting(task.state)
        ? 'Do not start it until you resume it.'
        : 'Go on with this run, but do not start another until you resume it.'
    });
  }
  actions.push({ action: 'stop', label: 'Stop', hint: 'End it for good.' });
  return actions;
}

/** What stopping means for this task, for the question before it. */
export function stopWarning(task: Pick<ITaskDetail, 'state' | 'nodes' | 'grace_s' | 'checkpoint'>): string {
  if (isWaiting(task.state)) {
    return 'It will not run again. What it has saved stays where it is.';
  }
  const saved = task.checkpoint === null ? 'It has not saved anything yet.' : '';
  return `It is told to leave, has ${duration(task.grace_s)} to save, and frees ${count(task.nodes, 'node')}. It will not run again. ${saved}`.trim();
}
