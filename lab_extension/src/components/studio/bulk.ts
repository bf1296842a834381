/** One action on several tasks: which of them it makes sense for, what is asked before, and what is said after. */

import type { IApi, TaskAction } from '../../api/client';
import { sentenceOf } from '../../api/request';
import type { ITaskDetail, ITaskSummary } from '../../api/types';
import { isUnfinished } from '../../text/format';
import { isWaiting } from '../../text/words';
import { trans } from '../../text/translate';
import type { IQuestion } from '../host';

/** How many requests are under way at once: the service lets a user have four. */
const AT_ONCE = 3;

/** Whether the action makes sense for a task as it is now. */
export function suits(action: TaskAction, task: ITaskSummary): boolean {
  if (!isUnfinished(task.state) || task.state === 'stopping') {
    return false;
  }
  return {
    stop: true,
    resume: task.held,
    hold: !task.held,
    suspend: !task.held && !isWaiting(task.state)
  }[action];
}

/** The label of the button, with how many tasks it is for. */
export function actionLabel(action: TaskAction, n: number): string {
  return {
    stop: trans.__('Stop %1', n),
    suspend: trans.__('Suspend %1', n),
    hold: trans.__('Hold %1', n),
    resume: trans.__('Resume %1', n)
  }[action];
}

/** What is asked before several tasks are stopped. */
export function stopAll(tasks: readonly ITaskSummary[]): IQuestion {
  const names = tasks.slice(0, 5).map(task => `${task.name} (#${task.id})`);
  const more = tasks.length - names.length;
  const list = more > 0 ? trans.__('%1 and %2 more', names.join(', '), more) : names.join(', ');
  return {
    title: trans._n('Stop %1 task?', 'Stop %1 tasks?', tasks.length),
    body: trans.__(
      '%1. They do not run again. Each one that runs is told to leave and has its time to save.',
      list
    ),
    accept: trans.__('Stop them'),
    keep: trans.__('Keep them')
  };
}

export interface IBulkResult {
  done: readonly ITaskDetail[];
  /** Sentences, one for each task that could not be changed. */
  failures: readonly string[];
}

/** Do it to all of them, some at a time. It never rejects. */
export async function actOnAll(
  api: Pick<IApi, 'act'>,
  action: TaskAction,
  tasks: readonly ITaskSummary[]
): Promise<IBulkResult> {
  const done: ITaskDetail[] = [];
  const failures: string[] = [];
  const left = [...tasks];
  const work = async (): Promise<void> => {
    for (let task = left.shift(); task !== undefined; task = left.shift()) {
      try {
        done.push(await api.act(task.id, action));
      } catch (error) {
        failures.push(trans.__('Task %1: %2', task.id, sentenceOf(error)));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { done, failures };
}

/** What is said after it. */
export function resultText(action: TaskAction, result: IBulkResult): string {
  const n = result.done.length;
  const done = {
    stop: trans._n('Stopping %1 task.', 'Stopping %1 tasks.', n),
    suspend: trans._n('Suspending %1 task.', 'Suspending %1 tasks.', n),
    hold: trans._n('Holding %1 task.', 'Holding %1 tasks.', n),
    resume: trans._n('Resumed %1 task.', 'Resumed %1 tasks.', n)
  }[action];
  const failed = result.failures.slice(0, 3).join(' ');
  const more = result.failures.length - 3;
  return [
    n > 0 ? done : '',
    failed,
    more > 0 ? trans._n('%1 more could not be changed.', '%1 more could not be changed.', more) : ''
  ]
    .filter(Boolean)
    .join(' ');
}
