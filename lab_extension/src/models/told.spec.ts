import { Signal } from '@lumino/signaling';
import { describe, expect, it } from 'vitest';
import type { IEvent } from '../api/types';
import { anEvent } from '../testing/fakes';
import type { Feed } from './feed';
import { tell, tellingOf, type ITelling } from './told';

const NOW = Date.parse('2026-11-21T04:01:00Z');

function told(seq: number, data: Record<string, unknown> = {}, task: number | null = 41): IEvent {
  return {
    ...anEvent(seq, 'notification.sent', task),
    data: {
      kind: 'failed',
      channels: ['browser', 'lab'],
      sentence: 'task.failed',
      params: { task: 41, name: 'train', run: 2, reason: 'failed', exit_codes: [1] },
      text: 'Task 41 (train) has failed: its command failed (status 1).',
      ...data
    }
  };
}

function teller(hidden = false): {
  emit: (event: IEvent) => void;
  shown: ITelling[];
  outside: ITelling[];
} {
  const owner = {} as Feed;
  const event = new Signal<Feed, IEvent>(owner);
  const [shown, outside]: ITelling[][] = [[], []];
  tell({
    feed: { event },
    hidden: () => hidden,
    show: telling => void shown!.push(telling),
    showOutside: telling => void outside!.push(telling),
    now: () => NOW
  });
  return { emit: given => event.emit(given), shown: shown!, outside: outside! };
}

describe('what the user is told', () => {
  it('is shown on the screen, with its task and how bad it is', () => {
    const { emit, shown, outside } = teller();
    emit(told(7));
    expect(shown).toEqual([
      {
        key: '7@2026-11-21T04:00:00Z',
        kind: 'error',
        text: 'Task 41 (train) has failed: its command failed (status 1).',
        task: 41,
        stale: false
      }
    ]);
    expect(outside).toEqual([]);
  });

  it('is shown once, when the connection was lost and the event comes again', () => {
    const { emit, shown } = teller();
    emit(told(7));
    emit(told(7));
    emit(told(8));
    expect(shown.map(each => each.key)).toEqual(['7@2026-11-21T04:00:00Z', '8@2026-11-21T04:00:00Z']);
  });

  it('goes where the rules say, by the browser only while the tab is hidden', () => {
    const { emit, shown, outside } = teller(true);
    emit(told(1, { channels: ['lab'] }));
    emit(told(2, { channels: ['browser'] }));
    expect(shown.map(each => each.key.split('@')[0])).toEqual(['1']);
    expect(outside.map(each => each.key.split('@')[0])).toEqual(['2']);
  });

  it('is nothing else of the feed', () => {
    const { emit, shown } = teller();
    emit({ ...told(1), kind: 'task.state' });
    expect(shown).toEqual([]);
  });

  it('is old after ten minutes', () => {
    expect(tellingOf(told(1), NOW).stale).toBe(false);
    expect(tellingOf(told(1), NOW + 600_000).stale).toBe(true);
  });

  it('opens no task for a digest', () => {
    const text = '12 more notifications: 12 started.';
    const digest = told(1, { kind: 'digest', count: 12, text, sentence: undefined, params: undefined }, null);
    expect(tellingOf(digest, NOW)).toMatchObject({ text, task: null, kind: 'info' });
  });

  it('says what happened after a long name too', () => {
    const params = { task: 41, name: 'x'.repeat(128) };
    const said = `Task 41 (${params.name}) has ended well.`;
    const { text } = tellingOf(told(1, { kind: 'ended', text: said, params }), NOW);
    expect(text).toBe(`Task 41 (${'x'.repeat(39)}…) has ended well.`);
  });

  it('has the times of the reader', () => {
    const { text } = tellingOf(told(1, { params: null, text: 'By 2026-11-21 03:00:00 UTC.' }), NOW);
    expect(text).toMatch(/^By (?!2026).*00:00\.$/);
  });
});
