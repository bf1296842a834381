import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../api/request';
import { anEvent, FakeStream } from '../testing/fakes';
import { Feed } from './feed';

const LOST = new ApiError({ status: 503, code: 'unavailable', detail: 'It is away.' });

describe('the feed', () => {
  let streams: FakeStream[];
  let asked: (string | null)[];
  let signals: AbortSignal[];
  let whose: boolean[];
  let feed: Feed;

  beforeEach(() => {
    vi.useFakeTimers();
    streams = [];
    asked = [];
    signals = [];
    whose = [];
    feed = new Feed({
      events: (after, signal, all = false) => {
        whose.push(all);
        asked.push(after);
        signals.push(signal);
        streams.push(new FakeStream());
        return streams.at(-1)!;
      }
    });
  });

  afterEach(() => {
    feed.dispose();
    vi.useRealTimers();
  });

  const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

  it('is live after the first message and gives every event once', async () => {
    const seen: number[] = [];
    feed.event.connect((_, event) => void seen.push(event.seq));
    feed.start();
    feed.start();
    expect(feed.status).toBe('connecting');
    streams[0]!.send('hello', { seq: 9 });
    streams[0]!.send('task.state', anEvent(10, 'task.state', 1), '10');
    await settle();
    expect(feed.status).toBe('live');
    expect(seen).toEqual([10]);
    expect(streams).toHaveLength(1);
  });

  it('hears of all users as long as a view needs it, from now on each time', async () => {
    feed.start();
    streams[0]!.send('hello', { seq: 9 });
    await settle();
    const [over, alsoOver] = [feed.hearAll(), feed.hearAll()];
    expect([signals[0]!.aborted, feed.status]).toEqual([true, 'connecting']);
    streams[1]!.send('hello', { seq: 9 });
    await settle();
    expect(feed.status).toBe('live');
    over();
    over();
    expect(whose).toEqual([false, true]);
    alsoOver();
    expect([whose, asked]).toEqual([
      [false, true, false],
      [null, null, null]
    ]);
  });

  it('resumes after the last event it has seen, waiting longer each time', async () => {
    feed.start();
    streams[0]!.send('hello', { seq: 9 });
    streams[0]!.send('task.state', anEvent(10, 'task.state', 1), '10');
    streams[0]!.end(LOST);
    await settle();
    expect(feed.status).toBe('lost');
    expect(feed.error).toBe('It is away.');
    await vi.advanceTimersByTimeAsync(700);
    expect(asked).toEqual([null, '10']);
    streams[1]!.end(LOST);
    await vi.advanceTimersByTimeAsync(700);
    expect(asked).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(700);
    expect(asked).toEqual([null, '10', '10']);
    streams[2]!.send('hello', { seq: 10 });
    await settle();
    expect(feed.status).toBe('live');
    expect(feed.error).toBeNull();
  });

  it('resumes from the greeting when nothing has happened yet', async () => {
    feed.start();
    streams[0]!.send('hello', { seq: 9 });
    streams[0]!.end();
    await vi.advanceTimersByTimeAsync(700);
    expect(asked).toEqual([null, '9']);
  });

  it('begins at now when its place is not known there any more', async () => {
    feed.start();
    streams[0]!.send('task.state', anEvent(10, 'task.state'), '10');
    streams[0]!.end(new ApiError({ status: 400, code: 'invalid', detail: 'after is 10; the last is 2.' }));
    await vi.advanceTimersByTimeAsync(700);
    expect(asked).toEqual([null, null]);
  });

  it('closes its connection and opens it again where it was', async () => {
    feed.start();
    streams[0]!.send('task.state', anEvent(3, 'task.state'), '3');
    await settle();
    feed.stop();
    expect(signals[0]!.aborted).toBe(true);
    streams[0]!.end();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveLength(1);
    feed.start();
    expect(asked).toEqual([null, '3']);
  });

  it('tries at once when it is asked to', async () => {
    feed.start();
    streams[0]!.end(LOST);
    await settle();
    feed.retry();
    await settle();
    expect(asked).toHaveLength(2);
  });
});
