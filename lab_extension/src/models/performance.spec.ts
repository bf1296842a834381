import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ISeriesQuery } from '../api/client';
import type { ITaskSeries } from '../api/types';
import { aRun, FakeStream } from '../testing/fakes';
import { aRank, aRunSeries, aSeries } from '../testing/series';
import { Feed } from './feed';
import { PerformanceModel, timesOf, type ITimes } from './performance';

const NOW = Date.parse('2026-11-21T05:00:00Z') / 1000;

describe('the times of a task', () => {
  it('are its first start and its last end, or that it runs', () => {
    const first = aRun({ started_at: '2026-11-21T04:00:00Z', ended_at: '2026-11-21T04:30:00Z' });
    expect(timesOf([])).toBeNull();
    expect(timesOf([first])).toEqual({ began: NOW - 3600, ended: NOW - 1800 });
    expect(timesOf([first, aRun({ ended_at: null })])?.ended).toBeNull();
  });
});

describe('the model of performance', () => {
  let points: FakeStream;
  let feed: Feed;
  let times: ITimes | null;
  let model: PerformanceModel;
  const metrics = vi.fn<(id: number, query: ISeriesQuery) => Promise<ITaskSeries>>();
  const follow = vi.fn<(id: number, query: ISeriesQuery, signal: AbortSignal) => FakeStream>();

  /** One rank with these points of `cpu`. */
  const cpu = (at: number[], values: number[], step = 10): ITaskSeries =>
    aSeries([aRunSeries(1, [aRank(at, { cpu: values })])], step);
  const shownAt = (): number[] => model.series?.runs[0]?.ranks[0]?.at ?? [];

  beforeEach(() => {
    vi.useFakeTimers({ now: NOW * 1000 });
    points = new FakeStream();
    feed = new Feed({ events: () => new FakeStream() });
    times = { began: NOW - 7200, ended: null };
    metrics.mockReset().mockResolvedValue(cpu([NOW - 20, NOW - 10], [1, 2]));
    follow.mockReset().mockImplementation(() => points);
    model = new PerformanceModel(41, { metrics, metricsFollow: follow }, feed, () => times);
  });

  afterEach(() => {
    model.dispose();
    feed.dispose();
    vi.useRealTimers();
  });

  const pass = (ms = 10): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

  it('reads nothing until somebody looks, then the chosen range', async () => {
    await pass(60_000);
    expect(metrics).not.toHaveBeenCalled();
    model.show(true);
    await pass();
    expect(metrics).toHaveBeenCalledOnce();
    const [id, query] = metrics.mock.calls[0]!;
    expect([id, query.since, query.step, query.ranks]).toEqual([41, NOW + 60 - 900, 10, [0]]);
    expect(query.names).toEqual(expect.arrayContaining(['cpu', 'gpu0_use', 'gpu15_power']));
    expect(query.names.join(',').length).toBeLessThan(1000);
    expect([model.loading, shownAt()]).toEqual([false, [NOW - 20, NOW - 10]]);
    expect(model.window).toEqual([expect.closeTo(NOW + 60 - 900, 0), expect.closeTo(NOW + 60, 0)]);
  });

  it('takes the newest points from the stream, and reads all the same each minute', async () => {
    model.show(true);
    await pass();
    expect(follow).toHaveBeenCalledOnce();
    points.send('points', cpu([NOW - 10, NOW], [2.5, 3]));
    await pass();
    expect(model.series?.runs[0]?.ranks[0]?.mean.cpu).toEqual([1, 2.5, 3]);
    await pass(45_000);
    expect(metrics).toHaveBeenCalledOnce();
    await pass(20_000);
    expect(metrics).toHaveBeenCalledTimes(2);
  });

  it('reads what is new every ten seconds where there is no stream', async () => {
    follow.mockImplementation(() => {
      throw new Error('no stream');
    });
    model.show(true);
    await pass();
    metrics.mockResolvedValue(cpu([NOW - 10, NOW], [2, 3]));
    await pass(10_000);
    expect(metrics).toHaveBeenCalledTimes(2);
    expect(metrics.mock.calls[1]?.[1].since).toBe(NOW - 20);
    expect(shownAt()).toEqual([NOW - 20, NOW - 10, NOW]);
    await pass(30_000);
    expect(metrics).toHaveBeenCalledTimes(5);
    expect(follow.mock.calls.length).toBeGreaterThan(1);
  });

  it('stops when nobody looks any more, and goes on when somebody does again', async () => {
    model.show(true);
    await pass();
    model.show(false);
    expect(follow.mock.calls[0]?.[2].aborted).toBe(true);
    await pass(60_000);
    expect(metrics).toHaveBeenCalledOnce();
    model.show(true);
    await pass();
    expect(metrics).toHaveBeenCalledTimes(2);
    expect(follow).toHaveBeenCalledTimes(2);
  });

  it('shows the earlier choice until the present one is read, and no late answer to an earlier one', async () => {
    model.show(true);
    await pass();
    let answer: (series: ITaskSeries) => void = () => {};
    metrics.mockImplementationOnce(() => new Promise(resolve => (answer = resolve)));
    model.setRange('24h');
    await pass();
    expect([model.loading, shownAt()]).toEqual([true, [NOW - 20, NOW - 10]]);
    metrics.mockResolvedValue(cpu([NOW - 60], [7], 120));
    model.setRange('all');
    await pass();
    answer(cpu([NOW - 99], [9]));
    await pass();
    expect([model.loading, shownAt()]).toEqual([false, [NOW - 60]]);
    const query = metrics.mock.calls.at(-1)?.[1];
    expect([query?.since, query?.step]).toEqual([undefined, undefined]);
    expect(model.window[0]).toBe(NOW - 7200);
  });

  it('has no stream for long spans, and reads those more rarely', async () => {
    metrics.mockResolvedValue(cpu([NOW], [7], 120));
    model.setRange('24h');
    model.show(true);
    await pass();
    expect(follow).not.toHaveBeenCalled();
    await pass(25_000);
    expect(metrics).toHaveBeenCalledOnce();
    await pass(10_000);
    expect(metrics).toHaveBeenCalledTimes(2);
    expect(metrics.mock.calls[1]?.[1].since).toBe(NOW - 120);
  });

  it('reads longer spans when a task has become too long for those it has', async () => {
    const many = Array.from({ length: 1_199 }, (_, index) => NOW - 12_000 + 10 * index);
    metrics.mockResolvedValue(cpu(many, many));
    model.setRange('all');
    model.show(true);
    await pass();
    const added = [1, 2, 3].map(each => many.at(-1)! + 10 * each);
    points.send('points', cpu(added, added));
    await pass();
    expect(model.loading).toBe(true);
    metrics.mockResolvedValue(cpu([NOW], [1], 30));
    await pass(10_000);
    expect(metrics.mock.calls.at(-1)?.[1].step).toBeUndefined();
    expect([model.loading, model.series?.step]).toEqual([false, 30]);
  });

  it('shows the last minutes of a task that has ended, and then reads no more', async () => {
    times = { began: NOW - 7200, ended: NOW - 3600 };
    metrics.mockResolvedValue(cpu([NOW - 3600], [1]));
    model.show(true);
    await pass();
    expect(metrics.mock.calls[0]?.[1].since).toBe(NOW - 3600 - 900);
    expect(model.window).toEqual([NOW - 3600 - 900, NOW - 3600]);
    expect(follow).not.toHaveBeenCalled();
    await pass(120_000);
    expect(metrics).toHaveBeenCalledOnce();
  });

  it('begins when the task does, and says why a reading failed', async () => {
    times = null;
    model.show(true);
    await pass(30_000);
    expect(metrics).not.toHaveBeenCalled();
    times = { began: NOW, ended: null };
    metrics.mockRejectedValueOnce(new Error('The platform is away.'));
    await pass(10_000);
    expect([model.error, model.series]).toEqual(['The platform is away.', null]);
    await pass(60_000);
    expect([model.error, model.loading]).toEqual([null, false]);
  });

  it('takes ranks in order and not more than can be told apart', async () => {
    model.show(true);
    model.setRanks([9, 3, 1, 0, 2, 4, 5, 6, 7, 8]);
    await pass();
    expect(metrics.mock.calls.at(-1)?.[1].ranks).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });
});
