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
  task: ITaskDetail | null = null;
  /** What would let it start, while it waits. */
  whatIf: readonly IWhatIf[] = [];
  /** What else bears on its place in line, while it waits: budgets that are used up, and the share of its user. */
  facts: readonly string[] = [];
  /** The decisions on the task, the oldest first; empty until the decision log is opened. */
  decisions: readonly IDecision[] = [];
  private wantsDecisions = false;
  /** Whether an action is under way. */
  busy = false;
  /** The numbers that its job reports, over all runs. */
  curves: readonly ICurve[] = [];
  private curvesReadAt = -CURVES_EVERY;

  constructor(
    readonly id: number,
    private readonly api: Pick<IApi, 'task' | 'explain' | 'decisions' | 'act' | 'setPriority' | 'metrics'>,
    feed: Feed,
    fallback = 10_000
  ) {
    super({ feed, name: `hai:task-${id}`, interval: 400, fallback, live: 20_000 });
  }

  /** Read the decisions as well, from now on or not any more. */
  showDecisions(on: boolean): void {
    this.wantsDecisions = on;
    if (on) {
      void this.refresh();
    }
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
    this.task = task;
    if (!isWaiting(task.state)) {
      this.whatIf = [];
      this.facts = [];
    }
    // What takes longer to find out does not keep the rest waiting.
    this.emit();
    if (isWaiting(task.state)) {
      const { what_if, budgets, share } = await this.api.explain(this.id);
      this.whatIf = what_if;
      this.facts = share === null ? budgets : [...budgets, share.sentence];
    }
    if (this.wantsDecisions) {
      await this.readDecisions();
    }
    if (task.progress !== null && performance.now() - this.curvesReadAt >= CURVES_EVERY) {
      this.curvesReadAt = performance.now();
      this.curves = curvesOf(await this.api.metrics(this.id, { ranks: RANKS, names: ['job_*'] }));
    }
  }

  private async readDecisions(): Promise<void> {
    for (;;) {
      const { items } = await this.api.decisions(this.id, this.lastSeen(), PAGE);
      // Two readings at once must not show a line twice.
      const last = this.lastSeen();
      this.decisions = [...this.decisions, ...items.filter(each => each.seq > last)];
      if (items.length < PAGE) {
        return;
      }
    }
  }

  private lastSeen(): number {
    return this.decisions.at(-1)?.seq ?? 0;
  }

  private async change(work: () => Promise<ITaskDetail>): Promise<ITaskDetail> {
    this.busy = true;
    this.emit();
    try {
      this.task = await work();
      return this.task;
    } finally {
      this.busy = false;
      this.emit();
    }
  }
}
