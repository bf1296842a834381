import { Notification } from '@jupyterlab/apputils';
import { Signal } from '@lumino/signaling';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { IEvent } from '../api/types';
import type { Feed } from '../models/feed';
import { anEvent } from '../testing/fakes';
import { tellInLab } from './told';

function told(seq: number, task: number | null, at: string): IEvent {
  const data = {
    kind: 'failed',
    channels: ['lab'],
    sentence: 'task.failed',
    params: { task, name: '<b>train</b>', reason: 'failed', exit_codes: [] },
    text: task === null ? '' : 'Task 41 (<b>train</b>) has failed: its command failed.'
  };
  return { ...anEvent(seq, 'notification.sent', task), at, data };
}

describe('notifications in JupyterLab', () => {
  // Tests of other files share JupyterLab's notifications.
  beforeEach(() => Notification.dismiss());
  afterEach(() => Notification.dismiss());

  it('are shown when JupyterLab can, with a button that opens the task', async () => {
    const owner = {} as Feed;
    const event = new Signal<Feed, IEvent>(owner);
    const openTask = vi.fn();
    const openAll = vi.fn();
    let begin = (): void => undefined;
    const ready = new Promise<void>(resolve => (begin = resolve));
    tellInLab({ feed: { event }, openTask, openAll, ready });
    event.emit(told(1, 41, new Date().toISOString()));
    event.emit(told(2, null, '2026-01-01T00:00:00Z'));
    expect(Notification.manager.count).toBe(0);
    begin();
    await ready;
    await Promise.resolve();
    const [old, fresh] = Notification.manager.notifications;
    expect(fresh).toMatchObject({ type: 'error', options: { autoClose: 15_000 } });
    expect(fresh!.message).toBe('Task 41 (<b>train</b>) has failed: its command failed.');
    fresh!.options.actions![0]!.callback(new MouseEvent('click'));
    expect(openTask).toHaveBeenCalledExactlyOnceWith(41);
    // An old one is only listed, and what has no task leads to all.
    expect(old).toMatchObject({ options: { autoClose: 0 } });
    old!.options.actions![0]!.callback(new MouseEvent('click'));
    expect(openAll).toHaveBeenCalledOnce();
  });
});
