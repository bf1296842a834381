/**
 * What policy numbers do, in the user's language. The service says it in English: in English its sentence is shown, in other languages
 * the translation of one of these. A number that is not here is shown as the service says it.
 */

import type { IPolicyNumber } from '../api/types';
import { isEnglish, trans } from './translate';

/** By the name of a number: its meaning, as `NUMBERS` of the service has it. */
const MEANINGS: Record<string, () => string> = {
  min_run: () => trans.__('A turn is never ended for an equal before it has lasted this long.'),
  slice: () => trans.__('A first turn that has lasted this long may be ended for an equal.'),
  slice_growth: () => trans.__('Turns at each further level may last this many times longer.'),
  long_after: () => trans.__('Service of this length takes a task to the last level.'),
  starve_after: () => trans.__('A task that has waited longer goes before others of its priority.'),
  half_life: () => trans.__("After this time, a user's past use counts half."),
  weights: () => trans.__("Users whose use counts less (above 1) or more (below 1) than others'."),
  demote_after: () => trans.__('ABOVE_NORMAL counts as NORMAL in turns that have lasted this long.'),
  min_run_per_switch: () =>
    trans.__('A turn lasts at least this many times as long as suspending and resuming takes.'),
  max_rotations: () => trans.__('A task is told to leave for equals at most this many times an hour.'),
  max_unsaved: () =>
    trans.__('Interruptions without a save after which a task keeps its nodes from equals; 0 is off.'),
  max_cross_zone: () => trans.__('At most this many tasks of a node group may span zones at a time.'),
  strikes: () => trans.__("This many failed runs, not by their users' fault, quarantine a node."),
  strike_tasks: () => trans.__('The failures that quarantine a node are of at least this many tasks.'),
  strike_users: () => trans.__('The failures that quarantine a node are of at least this many users.'),
  strike_window: () => trans.__('The failures that quarantine a node lie within this time.'),
  quarantine_share: () => trans.__('At most this share of a node group is quarantined automatically.'),
  default_grace: () =>
    trans.__('How long a task has to save after a notice, unless it asks for another time.'),
  patience: () => trans.__('How long a job that can only be ended may go on after a notice, to save.'),
  max_grace: () => trans.__('The longest grace that a task may ask for, including extensions.'),
  max_failed_starts: () => trans.__('Failed starts in a row after which a task fails.'),
  idle_after: () => trans.__('GPUs that have done nothing for this long are idle.'),
  idle_use: () => trans.__('Use of a GPU below this, in per cent, is nothing ...'),
  idle_power: () =>
    trans.__(
      '... where it takes less than this share of the power that it may take, or no process is on it.'
    ),
  idle_action: () => trans.__('What becomes of a task whose GPUs are idle.'),
  snapshots: () => trans.__('Whether tasks start in a snapshot of their code.'),
  keep_snapshots: () =>
    trans.__('How long a snapshot of code stays after the end of the last task that has it.'),
  keep_audit: () => trans.__('How long entries of the audit are kept; the number for all node groups counts.')
};

/** By the names of a number and of one of its words: what happens then. */
const CHOICES: Record<string, () => string> = {
  'idle_action notify': () => trans.__('its owner is told'),
  'idle_action yield': () => trans.__('its turn ends as well, when another task waits'),
  'snapshots off': () => trans.__('none does'),
  'snapshots offered': () => trans.__('users choose'),
  'snapshots required': () => trans.__('each does')
};

/** What a number does, in a sentence. Its words, if it has any, are in a select beside it. */
export function meaningText(number: Pick<IPolicyNumber, 'name' | 'help'>): string {
  return (isEnglish() ? undefined : MEANINGS[number.name]?.()) ?? number.help;
}

/** A word that a number may be, and what happens then: `notify (its owner is told)`. */
export function choiceText(
  number: Pick<IPolicyNumber, 'name'>,
  { word, meaning }: IPolicyNumber['choices'][number]
): string {
  const said = (isEnglish() ? undefined : CHOICES[`${number.name} ${word}`]?.()) ?? meaning;
  return trans.__('%1 (%2)', word, said);
}
