/** What a task does or why it has ended, and the decisions on it, in the user's language (see `verdicts.ts`). */

import type { IDecision, ITaskSummary, PriorityChoice } from '../api/types';
import { EventKind } from '../api/constants';
import { between, duration, isUnfinished, localTimes, moment, nodeList } from './format';
import { trans } from './translate';
import { factsText, isEnglish, level, listText } from './verdicts';
import { reasonText, stateLabel } from './words';

/** What a task that does not wait does now, or why it has ended. */
export function messageText(task: ITaskSummary, now: number = Date.now()): string {
  return (isEnglish() ? null : messageOf(task, now)) ?? localTimes(task.message, now);
}

function messageOf(task: ITaskSummary, now: number): string | null {
  const nodes = nodeList(task.node_names);
  if (!isUnfinished(task.state)) {
    // Status codes and the like, as the service lists them.
    const more = /\((.*)\)\.$/.exec(task.message)?.[1];
    const [state, why] = [stateLabel(task), task.reason === null ? null : reasonText(task.reason)];
    if (why === null) {
      return null;
    }
    return more === undefined ? trans.__('%1: %2.', state, why) : trans.__('%1: %2 (%3).', state, why, more);
  }
  // Why it does not start is told by the cluster, in its words.
  if (nodes === '' || task.message.includes(' waits: ')) {
    return null;
  }
  if (task.deadline !== null) {
    const left = duration(Math.max(0, -between(task.deadline, now)));
    return task.reason === null
      ? trans.__('Leaving %1; %2 left to save.', nodes, left)
      : trans.__('Leaving %1: %2; %3 left to save.', nodes, reasonText(task.reason), left);
  }
  if (task.state === 'starting') {
    return trans.__('Starting on %1.', nodes);
  }
  return task.state === 'running' && task.running_since !== null
    ? trans.__('Running on %1 since %2.', nodes, moment(task.running_since, now))
    : null;
}

/** A decision on a task as a sentence. */
export function decisionText(decision: IDecision): string {
  const at = Date.parse(decision.at);
  return (isEnglish() ? null : decisionOf(decision, at)) ?? localTimes(decision.sentence, at);
}

function decisionOf({ kind, data, actor }: IDecision, at: number): string | null {
  switch (kind) {
    case EventKind.TASK_VERDICT: {
      const ids = Array.isArray(data.holders) ? data.holders.map(id => trans.__('task %1', String(id))) : [];
      return factsText(
        {
          kind: String(data.kind),
          priority: data.priority as ITaskSummary['effective_priority'],
          data: (data.data ?? {}) as Record<string, unknown>,
          who: listText(ids.slice(0, 3), ids.length)
        },
        at
      );
    }
    case EventKind.TASK_HELD:
      return data.held === true ? trans.__('Held by %1.', actor) : trans.__('Released by %1.', actor);
    case EventKind.TASK_PRIORITY:
      return trans.__('Given the priority %1 by %2.', level(data.priority as PriorityChoice), actor);
    case EventKind.TASK_ORDER:
      return trans.__('Moved among the waiting tasks of its owner by %1.', actor);
    case EventKind.TASK_STATE:
      return data.to === 'starting' && Array.isArray(data.nodes)
        ? trans.__('Run %1 starts on %2.', String(data.run), nodeList(data.nodes.map(String)))
        : null;
    default:
      return null;
  }
}
