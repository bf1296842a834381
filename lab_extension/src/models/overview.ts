/** The cluster now and over the last day, the same for all users. */

import type { IOperations } from '../api/operations';
import type { IEvent, IOverview } from '../api/types';
import { CatchUp } from './catchUp';
import type { Feed } from './feed';
import { LiveModel } from './live';

/** Occupancy and use now and by hour, and tasks by priority. */
export class OverviewModel extends LiveModel {
  value: IOverview | null = null;
  private readonly catchUp = new CatchUp();

  constructor(
    private readonly api: Pick<IOperations, 'overview'>,
    feed: Feed,
    fallback = 15_000
  ) {
    super({ feed, name: 'hai:overview', interval: 1_500, fallback, live: 20_000 });
  }

  protected concerns(event: IEvent): boolean {
    const does = /^(task\.(submitted|state|priority|held)|node\.|cluster\.)/.test(event.kind);
    if (does) {
      this.catchUp.expect(event.seq);
    }
    return does;
  }

  protected async read(): Promise<void> {
    this.value = await this.api.overview();
    // Pages share an answer for a second.
    if (this.catchUp.again(this.value.change)) {
      this.readSoon();
    }
  }
}
