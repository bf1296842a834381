/** What the service tells the user, on the page: in the corner, and by the browser while the tab is hidden. */

import { trans } from '../text/translate';
import type { IRouter } from '../components/studio/router';
import { Attention, Outside } from '../models/attention';
import type { Feed } from '../models/feed';
import { tell, type ITelling } from '../models/told';
import type { PageHost } from './host';

/** Listen while the tab is seen, or is the one of all hidden tabs that does; and tell. */
export function tellOnPage(feed: Feed, host: PageHost, router: IRouter): Attention {
  const open = ({ task }: ITelling): void => {
    if (task === null) {
      router.go({ page: 'notifications' });
    } else {
      host.openTask(task);
    }
  };
  const outside = new Outside(open);
  tell({
    feed,
    hidden: () => document.hidden,
    show: telling => {
      // The page of notifications has it.
      if (!telling.stale) {
        const label = telling.task === null ? trans.__('Show all') : trans.__('Open the task');
        host.notify(telling.kind, telling.text, { label, run: () => open(telling) });
      }
    },
    showOutside: telling => void outside.show(telling)
  });
  return new Attention(feed);
}
