/** The rules of scheduling in a few words; docs/scheduling.md has them by their ids. */

import { trans } from './translate';

const WORDS: Readonly<Record<string, () => string>> = {
  F2: () => trans.__('tasks that span zones'),
  H3: () => trans.__('nodes on which runs fail'),
  I1: () => trans.__('idle GPUs'),
  O2: () => trans.__('levels within a priority'),
  O3: () => trans.__('shares of users'),
  O4: () => trans.__('turns above normal priority'),
  P2: () => trans.__('interruptions among equals'),
  P6: () => trans.__('turns that are worth a switch'),
  P7: () => trans.__('tasks that were interrupted often'),
  P8: () => trans.__('tasks that do not save')
};

/** The rules that these ids name: `shares of users (O3)`; the id alone of a rule that is not known here. */
export function rulesText(ids: string): string {
  return ids
    .split(', ')
    .map(id => {
      const words = WORDS[id];
      return words === undefined ? id : trans.__('%1 (%2)', words(), id);
    })
    .join(', ');
}
