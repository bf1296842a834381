/** All nodes, with their marks and tasks. */

import type { IApi } from '../api/client';
import type { IEvent, INode } from '../api/types';
import type { Feed } from './feed';
import { LiveModel } from './live';

/** The nodes of the cluster, by name. */
export class NodesModel extends LiveModel {
  items: readonly INode[] = [];

  constructor(
    private readonly api: Pick<IApi, 'nodes'>,
    feed: Feed,
    fallback = 10_000
  ) {
    super({ feed, name: 'hai:nodes', interval: 1_500, fallback, live: 30_000 });
  }

  protected concerns(event: IEvent): boolean {
    return /^(task\.state|node\.)/.test(event.kind);
  }

  protected async read(): Promise<void> {
    this.items = (await this.api.nodes()).items;
  }
}
