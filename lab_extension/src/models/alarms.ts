/** Tells users at once that a task of theirs is interrupted repeatedly, with no evidence that it saves. */

import { EventKind } from '../api/constants';
import type { Feed } from './feed';

/** Listen to the feed for alarms on the user's own tasks. `me`: the user's name; null: not known yet. */
export function tellUnsaved(
  feed: Pick<Feed, 'event'>,
  me: () => string | null,
  show: (task: number, message: string) => void
): void {
  feed.event.connect((_, event) => {
    const { kind, message } = event.data;
    const own = event.user !== null && event.user === me();
    if (event.kind === EventKind.TASK_ALARM && kind === 'unsaved' && own && event.task_id !== null) {
      show(event.task_id, String(message));
    }
  });
}
