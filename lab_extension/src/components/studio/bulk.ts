/** One action on several tasks: which of them it makes sense for, what is asked before, and what is said after. */

import type { TaskAction } from '../../api/operations';
import { MOST, type IOperations } from '../../api/operations';
import { sentenceOf } from '../../api/request';
import type { ITaskActionResult, ITaskSummary } from '../../api/types';
import { joinCommand } from '../../text/commandLine';
import { isUnfinished } from '../../text/format';
import { isWaiting, stateLabel } from '../../text/words';
import { trans } from '../../text/translate';
import type { IQuestion } from '../host';
import type { Query } from './router';
import { taskQuery } from './rows';

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
  return {
    title: trans._n('Stop %1 task?', 'Stop %1 tasks?', tasks.length),
    body: trans.__('They do not run again. Each one that runs is told to leave and has its time to save.'),
    details: [{ title: trans.__('Chosen tasks'), lines: tasks.map(nameText) }],
    accept: trans.__('Stop them'),
    keep: trans.__('Keep them')
  };
}

/**
 * The command that stops all unfinished tasks of the user that these filters find; null: it has no such filter, or there is
 * none.
 */
export function commandOf(query: Query): string | null {
  const { text, tag, state, starred } = taskQuery(query, false);
  const others = [query.priority, query.group, query.whose].some(word => word !== undefined);
  const options = [
    ...(tag === undefined ? [] : [`--tag=${tag}`]),
    ...(text === undefined ? [] : [`--text=${text}`]),
    ...(state === undefined || query.state === 'live' ? [] : [`--state=${state}`]),
    ...(starred === true ? ['--starred'] : [])
  ];
  const ended = query.state === 'ended' || query.state === 'failed';
  return options.length === 0 || others || ended ? null : joinCommand(['hai', 'stop', ...options]);
}

function nameText(task: ITaskSummary): string {
  return `${task.name} (#${task.id})`;
}

/** What became of one task. */
export interface IOutcome {
  /** The task as it was. */
  task: ITaskSummary;
  /** As it is now; null: it was refused. */
  now: ITaskSummary | null;
  /** A sentence on it. */
  text: string;
}

/** Do it to all of them, as many at once as the service takes. It never rejects. */
export async function actOnAll(
  api: Pick<IOperations, 'actions'>,
  action: TaskAction,
  tasks: readonly ITaskSummary[]
): Promise<readonly IOutcome[]> {
  const outcomes: IOutcome[] = [];
  for (let at = 0; at < tasks.length; at += MOST.tasks) {
    const some = tasks.slice(at, at + MOST.tasks);
    try {
      const { items } = await api.actions(
        action,
        some.map(task => task.id)
      );
      outcomes.push(...some.map((task, place) => outcomeOf(task, items[place])));
    } catch (error) {
      const why = sentenceOf(error);
      outcomes.push(
        ...some.map(task => ({ task, now: null, text: trans.__('%1: %2', nameText(task), why) }))
      );
    }
  }
  return outcomes;
}

function outcomeOf(task: ITaskSummary, result: ITaskActionResult | undefined): IOutcome {
  if (result === undefined || result.state === null) {
    const why = result?.detail ?? trans.__('The service has not said what became of it.');
    return { task, now: null, text: trans.__('%1: %2', nameText(task), why) };
  }
  const now = { ...task, state: result.state, held: result.held ?? task.held };
  return { task, now, text: trans.__('%1: %2', nameText(task), stateLabel(now)) };
}

/** What is said after it. */
export function resultText(action: TaskAction, outcomes: readonly IOutcome[]): string {
  const n = outcomes.filter(each => each.now !== null).length;
  const refused = outcomes.length - n;
  const done = {
    stop: trans._n('Stopping %1 task.', 'Stopping %1 tasks.', n),
    suspend: trans._n('Suspending %1 task.', 'Suspending %1 tasks.', n),
    hold: trans._n('Holding %1 task.', 'Holding %1 tasks.', n),
    resume: trans._n('Resumed %1 task.', 'Resumed %1 tasks.', n)
  }[action];
  return [
    n > 0 ? done : '',
    refused > 0 ? trans._n('%1 task was refused.', '%1 tasks were refused.', refused) : ''
  ]
    .filter(Boolean)
    .join(' ');
}
