/** How the cluster is used: who holds it now, and how it was used before. */

import type { IApi } from '../api/client';
import { EventKind } from '../api/constants';
import type { IClusterUse, IEvent, INodesReport } from '../api/types';
import type { Feed } from './feed';
import { LiveModel } from './live';

/** Days that the picture of the past has. */
export const DAYS = 14;
/** Tasks that hold nodes that are listed; the service counts the others. */
export const HOLDERS = 8;
const DAY = 86_400_000;
/** How long the past is not read again, in ms: it is sums by hour and day. */
const PAST_FOR = 300_000;

/** Who holds nodes, and the occupancy of the last weeks. */
export class GlanceModel extends LiveModel {
  /** The tasks that hold nodes now: the user's own, then the largest. */
  use: IClusterUse | null = null;
  /** The last two weeks, by day. */
  days: INodesReport | null = null;
  private pastReadAt = -Infinity;

  constructor(
    private readonly api: Pick<IApi, 'use' | 'nodesReport'>,
    feed: Feed,
    fallback = 15_000
  ) {
    super({ feed, name: 'hai:glance', interval: 1_500, fallback, live: 20_000 });
  }

  protected concerns(event: IEvent): boolean {
    return event.kind === EventKind.TASK_STATE;
  }

  protected async read(): Promise<void> {
    this.use = await this.api.use(HOLDERS);
    if (Date.now() - this.pastReadAt < PAST_FOR) {
      return;
    }
    // What is now does not wait for what was.
    this.emit();
    const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();
    this.days = await this.api.nodesReport({ by: 'day', since: ago(DAYS * DAY) });
    this.pastReadAt = Date.now();
  }
}
