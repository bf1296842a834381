/** One task with its runs, what would let it start, and what was decided on it. */

import type { IApi } from '../api/client';
import type { TaskAction } from '../api/operations';
import type { IDecision, IEvent, ITaskDetail, IWhatIf, PriorityChoice } from '../api/types';
import { isWaiting } from '../text/words';
import { curvesOf, type ICurve } from './curves';
import type { Feed } from './feed';
import { LiveModel } from './live';

/** Decisions that are read at once; the most that the service gives. */
const PAGE = 1000;

/** Ranks whose own numbers are kept. */
export const RANKS = Array.from({ length: 16 }, (_, rank) => rank);
/** The least time between two readings of the job's own numbers, in ms. */
const CURVES_EVERY = 30_000;

/** A task whose view is open. */
export class TaskModel extends LiveModel {
  private _task: ITaskDetail | null = null;
  private _whatIf: readonly IWhatIf[] = [];
  private _facts: readonly string[] = [];
  private _decisions: readonly IDecision[] = [];
  private _wantsDecisions = false;
  private _busy = false;
  private _curves: readonly ICurve[] = [];
  private curvesReadAt = -CURVES_EVERY;

  constructor(
    readonly id: number,
    private readonly api: Pick<IApi, 'task' | 'explain' | 'decisions' | 'act' | 'setPriority' | 'metrics'>,
    feed: Feed,
    fallback = 10_000
  ) {
    super({ feed, name: `hai:task-${id}`, interval: 400, fallback, live: 20_000 });
  }

  get task(): ITaskDetail | null {
    return this._task;
  }

  /** What would let it start, while it waits. */
  get whatIf(): readonly IWhatIf[] {
    return this._whatIf;
  }

  /** What else bears on its place in line, while it waits: budgets that are used up, and the share of its user. */
  get facts(): readonly string[] {
    return this._facts;
  }

  /** The decisions on the task, the oldest first; empty until the decision log is opened. */
  get decisions(): readonly IDecision[] {
    return this._decisions;
  }

  /** The numbers that its job reports, over all runs. */
  get curves(): readonly ICurve[] {
    return this._curves;
  }

  /** Read the decisions as well, from now on or not any more. */
  showDecisions(on: boolean): void {
    this._wantsDecisions = on;
    if (on) {
      void this.refresh();
    }
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
    const task = await this.api.task(this.id);
    this._task = task;
    if (!isWaiting(task.state)) {
      this._whatIf = [];
      this._facts = [];
    }
    // What takes longer to find out does not keep the rest waiting.
    this.emit();
    if (isWaiting(task.state)) {
      const { what_if, budgets, share } = await this.api.explain(this.id);
      this._whatIf = what_if;
      this._facts = share === null ? budgets : [...budgets, share.sentence];
    }
    if (this._wantsDecisions) {
      await this.readDecisions();
    }
    if (task.progress !== null && performance.now() - this.curvesReadAt >= CURVES_EVERY) {
      this.curvesReadAt = performance.now();
      this._curves = curvesOf(await this.api.metrics(this.id, { ranks: RANKS, names: ['job_*'] }));
    }
  }

  private async readDecisions(): Promise<void> {
    for (;;) {
      const { items } = await this.api.decisions(this.id, this.lastSeen(), PAGE);
      // Two readings at once must not show a line twice.
      const last = this.lastSeen();
      this._decisions = [...this._decisions, ...items.filter(each => each.seq > last)];
      if (items.length < PAGE) {
        return;
      }
    }
  }

  private lastSeen(): number {
    return this._decisions.at(-1)?.seq ?? 0;
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
