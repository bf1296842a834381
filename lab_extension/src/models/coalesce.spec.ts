import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Coalescer } from './coalesce';

describe('a coalescer', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('makes one run of many requests, and one more for those that come meanwhile', async () => {
    let finish: () => void = () => undefined;
    const work = vi.fn(() => new Promise<void>(resolve => (finish = resolve)));
    const coalescer = new Coalescer(work, 100);
    for (let i = 0; i < 1000; i++) {
      coalescer.request();
    }
    await vi.advanceTimersByTimeAsync(0);
    expect(work).toHaveBeenCalledTimes(1);
    coalescer.request();
    coalescer.request();
    await vi.advanceTimersByTimeAsync(500);
    expect(work).toHaveBeenCalledTimes(1);
    finish();
    await vi.advanceTimersByTimeAsync(0);
    expect(work).toHaveBeenCalledTimes(2);
  });

  it('keeps its interval', async () => {
    const work = vi.fn(async () => undefined);
    const coalescer = new Coalescer(work, 100);
    coalescer.request();
    await vi.advanceTimersByTimeAsync(1);
    coalescer.request();
    await vi.advanceTimersByTimeAsync(90);
    expect(work).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(20);
    expect(work).toHaveBeenCalledTimes(2);
  });

  it('does nothing more once disposed', async () => {
    const work = vi.fn(async () => undefined);
    const coalescer = new Coalescer(work, 100);
    coalescer.request();
    coalescer.dispose();
    coalescer.request();
    await vi.advanceTimersByTimeAsync(1000);
    expect(work).not.toHaveBeenCalled();
  });
});
