/** What would let a task start, and what its user has had of the cluster, in the user's language (see `verdicts.ts`). */

import type { IGroupShare, ITaskSummary, IWhatIf } from '../api/types';
import { localTimes, percent } from './format';
import { trans } from './translate';
import { amount, isEnglish, level, quotaOf, sentences, when, whoText } from './verdicts';
import { count, numberText } from './words';

/** What would happen to the task with a change: one or two sentences. */
export function changeText(
  change: IWhatIf,
  task: Pick<ITaskSummary, 'nodes' | 'gpus'>,
  now: number = Date.now()
): string {
  return isEnglish()
    ? localTimes(change.sentence, now)
    : trans.__('%1: %2.', conditionOf(change, task), effectOf(change, now));
}

function conditionOf(change: IWhatIf, task: Pick<ITaskSummary, 'nodes' | 'gpus'>): string {
  switch (change.kind) {
    case 'PRIORITY':
      return trans.__('At %1', level(change.priority));
    case 'NODES':
      return trans.__('With %1 instead of %2', count(change.nodes ?? 0, 'node'), task.nodes);
    case 'GPUS':
      return trans.__('With %1 of each node instead of %2', count(change.gpus ?? 0, 'GPU'), task.gpus ?? '');
    case 'LIMIT':
      return trans.__(
        'If %1 were %2 at %3',
        quotaOf(change.subject),
        count(change.limit ?? 0, 'node'),
        level(change.priority)
      );
  }
}

function effectOf(change: IWhatIf, now: number): string {
  const by = when(change.starts_by, now);
  const who = whoText(change.suspends);
  if (change.starts_now) {
    return trans.__('it would start now');
  }
  if (who === '') {
    return by === null
      ? trans.__('it would start when nodes that are being freed are free')
      : trans.__('it would start when nodes that are being freed are free, by %1 at the latest', by);
  }
  return by === null
    ? trans.__('it would have %1 suspended and start when they have saved', who)
    : trans.__('it would have %1 suspended and start when they have saved, by %2 at the latest', who, by);
}

/** What a user has had of a node group, and what follows from it. */
export function shareText(share: IGroupShare): string {
  if (isEnglish()) {
    return share.sentence;
  }
  if (share.given === null) {
    return trans.__(
      'No user with tasks in node group %1 has used it lately, so shares do not decide who goes first.',
      share.node_group
    );
  }
  return sentences(
    trans.__(
      '%1 has had %2 of the recent use of node group %3 and is entitled to %4 (weight %5 of %6).',
      share.user,
      percent(share.given, digits(share.given)),
      share.node_group,
      percent(share.entitled, digits(share.entitled)),
      amount(share.weight),
      amount(share.weights)
    ),
    share.users_before > 0
      ? trans.__(
          'Users who have had less for their weight: %1; of tasks of equal priority and level theirs go first.',
          numberText(share.users_before)
        )
      : trans.__('No other user with tasks there has had less for their weight.')
  );
}

/** Shares below 1 % have a digit after the point, as the service writes them. */
function digits(part: number): number {
  return part < 0.01 ? 1 : 0;
}
