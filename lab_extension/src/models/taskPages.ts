/** The tasks that a filter asks for, in its order, read in pages as far as they are looked at. */

import type { IApi, ITaskQuery } from '../api/client';
import type { IOperations } from '../api/operations';
import type { IEvent, ITaskSummary } from '../api/types';
import type { Feed } from './feed';
import { LiveModel } from './live';

/** Largest page that the platform gives. */
export const PAGE = 200;
/** The most changed tasks that are read one by one; more are read as pages. */
const ONE_BY_ONE = 6;
/** Up to as many rows all are read again when much has changed; of more only the first page, and the rest with the timer. */
const FEW = 1_000;
/** Rows at the top that are read when tasks have come: fewer are sooner there. */
const HEAD = 50;
/** How often is counted again what has changed below the rows that were read, in ms. */
const COUNT_EVERY = 10_000;

export type TaskPagesApi = Pick<IApi, 'tasks' | 'task'> & {
  readonly operations: Pick<IOperations, 'setTags' | 'setStar'>;
};

/** Rows from the first one on, as many as were needed, and how many there are altogether. */
export class TaskPagesModel extends LiveModel {
  private query: ITaskQuery;
  /** The rows that were read, without a gap. */
  items: readonly ITaskSummary[] = [];
  /** How many tasks match; null: not known yet. */
  total: number | null = null;
  /** Of the page after the last one that was read; null: there is none; undefined: no page was read. */
  private cursor: string | null | undefined;
  /** How many rows are needed. */
  private wanted = PAGE;
  /** Whether the rows are still those of the query before. */
  pending = true;
  private readonly dirty = new Set<number>();
  /** When the tasks were counted last, and the timer that counts them again. */
  private countedAt = -Infinity;
  private counting: ReturnType<typeof setTimeout> | null = null;
  private countDue = false;
  /** Readings take turns: two at once would put one page twice. */
  private last: Promise<void> = Promise.resolve();

  constructor(
    private readonly api: TaskPagesApi,
    feed: Feed,
    query: ITaskQuery,
    fallback = 15_000
  ) {
    super({ feed, name: 'hai:task-pages', interval: 500, fallback, live: 120_000 });
    this.query = query;
  }

  /** Show other tasks, or the same in another order. What is shown stays until the first page has come. */
  ask(query: ITaskQuery): void {
    if (JSON.stringify(query) !== JSON.stringify(this.query)) {
      this.query = query;
      this.wanted = PAGE;
      this.pending = true;
      this.emit();
      this.readSoon();
    }
  }

  /** A row is looked at: read up to it, and half a page beyond. */
  need(row: number): void {
    const wanted = row + PAGE / 2;
    if (wanted > this.wanted) {
      this.wanted = wanted;
    }
    if (typeof this.cursor === 'string' && this.items.length < this.wanted) {
      this.readSoon();
    }
  }

  /** Take over a task that an action has answered with. */
  put(task: ITaskSummary): void {
    this.items = this.items.map(each => (each.id === task.id ? completed(task, each) : each));
    this.emit();
  }

  /** Give a task other tags. Rejects with the service's sentence. */
  async setTags(id: number, tags: readonly string[]): Promise<void> {
    this.put(await this.api.operations.setTags(id, tags));
  }

  /** Star a task, or take the star away. Rejects with the service's sentence. */
  async setStar(id: number, starred: boolean): Promise<void> {
    const task = await this.api.operations.setStar(id, starred);
    this.put({ ...task, starred });
  }

  override dispose(): void {
    if (this.counting !== null) {
      clearTimeout(this.counting);
    }
    super.dispose();
  }

  protected concerns(event: IEvent): boolean {
    if (event.task_id !== null) {
      this.dirty.add(event.task_id);
    }
    return event.task_id !== null || event.kind.startsWith('cluster.');
  }

  protected read(whole: boolean): Promise<void> {
    const turn = this.last.then(() => this.readInTurn(whole));
    this.last = turn.catch(() => undefined);
    return turn;
  }

  private async readInTurn(whole: boolean): Promise<void> {
    const { query } = this;
    const ids = [...this.dirty];
    this.dirty.clear();
    try {
      if (whole || this.pending || this.cursor === undefined) {
        await this.readAll(query);
      } else if (ids.length > 0) {
        await this.readChanged(query, ids);
      } else if (this.countDue && Date.now() >= this.countedAt + COUNT_EVERY) {
        await this.readHead(query);
      }
      await this.readFurther(query);
    } catch (error) {
      ids.forEach(id => this.dirty.add(id));
      throw error;
    }
  }

  /** As many rows as there were and were looked at, from the first page on: what came at the top meanwhile is let go at the end. */
  private async readAll(query: ITaskQuery): Promise<void> {
    const rows = this.pending ? PAGE : Math.max(Math.min(this.items.length, this.wanted), PAGE);
    const first = await this.page(query);
    const items = this.asShown(first.items);
    let cursor = first.next_cursor;
    while (cursor !== null && items.length < rows && query === this.query) {
      const page = await this.page(query, cursor);
      // Page after page, as thousands at once would stop the screen.
      items.push(...this.asShown(page.items));
      cursor = page.next_cursor;
    }
    if (query === this.query) {
      this.pending = false;
      this.total = first.total;
      this.take(items, cursor);
    }
  }

  /** The rows of some tasks, and the first page where one of them is not shown or can have come or gone. */
  private async readChanged(query: ITaskQuery, ids: readonly number[]): Promise<void> {
    if (ids.length > ONE_BY_ONE) {
      await (this.items.length <= FEW ? this.readAll(query) : this.readHead(query));
      return;
    }
    const shown = new Set(this.items.map(task => task.id));
    const unseen = ids.filter(id => !shown.has(id));
    const reading = ids.filter(id => shown.has(id)).map(id => this.api.task(id));
    // What has come is shown as soon as it is there: it waits for no other answer.
    const come = unseen.some(id => this.canBeAbove(query, id));
    const few = unseen.every(id => this.isAtTop(query, id));
    const head = come ? this.readHead(query, few ? HEAD : PAGE).then(() => this.emit()) : Promise.resolve();
    const [known] = await Promise.all([Promise.all(reading), head]);
    const states = query.state?.split(',') ?? [];
    const gone = new Set(known.filter(task => isGone(states, task)).map(task => task.id));
    const byId = new Map(known.map(task => [task.id, task]));
    this.items = this.items
      .filter(task => !gone.has(task.id))
      .map(task => {
        const read = byId.get(task.id);
        return read ? completed(read, task) : task;
      });
    if (gone.size > 0) {
      await this.readHead(query);
    } else if (!come && unseen.length > 0) {
      this.countSoon();
    }
  }

  /** Whether a task that is not shown can be among the rows that were read, or before them. */
  private canBeAbove(query: ITaskQuery, id: number): boolean {
    const last = this.items.at(-1);
    // Without another order, older tasks are below.
    return query.sort !== undefined || last === undefined || id > last.id || this.cursor === null;
  }

  /** Whether a task that is not shown is among the first rows if it is in the list. */
  private isAtTop(query: ITaskQuery, id: number): boolean {
    const row = this.items[HEAD - 1];
    return query.sort === undefined && row !== undefined && id > row.id;
  }

  /** Rows that were not read can have come or gone: count them, now or when the last count is old enough. */
  private countSoon(): void {
    this.countDue = true;
    this.counting ??= setTimeout(
      () => {
        this.counting = null;
        if (this.countDue) {
          this.readSoon();
        }
      },
      Math.max(0, this.countedAt + COUNT_EVERY - Date.now())
    );
  }

  private shows(task: ITaskSummary | undefined): boolean {
    return this.items.some(each => each.id === task?.id);
  }

  /** The first rows again, before those that were there. */
  private async readHead(query: ITaskQuery, limit = PAGE): Promise<void> {
    let first = await this.page(query, undefined, limit);
    if (limit < PAGE && first.next_cursor !== null && !this.shows(first.items.at(-1))) {
      // More have come than that: there would be a gap.
      first = await this.page(query);
    }
    if (query === this.query) {
      this.total = first.total;
      this.take(
        first.next_cursor === null ? first.items : [...first.items, ...this.items],
        first.next_cursor === null ? null : (this.cursor ?? null)
      );
    }
  }

  /** Further pages, as long as rows are needed that are not there. */
  private async readFurther(query: ITaskQuery): Promise<void> {
    while (typeof this.cursor === 'string' && this.items.length < this.wanted && query === this.query) {
      const page = await this.page(query, this.cursor);
      if (query !== this.query) {
        return;
      }
      this.take([...this.items, ...page.items], page.next_cursor);
      this.emit();
    }
  }

  private page(query: ITaskQuery, cursor?: string, limit = PAGE): ReturnType<IApi['tasks']> {
    // How many there are costs a look at all of them: the first page tells it.
    if (cursor !== undefined) {
      return this.api.tasks({ ...query, use: true, limit, cursor });
    }
    this.countedAt = Date.now();
    this.countDue = false;
    return this.api.tasks({ ...query, use: true, limit, total: true });
  }

  /** The object that is already shown for each task that has not changed. */
  private asShown(items: readonly ITaskSummary[]): ITaskSummary[] {
    const old = new Map(this.items.map(task => [task.id, task]));
    return items.map(task => {
      const before = old.get(task.id);
      // A page that is added leaves the thousands before it as they are: these need no look.
      const same = before === task || JSON.stringify(before) === JSON.stringify(task);
      return same && before ? before : task;
    });
  }

  /** Each task once; the object that is already shown, if nothing has changed. */
  private take(items: readonly ITaskSummary[], cursor: string | null): void {
    const byId = new Map<number, ITaskSummary>();
    for (const task of this.asShown(items)) {
      if (!byId.has(task.id)) {
        byId.set(task.id, task);
      }
    }
    this.items = [...byId.values()];
    this.cursor = cursor;
    if (cursor === null) {
      // Of those that were counted, some may have ended before their page was read.
      this.total = this.items.length;
    }
  }
}

/** Whether a task no longer is in one of the states that were asked for. */
function isGone(states: readonly string[], task: ITaskSummary): boolean {
  if (states.length === 0) {
    return false;
  }
  const live = !['succeeded', 'failed', 'stopped'].includes(task.state);
  return !states.includes(task.state) && !(live && states.includes('live'));
}

/** A task read alone does not tell what only lists tell: that stays as it was. */
function completed(read: ITaskSummary, before: ITaskSummary): ITaskSummary {
  return { ...read, use: read.use ?? before.use, starred: read.starred ?? before.starred };
}
