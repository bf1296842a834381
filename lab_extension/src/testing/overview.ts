/** A cluster at a glance, and Studio around a page, for tests. */

import { Signal } from '@lumino/signaling';
import type { IHour, IMe, IOverview } from '../api/types';
import { routeOf, type IRouter, type Query, type Target } from '../components/studio/router';

/** A router that keeps the place in memory. */
export class MemoryRouter implements IRouter {
  readonly changed = new Signal<this, void>(this);
  route;

  constructor(page: string, query: Query = {}) {
    this.route = routeOf({ page, query });
  }

  href(target: Target): string {
    return `/${target.page}/${target.id ?? ''}`;
  }

  go(target: Target): void {
    this.route = routeOf(target);
    this.changed.emit();
  }
}

/** An hour in which half of the nodes were held; give what differs. */
export function anHour(hour: string, given: Partial<IHour> = {}): IHour {
  return {
    hour,
    until: new Date(Date.parse(hour) + 3_600_000).toISOString(),
    capacity_s: 14_400,
    down_s: 0,
    held_s: 7_200,
    starting_s: 0,
    useful_s: 3_600,
    saving_s: 0,
    lost_s: 0,
    gpu_idle_s: 11_520,
    occupancy: 0.5,
    useful_share: 0.25,
    ...given
  };
}

/** Four nodes of eight GPUs, two of them held; give what differs. */
export function anOverview(given: Partial<IOverview> = {}): IOverview {
  const levels: IOverview['levels'] = [
    { priority: 'HIGH', running_tasks: 1, running_nodes: 2, waiting_tasks: 3, waiting_nodes: 6 }
  ];
  return {
    at: '2026-11-21T04:00:00Z',
    change: 1,
    paused: false,
    standstill: null,
    now: {
      nodes: 4,
      held: 2,
      starting: 0,
      useful: 1,
      idle: 1,
      leaving: 0,
      occupancy: 0.5,
      useful_share: 0.25
    },
    hours: [anHour('2026-11-21T02:00:00Z'), anHour('2026-11-21T03:00:00Z', { occupancy: 0.75 })],
    levels,
    groups: [
      {
        group: 'training',
        nodes: 4,
        held: 2,
        free: 2,
        unavailable: 0,
        shared: 0,
        gpus: 32,
        gpus_free: 16,
        levels
      }
    ],
    submitted_3h: 5,
    ended_3h: { succeeded: 3, failed: 1, stopped: 0 },
    ...given
  };
}

/** Alice, who is no admin; give what differs. */
export function aMe(given: Partial<IMe> = {}): IMe {
  return {
    name: 'alice',
    kind: 'user',
    admin: false,
    groups: [],
    scopes: [],
    quota: [],
    identity: null,
    no_identity: '',
    ...given
  };
}
