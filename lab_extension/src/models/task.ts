/** One task with its runs. */

import type { IApi, TaskAction } from '../api/client';
import type { IEvent, ITaskDetail, PriorityChoice } from '../api/types';
import type { Feed } from './feed';
import { LiveModel } from './live';

/** A task that is looked at. */
export class TaskModel extends LiveModel {
  private _task: ITaskDetail | null = null;
  private _busy = false;

  constructor(
    readonly id: number,
    private readonly api: Pick<IApi, 'task' | 'act' | 'setPriority'>,
    feed: Feed,
    fallback = 10_000
  ) {
    super({ feed, name: `hai:task-${id}`, interval: 400, fallback, live: 20_000 });
  }

  get task(): ITaskDetail | null {
    return this._task;
  }

  /** Whether an action is under way. */
  get busy(): boolean {
    return this._busy;
  }

  /** Stop, suspend, resume or hold it. Throws ApiError. */
  act(action: TaskAction): Promise<ITaskDetail> {
    return this.change(() => this.api.act(this.id, action));
  }

  /** Give it another priority. Throws ApiError. */
  setPriority(priority: PriorityChoice): Promise<ITaskDetail> {
    return this.change(() => this.api.setPriority(this.id, priority));
  }

  protected concerns(event: IEvent): boolean {
    return event.task_id === this.id;
  }

  protected async read(): Promise<void> {
    this._task = await this.api.task(this.id);
  }

  private async change(work: () => Promise<ITaskDetail>): Promise<ITaskDetail> {
    this._busy = true;
    this.emit();
    try {
      this._task = await work();
      return this._task;
    } finally {
      this._busy = false;
      this.emit();
    }
  }
}
