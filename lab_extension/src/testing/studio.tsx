/** A page of Studio for tests: in a router that keeps the place in memory, with an interface of the test's own. */

import { render } from '@testing-library/react';
import { Signal } from '@lumino/signaling';
import type { ReactNode } from 'react';
import type { IAdminApi } from '../api/admin';
import type { IApi } from '../api/client';
import { HostProvider, type IHost } from '../components/host';
import { StudioProvider } from '../components/studio/context';
import { routeOf, RouterProvider, type IRouter, type Query, type Target } from '../components/studio/router';
import { Feed } from '../models/feed';
import { aHost, FakeStream } from './fakes';

/** A router that keeps the place in memory. */
export class MemoryRouter implements IRouter {
  readonly changed = new Signal<this, void>(this);
  route;

  constructor(page: string, query: Query = {}) {
    this.route = routeOf({ page, query });
  }

  href(target: Target): string {
    const query = new URLSearchParams(target.query).toString();
    return `/${target.page}${query === '' ? '' : `?${query}`}`;
  }

  go(target: Target): void {
    this.route = routeOf(target);
    this.changed.emit();
  }
}

/** Show a page for an admin. `groups`: the node groups of the cluster. */
export function showPage(
  page: ReactNode,
  given: {
    admin?: Partial<IAdminApi>;
    api?: Partial<IApi>;
    query?: Query;
    host?: Partial<IHost>;
    groups?: readonly string[];
  } = {}
): { router: MemoryRouter; host: IHost; stream: FakeStream } {
  const stream = new FakeStream();
  const feed = new Feed({ events: () => stream });
  feed.start();
  const router = new MemoryRouter('test', given.query);
  const host = aHost(given.host);
  const groups = (given.groups ?? ['training']).map(group => ({ group }));
  const cluster = { cluster: { groups }, changed: new Signal({}) };
  const studio = { api: { ...given.api, admin: given.admin ?? {} }, feed, cluster };
  render(
    <HostProvider value={host}>
      <RouterProvider value={router}>
        <StudioProvider value={studio as never}>{page}</StudioProvider>
      </RouterProvider>
    </HostProvider>
  );
  return { router, host, stream };
}
