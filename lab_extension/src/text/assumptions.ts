/**
 * What computed times and figures rest on, in the user's language. The service says it in English, with a name and data: in English its
 * sentence is shown, in other languages one is made of the data. What this does not know is shown as the service says it.
 */

import type { IAssumption } from '../api/types';
import { duration } from './format';
import { trans } from './translate';
import { isEnglish } from './verdicts';
import { numberText } from './words';

type Say = (count: number, length: string) => string;

/** By name: those of a trial of policy numbers, then those of a preview of a mark on nodes. */
const SENTENCES: Record<string, Say> = {
  work: () => trans.__('Each task does as much useful work as it did in this time.'),
  cut: count =>
    trans._n(
      '%2 task was stopped or still running: how long it would have run is not known, so it ends after what it has done.',
      '%2 tasks were stopped or still running: how long they would have run is not known, so they end after what they have done.',
      count,
      numberText(count)
    ),
  unstarted: count =>
    trans._n(
      '%2 task was without any start and left out: how long it would run is not known.',
      '%2 tasks were without any start and left out: how long they would run is not known.',
      count,
      numberText(count)
    ),
  idle: count =>
    trans._n(
      '%2 task was without useful work in this time and left out.',
      '%2 tasks were without useful work in this time and left out.',
      count,
      numberText(count)
    ),
  older: count =>
    trans._n(
      '%2 task was older than this time: it is submitted at its begin, and counts in no wait.',
      '%2 tasks were older than this time: they are submitted at its begin, and count in no wait.',
      count,
      numberText(count)
    ),
  start: (_, length) => trans.__('A start takes %1, the median of this time.', length),
  saving: (_, length) =>
    trans.__('A task that is told to leave saves in the time that it took last, else in %1.', length),
  now: () => trans.__('Nodes, quota and user groups are those of now, and no node fails.'),
  away: count =>
    trans.__('Nodes that take no new runs now have none in the simulation either: %1.', numberText(count)),
  users: () =>
    trans.__(
      'Holds, suspensions by users and changes of priority are left out, and users submit what they did.'
    ),
  plans: (_, length) => trans.__('The simulated scheduler plans every %1.', length),
  lengths: () => trans.__('Tasks run as long as their reports or time limits say, or as similar tasks did.'),
  submissions: () => trans.__('Until then there are no other submissions, changes or failures.'),
  leaving: () =>
    trans.__('A task that is told to leave takes as long as the last time, else all of its grace.'),
  steps: (_, length) => trans.__('The queue is long: it is looked at every %1.', length)
};

/** An assumption in a sentence. */
export function assumptionText(found: IAssumption): string {
  const say = isEnglish() || !Object.hasOwn(SENTENCES, found.name) ? undefined : SENTENCES[found.name];
  return say === undefined ? found.sentence : say(found.count ?? 0, duration(found.length_s ?? 0));
}
