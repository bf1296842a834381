import { Signal } from '@lumino/signaling';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ITaskSummary } from '../api/types';
import { aTask, aWaitingTask } from '../testing/fakes';
import { LookedAt } from './looked';
import type { TasksModel } from './tasks';

const START = Date.parse('2026-11-21T05:00:00Z');

class FakeTasks {
  items: readonly ITaskSummary[] = [];
  ready = false;
  readonly changed = new Signal<TasksModel, void>(this as unknown as TasksModel);

  read(...tasks: ITaskSummary[]): void {
    this.items = tasks;
    this.ready = true;
    this.changed.emit();
  }
}

describe('what is new since the user looked', () => {
  let tasks: FakeTasks;
  let now: number;
  const open = (): LookedAt => new LookedAt(tasks, () => now);
  const ended = (id: number, at: string): ITaskSummary => aTask({ id, state: 'failed', ended_at: at });

  beforeEach(() => {
    localStorage.clear();
    tasks = new FakeTasks();
    now = START;
  });

  it('is nothing at the first look ever', () => {
    const looked = open();
    looked.look(true);
    tasks.read(aTask({ id: 1 }), ended(2, '2026-11-21T04:50:00Z'));
    expect([...looked.fresh]).toEqual([]);
  });

  it('is what has started, waits again or has ended while the user was away', () => {
    const looked = open();
    looked.look(true);
    tasks.read(aWaitingTask(1, 1, { run_count: 0 }), aTask({ id: 2 }), aTask({ id: 3 }), aTask({ id: 4 }));
    looked.look(false);
    now += 3_600_000;
    tasks.read(
      aTask({ id: 1, run_count: 1 }),
      aWaitingTask(2, 1, { state: 'suspended', run_count: 1 }),
      ended(3, '2026-11-21T05:30:00Z'),
      aTask({ id: 4, served_s: 4200 })
    );
    expect([...looked.fresh]).toEqual([]);
    looked.look(true);
    expect([...looked.fresh]).toEqual([1, 2, 3]);
  });

  it('is known over a reload of the page', () => {
    const before = open();
    before.look(true);
    tasks.read(aTask({ id: 1 }));
    before.look(false);
    before.dispose();
    tasks = new FakeTasks();
    now += 60_000;
    const after = open();
    after.look(true);
    now += 20_000;
    tasks.read(
      ended(1, '2026-11-21T05:00:30Z'),
      aTask({ id: 2 }),
      ended(3, '2026-11-21T05:00:40Z'),
      ended(4, '2026-11-20T05:00:00Z')
    );
    expect([...after.fresh]).toEqual([1, 3]);
  });

  it('is not what happens before the user’s eyes, but for what was only read late', () => {
    const looked = open();
    looked.look(true);
    tasks.read(aTask({ id: 1 }), aTask({ id: 2 }));
    looked.look(false);
    now += 60_000;
    looked.look(true);
    now += 2_000;
    tasks.read(ended(1, '2026-11-21T05:00:30Z'), aTask({ id: 2 }));
    now += 60_000;
    tasks.read(ended(1, '2026-11-21T05:00:30Z'), ended(2, '2026-11-21T05:02:00Z'));
    expect([...looked.fresh]).toEqual([1]);
  });

  it('is marked until it is opened, or the user looks away', () => {
    const looked = open();
    looked.look(true);
    tasks.read(aTask({ id: 1 }), aTask({ id: 2 }));
    looked.look(false);
    tasks.read(ended(1, '2026-11-21T05:30:00Z'), ended(2, '2026-11-21T05:30:00Z'));
    looked.look(true);
    let drawn = 0;
    looked.changed.connect(() => {
      drawn++;
    });
    looked.open(1);
    looked.open(1);
    expect([[...looked.fresh], drawn]).toEqual([[2], 1]);
    looked.look(false);
    looked.look(true);
    expect([...looked.fresh]).toEqual([]);
  });

  it('is nothing where the browser has kept something else', () => {
    localStorage.setItem('hai:looked', '[1, {]');
    const looked = open();
    looked.look(true);
    tasks.read(aTask({ id: 1 }));
    expect([...looked.fresh]).toEqual([]);
  });
});
