/** What JupyterLab does for a user once. */

import type { IStateDB } from '@jupyterlab/statedb';

const SHOWN = 'hai-lab:panel-shown';

/** Show the panel to a user who has never seen it. Who closes it has closed it. */
export async function showOnce(state: Pick<IStateDB, 'fetch' | 'save'>, show: () => void): Promise<void> {
  if ((await state.fetch(SHOWN)) === undefined) {
    await state.save(SHOWN, true);
    show();
  }
}
