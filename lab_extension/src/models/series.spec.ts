import { describe, expect, it } from 'vitest';
import { aRank, aRunSeries, aSeries } from '../testing/series';
import { knownUntil, lengthOf, merged, newestOf, trimmed } from './series';

describe('pieces of metrics', () => {
  const old = aSeries([
    aRunSeries(1, [aRank([10, 20], { cpu: [1, 2] })]),
    aRunSeries(2, [aRank([40, 50], { cpu: [4, 5] }), aRank([40], { cpu: [9] }, 1)])
  ]);

  it('are put together: what is read again is replaced, and what is not stays', () => {
    const added = aSeries([
      aRunSeries(2, [aRank([50, 60], { cpu: [5.5, 6], memory: [7, 8] })]),
      aRunSeries(3, [aRank([90], { cpu: [3] })])
    ]);
    const whole = merged(old, added);
    expect(whole.runs.map(run => run.run)).toEqual([1, 2, 3]);
    expect(whole.runs[0]).toEqual(old.runs[0]);
    expect(whole.runs[1]?.ranks[0]).toMatchObject({
      at: [40, 50, 60],
      mean: { cpu: [4, 5.5, 6], memory: [null, 7, 8] },
      greatest: { cpu: [5, 6.5, 7], memory: [null, 8, 9] }
    });
    expect(whole.runs[1]?.ranks[1]?.at).toEqual([40]);
    expect(whole.runs[2]?.ranks[0]?.at).toEqual([90]);
    expect(Object.keys(whole.units)).toEqual(['cpu', 'memory']);
  });

  it('put together twice are the same as once', () => {
    const added = aSeries([aRunSeries(2, [aRank([50, 60], { cpu: [5, 6] })])]);
    expect(merged(merged(old, added), added)).toEqual(merged(old, added));
  });

  it('say how far everything is known, and of when the newest point is', () => {
    expect([knownUntil(old), newestOf(old), lengthOf(old)]).toEqual([40, 50, 4]);
    const nothing = aSeries([aRunSeries(1, [])]);
    expect([knownUntil(nothing), newestOf(nothing), lengthOf(nothing)]).toEqual([null, null, 0]);
  });

  it('are cut off before a time, in every column', () => {
    const rank = trimmed(old, 40).runs[1]?.ranks[0];
    expect(rank).toMatchObject({ at: [50], mean: { cpu: [5] }, least: { cpu: [4] }, greatest: { cpu: [6] } });
  });
});
