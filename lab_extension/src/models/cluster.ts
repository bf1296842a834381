/** The cluster at a glance, and what the user may hold of it. */

import type { IApi } from '../api/client';
import type { ICluster, IEvent, IMe } from '../api/types';
import type { Feed } from './feed';
import { LiveModel } from './live';

/** Node groups with what is held, and the user's own quota. */
export class ClusterModel extends LiveModel {
  cluster: ICluster | null = null;
  me: IMe | null = null;

  constructor(
    private readonly api: Pick<IApi, 'cluster' | 'me'>,
    feed: Feed,
    fallback = 10_000
  ) {
    super({ feed, name: 'hai:cluster', interval: 1_500, fallback, live: 20_000 });
  }

  protected concerns(event: IEvent): boolean {
    return /^(task\.(submitted|state|priority|held)|node\.|quota\.|cluster\.)/.test(event.kind);
  }

  protected async read(): Promise<void> {
    [this.cluster, this.me] = await Promise.all([this.api.cluster(), this.api.me()]);
  }
}
