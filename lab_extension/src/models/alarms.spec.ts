import { Signal } from '@lumino/signaling';
import { expect, it, vi } from 'vitest';
import { tellUnsaved } from './alarms';
import type { IEvent } from '../api/types';
import type { Feed } from './feed';
import { anEvent } from '../testing/fakes';

it('alarms on the own tasks are shown once, others and other kinds are not', () => {
  const sender = {};
  const event = new Signal<unknown, IEvent>(sender);
  const show = vi.fn();
  const feed = { event } as unknown as Pick<Feed, 'event'>;
  tellUnsaved(feed, () => 'alice', show);
  const alarm = {
    ...anEvent(1, 'task.alarm', 41),
    data: { kind: 'unsaved', message: 'Task 41 may be losing its work.' }
  };

  event.emit(anEvent(2, 'task.state', 41));
  event.emit({ ...alarm, data: { kind: 'rotations', message: 'often' } });
  event.emit({ ...alarm, user: 'bob' });
  expect(show).not.toHaveBeenCalled();

  event.emit(alarm);
  expect(show.mock.calls).toEqual([[41, 'Task 41 may be losing its work.']]);
});
