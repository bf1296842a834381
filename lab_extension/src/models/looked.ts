/** What is new since the user looked at their tasks: those that have started, must wait again, or have ended meanwhile. */

import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { ITaskSummary } from '../api/types';
import { isUnfinished } from '../text/format';
import { isWaiting } from '../text/words';
import type { TasksModel } from './tasks';

/** Where the browser keeps what the user has seen. */
const KEY = 'hai:looked';
/** Tasks that are kept at most. */
const MOST = 2000;
/** What changes so soon after the user has come back has changed before, in ms: it was not read while the tab was hidden. */
const CATCH_UP = 5_000;

/** What the user saw when they left. */
interface ISeenState {
  /** When, Unix time in ms. */
  at: number;
  /** By task. */
  states: Record<string, string>;
}

/** A mark stays until its task is opened, or the user looks away. */
export class LookedAt implements IDisposable {
  readonly changed = new Signal<this, void>(this);
  /** The tasks that are new. */
  readonly fresh = new Set<number>();
  private seen: ISeenState | null = load();
  private looking = false;
  private since = 0;
  /** Whether nothing was read yet since the page was opened. */
  private first = true;
  isDisposed = false;

  constructor(
    private readonly tasks: Pick<TasksModel, 'items' | 'ready' | 'changed'>,
    private readonly now: () => number = Date.now
  ) {
    tasks.changed.connect(this.compare, this);
  }

  dispose(): void {
    this.isDisposed = true;
    this.tasks.changed.disconnect(this.compare, this);
    Signal.clearData(this);
  }

  /** The user begins to see the tasks, or sees them no more. */
  look(on: boolean): void {
    if (on === this.looking) {
      return;
    }
    this.looking = on;
    if (on) {
      this.since = this.now();
      this.compare();
    } else if (this.tasks.ready) {
      this.fresh.clear();
      this.seen = this.snapshot();
      save(this.seen);
      this.changed.emit();
    }
  }

  /** The user has opened a task. */
  open(id: number): void {
    if (this.fresh.delete(id)) {
      this.changed.emit();
    }
  }

  private compare(): void {
    if (!this.looking || !this.tasks.ready) {
      return;
    }
    const seen = (this.seen ??= this.snapshot());
    const away = this.first || this.now() - this.since <= CATCH_UP;
    this.first = false;
    let fresh = false;
    for (const task of this.tasks.items) {
      const state = stateOf(task);
      if (away && isNew(task, seen)) {
        this.fresh.add(task.id);
        fresh = true;
      }
      seen.states[task.id] = state;
    }
    if (fresh) {
      this.changed.emit();
    }
  }

  private snapshot(): ISeenState {
    const states = this.tasks.items.slice(0, MOST).map(task => [task.id, stateOf(task)] as const);
    return { at: this.now(), states: Object.fromEntries(states) };
  }
}

/** What matters of a task: whether it has nodes, in which run, or how it has ended. */
function stateOf(task: ITaskSummary): string {
  return isUnfinished(task.state)
    ? `${isWaiting(task.state) ? 'waits' : 'runs'} ${task.run_count}`
    : task.state;
}

function isNew(task: ITaskSummary, seen: ISeenState): boolean {
  const before = seen.states[task.id];
  // A task that was not there is the user's own doing; its end is not.
  return before === undefined
    ? task.ended_at !== null && Date.parse(task.ended_at) > seen.at
    : before !== stateOf(task);
}

function load(): ISeenState | null {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? 'null') as Partial<ISeenState> | null;
    return typeof kept?.at === 'number' && typeof kept.states === 'object'
      ? { at: kept.at, states: { ...kept.states } }
      : null;
  } catch {
    return null;
  }
}

function save(seen: ISeenState): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(seen));
  } catch {
    // A browser that keeps nothing: this page still knows.
  }
}
