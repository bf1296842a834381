/** What the service tells the user, in JupyterLab: as its notifications, and by the browser while the tab is hidden. */

import { Notification } from '@jupyterlab/apputils';
import { Outside } from '../models/attention';
import type { Feed } from '../models/feed';
import { tell, type ITelling } from '../models/told';
import { trans } from '../text/translate';

/** How long it stays on the screen, in ms. JupyterLab keeps it in its list; 0: it is only there. */
const SHOWN_FOR = { info: 8_000, warning: 15_000, error: 15_000 } as const;

export interface IToldInLab {
  feed: Pick<Feed, 'event'>;
  openTask: (id: number) => void;
  /** Show the page of notifications. */
  openAll: () => void;
  /** What is said before JupyterLab shows notifications is only counted. */
  ready: Promise<unknown>;
}

/** Tell the user in JupyterLab from now on. */
export function tellInLab(options: IToldInLab): void {
  const open = ({ task }: ITelling): void => (task === null ? options.openAll() : options.openTask(task));
  const outside = new Outside(open);
  tell({
    feed: options.feed,
    hidden: () => document.hidden,
    show: telling =>
      void options.ready.then(() => {
        const { task } = telling;
        const action = {
          label: task === null ? trans.__('Show all') : trans.__('Open the task'),
          caption: task === null ? trans.__('All that you were told') : trans.__('Open task %1', task),
          callback: () => open(telling)
        };
        Notification.emit(telling.text, telling.kind, {
          autoClose: telling.stale ? 0 : SHOWN_FOR[telling.kind],
          actions: [action]
        });
      }),
    showOutside: telling => void outside.show(telling)
  });
}
