import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { anEvent, FakeStream } from '../testing/fakes';
import { Feed } from './feed';
import { LiveModel } from './live';

class Model extends LiveModel {
  readonly reading = vi.fn<(whole: boolean) => Promise<void>>(async () => {});

  constructor(feed: Feed) {
    super({ feed, name: 'test', interval: 1_000, fallback: 60_000, live: 60_000 });
  }

  protected read(whole: boolean): Promise<void> {
    return this.reading(whole);
  }

  protected concerns(): boolean {
    return true;
  }
}

describe('a live value', () => {
  let streams: FakeStream[];
  let feed: Feed;
  let model: Model;

  beforeEach(() => {
    vi.useFakeTimers();
    streams = [];
    feed = new Feed({
      events: () => {
        streams.push(new FakeStream());
        return streams.at(-1)!;
      }
    });
    model = new Model(feed);
  });
  afterEach(() => {
    model.dispose();
    feed.dispose();
    vi.useRealTimers();
  });

  it('is read once when a page opens, and again a moment after its connection is live', async () => {
    let answer: () => void = () => {};
    model.reading.mockImplementationOnce(() => new Promise(resolve => (answer = resolve)));
    void model.start();
    feed.start();
    await vi.advanceTimersByTimeAsync(10);
    streams[0]!.send('hello', { seq: 0 });
    await vi.advanceTimersByTimeAsync(10);
    answer();
    await vi.advanceTimersByTimeAsync(500);
    expect([model.ready, model.reading.mock.calls.length]).toEqual([true, 1]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(model.reading.mock.calls).toEqual([[true], [true]]);
  });

  it('is read at once when the connection is live again', async () => {
    void model.start();
    feed.start();
    await vi.advanceTimersByTimeAsync(3_000);
    model.reading.mockClear();
    streams[0]!.send('hello', { seq: 0 });
    await vi.advanceTimersByTimeAsync(10);
    expect(model.reading.mock.calls).toEqual([[true]]);
  });

  it('is read after an event', async () => {
    void model.start();
    feed.start();
    await vi.advanceTimersByTimeAsync(10);
    streams[0]!.send('hello', { seq: 0 });
    await vi.advanceTimersByTimeAsync(3_000);
    model.reading.mockClear();
    streams[0]!.send('task.state', anEvent(1, 'task.state', 1), '1');
    await vi.advanceTimersByTimeAsync(10);
    expect(model.reading.mock.calls).toEqual([[false]]);
  });
});
