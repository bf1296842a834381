/** Metrics for tests. */

import type { IRankSeries, IRunSeries, ITaskSeries } from '../api/types';

/** The metrics of a rank; of each metric its means. The least is one less, the greatest one more. */
export function aRank(at: number[], mean: Record<string, (number | null)[]>, rank = 0): IRankSeries {
  const moved = (by: number): Record<string, (number | null)[]> =>
    Object.fromEntries(
      Object.entries(mean).map(([name, values]) => [
        name,
        values.map(value => (value === null ? null : Math.max(0, value + by)))
      ])
    );
  return { rank, node: `n-${rank + 1}`, at, least: moved(-1), mean, greatest: moved(1) };
}

export function aRunSeries(run: number, ranks: IRankSeries[]): IRunSeries {
  return {
    run,
    started_at: '2026-11-21T04:10:00Z',
    running_at: null,
    noticed_at: null,
    ended_at: null,
    ranks
  };
}

export function aSeries(runs: IRunSeries[], step = 10): ITaskSeries {
  const names = runs.flatMap(run => run.ranks.flatMap(rank => Object.keys(rank.mean)));
  return { step, units: Object.fromEntries(names.map(name => [name, ''])), runs };
}

/** One run of one rank that computes on some GPUs: a point every `step` seconds up to `end`. */
export function aDay(gpus: number, points: number, step: number, end: number): ITaskSeries {
  const at = Array.from({ length: points }, (_, index) => end - (points - 1 - index) * step);
  const wave = (top: number): number[] => at.map((_, index) => (top / 2) * (1 + Math.sin(index / 9)));
  const mean: Record<string, number[]> = { cpu: wave(8), memory: wave(2e11) };
  for (const name of ['disk_read', 'disk_written', 'net_received', 'net_sent']) {
    mean[name] = wave(1e9);
  }
  for (let gpu = 0; gpu < gpus; gpu += 1) {
    mean[`gpu${gpu}_use`] = wave(100);
    mean[`gpu${gpu}_sm`] = wave(90);
    mean[`gpu${gpu}_memory`] = wave(8e10);
    mean[`gpu${gpu}_power`] = wave(700);
  }
  return aSeries([aRunSeries(1, [aRank(at, mean)])], step);
}
