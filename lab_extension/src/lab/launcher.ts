/** The section *HAI* of JupyterLab's Launcher: what a researcher needs in the first minute. */

import type { ILauncher } from '@jupyterlab/launcher';
import type { ReadonlyJSONObject } from '@lumino/coreutils';
import { CommandIDs } from './commandIds';

/** The cards, in their order. `isLauncher`: the command answers with a card's short label. */
const CARDS: readonly { command: string; args: ReadonlyJSONObject }[] = [
  { command: CommandIDs.submit, args: { isLauncher: true } },
  { command: CommandIDs.studio, args: { isLauncher: true, page: 'tasks' } },
  { command: CommandIDs.studio, args: { isLauncher: true, page: 'overview' } },
  { command: CommandIDs.environments, args: { isLauncher: true } },
  { command: CommandIDs.examples, args: { isLauncher: true } }
];

/** Add the section, before those of JupyterLab: with a few kernels, what is last is below the edge of a small screen. */
export function addCards(launcher: Pick<ILauncher, 'add'>): void {
  CARDS.forEach(({ command, args }, index) =>
    launcher.add({ command, args, category: 'HAI', rank: index + 1, categoryRank: -1 })
  );
}
