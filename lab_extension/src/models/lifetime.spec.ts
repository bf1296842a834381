import { Notification } from '@jupyterlab/apputils';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ILifetime } from '../api/extension';
import { LifetimeNotifications } from '../lab/lifetime';
import { LifetimeWatch, warningOf, type ILifetimeWarnings } from './lifetime';

const CALM: ILifetime = {
  now: '2026-11-21T08:00:00Z',
  ends_at: '2026-11-21T12:00:00Z',
  reason: 'idle',
  warning: false,
  renewable: true,
  kept_for_tasks: false
};
const WARNING: ILifetime = { ...CALM, ends_at: '2026-11-21T08:10:00Z', warning: true };

function watched(...answers: ILifetime[]) {
  const lifetime = vi.fn(async () => answers.shift() ?? CALM);
  const renewLifetime = vi.fn(async () => CALM);
  const warnings = { show: vi.fn(), settle: vi.fn(), clear: vi.fn() } satisfies ILifetimeWarnings;
  return {
    watch: new LifetimeWatch({ lifetime, renewLifetime }, warnings),
    warnings,
    renewLifetime,
    lifetime
  };
}

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-11-21T08:00:00Z') });
});

afterEach(() => {
  vi.useRealTimers();
  Notification.dismiss();
});

describe('The watch over the end of the server', () => {
  it('says nothing while the end is far', async () => {
    const { watch, warnings } = watched(CALM);
    await watch.look();
    expect(warnings.show).not.toHaveBeenCalled();
    expect(warnings.clear).not.toHaveBeenCalled();
  });

  it('warns once of an end, and again when the end has moved', async () => {
    const later = { ...WARNING, ends_at: '2026-11-21T08:20:00Z' };
    const { watch, warnings } = watched(WARNING, WARNING, later);
    await watch.look();
    await watch.look();
    expect(warnings.show).toHaveBeenCalledTimes(1);
    await watch.look();
    expect(warnings.show).toHaveBeenCalledTimes(2);
  });

  it('takes the warning away when something has happened meanwhile', async () => {
    const { watch, warnings } = watched(WARNING, CALM, WARNING);
    await watch.look();
    await watch.look();
    expect(warnings.clear).toHaveBeenCalledTimes(1);
    await watch.look();
    expect(warnings.show).toHaveBeenCalledTimes(2);
  });

  it('gives more time by one click and says until when', async () => {
    const { watch, warnings, renewLifetime } = watched(WARNING);
    await watch.look();
    const renew = warnings.show.mock.calls[0]?.[1] as () => void;
    renew();
    await vi.waitFor(() => expect(warnings.settle).toHaveBeenCalled());
    expect(renewLifetime).toHaveBeenCalledTimes(1);
    expect(warnings.settle.mock.calls[0]?.[0]).toMatch(/^This server stays until .+ at least\.$/);
  });

  it('offers no more time where there is none', async () => {
    const { watch, warnings } = watched({ ...WARNING, reason: 'lifetime', renewable: false });
    await watch.look();
    expect(warnings.show.mock.calls[0]?.[1]).toBeNull();
    expect(warnings.show.mock.calls[0]?.[0]).toContain('cannot be kept longer');
  });

  it('says why more time was not given, and lets the user try again', async () => {
    const { watch, warnings, renewLifetime } = watched(WARNING);
    renewLifetime.mockRejectedValueOnce(new Error('The Hub cannot be asked.'));
    await watch.renew();
    expect(warnings.show.mock.calls[0]?.[0]).toContain('The Hub cannot be asked.');
    expect(warnings.show.mock.calls[0]?.[1]).not.toBeNull();
    expect(warnings.settle).not.toHaveBeenCalled();
  });

  it('asks again after an answer that did not come', async () => {
    const { watch, warnings, lifetime } = watched();
    lifetime.mockRejectedValueOnce(new Error('gone')).mockResolvedValueOnce(WARNING);
    watch.start();
    await vi.advanceTimersByTimeAsync(10 * 60_000);
    expect(warnings.show).toHaveBeenCalledTimes(1);
    watch.dispose();
  });
});

describe('The sentence of a warning', () => {
  it.each([
    ['idle', true, 'nothing happens in it. Save your work, or keep it.'],
    ['lifetime', true, 'its time is over. Save your work, or keep it.'],
    ['lifetime', false, 'its time is over. Save your work: it cannot be kept longer.']
  ] as const)('says why: %s, renewable %s', (reason, renewable, words) => {
    const sentence = warningOf({ ...WARNING, reason, renewable }) ?? '';
    expect(sentence).toContain(words);
    expect(sentence.length).toBeLessThanOrEqual(140);
  });

  it('names the time by the clock of the reader', () => {
    vi.setSystemTime(Date.parse('2026-11-21T09:30:00Z'));
    const expected = new Date('2026-11-21T09:40:00Z').toLocaleTimeString([], {
      hour: '2-digit',
      minute: '2-digit'
    });
    expect(warningOf(WARNING)).toContain(`ends at ${expected}:`);
  });

  it('is not there without an end', () => {
    expect(warningOf({ ...WARNING, ends_at: null })).toBeNull();
  });
});

describe('Warnings as notifications', () => {
  it('stay until they are answered, one at a time', () => {
    const renew = vi.fn();
    const warnings = new LifetimeNotifications();
    warnings.show('first', renew);
    warnings.show('second', renew);
    const [only, ...more] = Notification.manager.notifications;
    expect(more).toEqual([]);
    expect(only?.message).toBe('second');
    expect(only?.options.autoClose).toBe(false);
    only?.options.actions?.[0]?.callback(new MouseEvent('click'));
    expect(renew).toHaveBeenCalledTimes(1);
    warnings.settle('well');
    expect(Notification.manager.notifications.map(each => each.type)).toEqual(['success']);
    warnings.show('no more', null);
    expect(
      Notification.manager.notifications.find(each => each.message === 'no more')?.options.actions
    ).toEqual([]);
    warnings.clear();
    expect(Notification.manager.notifications.map(each => each.message)).toEqual(['well']);
  });
});
