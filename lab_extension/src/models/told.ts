/** Tells users what the service tells them: on the screen, and by the browser while the tab is hidden. Each once. */

import { EventKind } from '../api/constants';
import type { IEvent } from '../api/types';
import { localTimes } from '../text/format';
import type { Feed } from './feed';
import { SeenKeys } from './seen';

/** How old a notification is when it is only listed, in ms: its moment to be shown has passed. */
const STALE = 600_000;
/** Characters of a task's name that are shown: JupyterLab cuts notifications after 140, and the end says what happened. */
const NAME = 40;

/** Something to tell. */
export interface ITelling {
  /** The same in all tabs. */
  key: string;
  kind: 'info' | 'warning' | 'error';
  text: string;
  /** The task to open; null: there is none, or several. */
  task: number | null;
  /** Whether it is too old to be put before what the user does now. */
  stale: boolean;
}

export interface ITellerOptions {
  feed: Pick<Feed, 'event'>;
  /** Whether the user does not see this tab. */
  hidden: () => boolean;
  show: (telling: ITelling) => void;
  /** Show it by the browser; it is only asked for while the tab is hidden. */
  showOutside: (telling: ITelling) => void;
  /** The time now, in ms. */
  now?: () => number;
}

/** Listen to the feed for what the user is told. The service sends nobody what others are told. */
export function tell({ feed, hidden, show, showOutside, now = Date.now }: ITellerOptions): void {
  const seen = new SeenKeys(null);
  feed.event.connect((_, event) => {
    if (event.kind !== EventKind.NOTIFICATION) {
      return;
    }
    const telling = tellingOf(event, now());
    // After a lost connection an event may come again.
    if (!seen.add(telling.key)) {
      return;
    }
    const channels: unknown[] = Array.isArray(event.data.channels) ? event.data.channels : [];
    if (channels.includes('lab')) {
      show(telling);
    }
    if (channels.includes('browser') && hidden()) {
      showOutside(telling);
    }
  });
}

/** What an event of the feed tells. */
export function tellingOf(event: IEvent, now: number): ITelling {
  const { data } = event;
  const digest = data.kind === 'digest';
  return {
    // Numbers begin again with a new database.
    key: `${event.seq}@${event.at}`,
    kind: data.kind === 'failed' ? 'error' : WARNING.has(String(data.kind)) ? 'warning' : 'info',
    text: textOf(data, now),
    task: digest ? null : event.task_id,
    stale: now - Date.parse(event.at) > STALE
  };
}

const WARNING: ReadonlySet<string> = new Set(['interrupted', 'waiting', 'gpus_idle']);

/** What the service says of it; a long name in it is cut. */
function textOf(data: IEvent['data'], now: number): string {
  const text = localTimes(String(data.text), now);
  const { name } = (data.params ?? {}) as Record<string, unknown>;
  return typeof name === 'string' && name.length > NAME
    ? text.replace(name, () => `${name.slice(0, NAME - 1)}…`)
    : text;
}
