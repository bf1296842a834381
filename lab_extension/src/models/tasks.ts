/** The user's own tasks. */

import type { IApi } from '../api/client';
import type { IEvent, ITaskSummary } from '../api/types';
import { isUnfinished } from '../text/format';
import type { Feed } from './feed';
import { LiveModel } from './live';

/** Largest page that the platform gives. */
const PAGE = 200;
/** Pages of unfinished tasks; more are not listed: Studio's table has all. */
const PAGES = 25;
/** How many ended tasks are listed. */
const RECENT = 50;
/** Time between two readings of all with a live connection, in ms. */
const LIVE = 20_000;
/** The most changed tasks that are read one by one; more are read as pages. */
const ONE_BY_ONE = 6;

/** All unfinished tasks and the latest ended ones, in the order of `compareTasks`; while many are read, those read so far. */
export class TasksModel extends LiveModel {
  private byId = new Map<number, ITaskSummary>();
  private dirty = new Set<number>();
  items: readonly ITaskSummary[] = [];

  constructor(
    private readonly api: Pick<IApi, 'tasks' | 'task'>,
    feed: Feed,
    fallback = 10_000
  ) {
    super({ feed, name: 'hai:tasks', interval: 700, fallback, live: LIVE });
  }

  /** Take over a task that an action has answered with. */
  put(task: ITaskSummary): void {
    this.byId.set(task.id, task);
    this.rebuild();
    this.emit();
  }

  protected concerns(event: IEvent): boolean {
    if (event.task_id !== null) {
      this.dirty.add(event.task_id);
    }
    return event.task_id !== null || event.kind.startsWith('cluster.');
  }

  protected async read(whole: boolean): Promise<void> {
    const ids = [...this.dirty];
    this.dirty.clear();
    try {
      if (whole || ids.length === 0 || ids.length > ONE_BY_ONE) {
        await this.readPages();
      } else {
        const tasks = await Promise.all(ids.map(id => this.api.task(id)));
        tasks.forEach(task => this.byId.set(task.id, this.keep(task)));
      }
    } catch (error) {
      ids.forEach(id => this.dirty.add(id));
      throw error;
    }
    this.rebuild();
  }

  private async readPages(): Promise<void> {
    const found = new Map<number, ITaskSummary>();
    const take = (task: ITaskSummary): void => void found.set(task.id, this.keep(task));
    const recent = this.api.tasks({ limit: RECENT });
    // When both fail, the first failure is the one that is told.
    recent.catch(() => undefined);
    let cursor: string | undefined;
    for (let page = 0; page < PAGES; page++) {
      const { items, next_cursor } = await this.api.tasks({
        state: 'live',
        limit: PAGE,
        ...(cursor === undefined ? {} : { cursor })
      });
      items.forEach(take);
      if (next_cursor === null) {
        break;
      }
      cursor = next_cursor;
      if (!this.ready) {
        // The first rows are there long before thousands have come.
        this.byId = new Map(found);
        this.rebuild();
        this.emit();
      }
    }
    // Last, so that a task that ended meanwhile is shown as ended.
    (await recent).items.filter(task => !found.has(task.id) || !isUnfinished(task.state)).forEach(take);
    this.byId = found;
  }

  /** The object that is already shown, if nothing has changed: its row is then not drawn again. */
  private keep(task: ITaskSummary): ITaskSummary {
    const old = this.byId.get(task.id);
    return old && sameSummary(old, task) ? old : task;
  }

  private rebuild(): void {
    this.items = [...this.byId.values()].sort(compareTasks);
  }
}

function sameSummary(a: ITaskSummary, b: ITaskSummary): boolean {
  return (Object.keys(a) as (keyof ITaskSummary)[]).every(
    key => a[key] === b[key] || JSON.stringify(a[key]) === JSON.stringify(b[key])
  );
}

/** Those with nodes first, then the waiting in queue order, then the held, then the ended, latest first. */
export function compareTasks(a: ITaskSummary, b: ITaskSummary): number {
  const rank = rankOf(a) - rankOf(b);
  if (rank !== 0) {
    return rank;
  }
  if (rankOf(a) === 3) {
    return (b.ended_at ?? '').localeCompare(a.ended_at ?? '') || b.id - a.id;
  }
  const place = (task: ITaskSummary): number => task.verdict?.position ?? Number.MAX_SAFE_INTEGER;
  return place(a) - place(b) || b.id - a.id;
}

function rankOf(task: ITaskSummary): 0 | 1 | 2 | 3 {
  if (!isUnfinished(task.state)) {
    return 3;
  }
  if (task.state === 'queued' || task.state === 'suspended') {
    return task.held ? 2 : 1;
  }
  return 0;
}
