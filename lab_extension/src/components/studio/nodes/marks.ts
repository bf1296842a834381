/** Marks on nodes: for which nodes each makes sense, what is asked before, and what is said after. */

import type { IOperations, NodeAction } from '../../../api/operations';
import { ApiError, sentenceOf } from '../../../api/request';
import type { IDisplacedTask, IMarkPreview, INode, IPreviewTask } from '../../../api/types';
import { duration, moment, nodeList, size } from '../../../text/format';
import { trans } from '../../../text/translate';
import { count, numberText } from '../../../text/words';
import type { IDetails, IQuestion } from '../../host';

/** How many requests are under way at once: the service lets a user have four. */
const AT_ONCE = 3;
/** How often a request is made again that came too early. */
const TRIES = 8;

export const NODE_ACTIONS: readonly NodeAction[] = ['cordon', 'drain', 'uncordon'];

/** Whether the action changes something. */
export function suitsNode(action: NodeAction, node: INode): boolean {
  return {
    cordon: node.mark !== 'cordoned',
    drain: node.mark !== 'draining',
    uncordon: node.mark !== 'none'
  }[action];
}

/** The label of the button, with how many nodes it is for. */
export function nodeActionLabel(action: NodeAction, n: number): string {
  return {
    cordon: trans.__('Cordon %1', n),
    drain: trans.__('Drain %1', n),
    uncordon: trans.__('Uncordon %1', n)
  }[action];
}

/** The mark that an action puts on nodes; null: it takes marks away. */
export function markOf(action: NodeAction): IMarkPreview['mark'] | null {
  return { cordon: 'cordoned' as const, drain: 'draining' as const, uncordon: null }[action];
}

/** A task in a list: `train (#41) of alice, 2 nodes`. */
function taskText(task: IPreviewTask): string {
  const name = task.name === '' ? `#${task.task_id}` : `${task.name} (#${task.task_id})`;
  return trans.__('%1 of %2, %3', name, task.user, size(task));
}

function displacedText(task: IDisplacedTask, now: number): string {
  const away =
    task.away_by === null
      ? taskText(task)
      : trans.__('%1: away by %2', taskText(task), moment(task.away_by, now));
  if (task.ends) {
    return trans.__('%1; it ends by itself before', away);
  }
  if (task.goes_on_at === null) {
    return trans.__('%1; when it goes on is not known', away);
  }
  const at = moment(task.goes_on_at, now);
  return task.goes_on_nodes.length === 0
    ? trans.__('%1; goes on about %2', away, at)
    : trans.__('%1; goes on about %2 on %3', away, at, nodeList(task.goes_on_nodes));
}

/** What is asked before nodes are marked: who leaves by when, where they go on, who starts later. */
export function markQuestion(preview: IMarkPreview, now: number = Date.now()): IQuestion {
  const { mark, nodes, displaced, staying, moved, later } = preview;
  const drain = mark === 'draining';
  const said = [
    trans.__('%1.', nodeList(nodes, 8)),
    displaced.length === 0
      ? trans.__('No task has to leave.')
      : trans._n('%1 task is told to leave.', '%1 tasks are told to leave.', displaced.length),
    preview.empty_by === null
      ? ''
      : trans.__('The last one is away by %1 at the latest.', moment(preview.empty_by, now))
  ];
  const laterLines = later.map(task => {
    const without = moment(task.without, now);
    return task.with_mark === null
      ? trans.__(
          '%1: about %2 without this; with it, not in the time that was computed',
          taskText(task),
          without
        )
      : trans.__('%1: about %2 instead of %3', taskText(task), moment(task.with_mark, now), without);
  });
  if (preview.later_left_out > 0) {
    laterLines.push(trans.__('and %1 more', numberText(preview.later_left_out)));
  }
  const details: IDetails[] = [
    { title: trans.__('They leave'), lines: displaced.map(task => displacedText(task, now)) },
    { title: trans.__('They stay until their runs end'), lines: staying.map(taskText) },
    {
      title: trans.__('They make room on other nodes'),
      lines: moved.map(task =>
        trans.__('%1: about %2, for task %3', taskText(task), moment(task.at, now), task.beneficiary)
      )
    },
    { title: trans.__('They start later'), lines: laterLines },
    {
      title: trans.__('What the times rest on'),
      lines: [
        trans.__('Computed up to %1, to %2.', moment(preview.computed_until, now), duration(preview.step_s)),
        ...preview.assumptions.map(found => found.sentence)
      ]
    }
  ];
  return {
    title: drain
      ? trans._n('Drain %1 node?', 'Drain %1 nodes?', nodes.length)
      : trans._n('Cordon %1 node?', 'Cordon %1 nodes?', nodes.length),
    body: said.filter(Boolean).join(' '),
    details,
    accept: drain ? trans.__('Drain') : trans.__('Cordon'),
    keep: trans.__('Leave as it is')
  };
}

export interface IMarkResult {
  done: readonly INode[];
  /** Sentences, one for each node that could not be changed. */
  failures: readonly string[];
}

/** Do it to all of them, some at a time; what came too early is asked again when the service says. It never rejects. */
export async function markAll(
  api: Pick<IOperations, 'mark'>,
  action: NodeAction,
  nodes: readonly string[],
  pause: (ms: number) => Promise<void> = ms => new Promise(done => setTimeout(done, ms))
): Promise<IMarkResult> {
  const done: INode[] = [];
  const failures: string[] = [];
  const left = [...nodes];
  const one = async (node: string): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        done.push(await api.mark(node, action));
        return;
      } catch (error) {
        const early = error instanceof ApiError && error.status === 429 && tries < TRIES;
        if (!early) {
          failures.push(trans.__('Node %1: %2', node, sentenceOf(error)));
          return;
        }
        await pause(Math.max(500, error.retryAfter));
      }
    }
  };
  const work = async (): Promise<void> => {
    for (let node = left.shift(); node !== undefined; node = left.shift()) {
      await one(node);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { done, failures };
}

/** What is said after it. */
export function markedText(action: NodeAction, result: IMarkResult): string {
  const n = count(result.done.length, 'node');
  const done = {
    cordon: trans.__('Cordoned %1.', n),
    drain: trans.__('Draining %1.', n),
    uncordon: trans.__('%1 may be used again.', n)
  }[action];
  const failed = result.failures.slice(0, 3);
  const more = result.failures.length - failed.length;
  return [
    result.done.length > 0 ? done : '',
    ...failed,
    more > 0 ? trans._n('%1 more could not be changed.', '%1 more could not be changed.', more) : ''
  ]
    .filter(Boolean)
    .join(' ');
}
