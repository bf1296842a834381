/** Small curves of the numbers that a job reports. */

import type { ITaskSeries } from '../api/types';

/** What the names of such numbers begin with in series. */
const OWN = 'job_';

/** A number over all runs of a task. */
export interface ICurve {
  /** The job's name of it. */
  name: string;
  /** By run: times (Unix, seconds) and values, in order of time. */
  runs: readonly (readonly (readonly [number, number])[])[];
  last: number;
  least: number;
  greatest: number;
}

/** The curves of a series, by name. In each run the lowest rank that has reported a number counts. */
export function curvesOf(series: ITaskSeries): readonly ICurve[] {
  const names = Object.keys(series.units)
    .filter(name => name.startsWith(OWN))
    .sort();
  return names.map(name => curveOf(series, name)).filter(curve => curve.runs.length > 0);
}

function curveOf(series: ITaskSeries, name: string): ICurve {
  const found = series.runs.flatMap(run => {
    const rank = [...run.ranks].sort((a, b) => a.rank - b.rank).find(each => each.mean[name]?.length);
    return rank ? [{ rank, means: rank.mean[name] ?? [] }] : [];
  });
  const runs = found
    .map(({ rank, means }) =>
      means.flatMap((value, at): [number, number][] => {
        const time = rank.at[at];
        return value === null || time === undefined ? [] : [[time, value]];
      })
    )
    .filter(points => points.length > 0);
  const all = runs.flat().map(([, value]) => value);
  const of = (choose: (a: number, b: number) => number): number =>
    all.reduce((a, b) => choose(a, b), all[0] ?? 0);
  return {
    name: name.slice(OWN.length),
    runs,
    last: all.at(-1) ?? 0,
    least: of(Math.min),
    greatest: of(Math.max)
  };
}
