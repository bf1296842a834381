/** The turns of a task below its curves, and the times between them. Pure functions; times are Unix times in seconds. */

import type { IRun } from '../../api/types';
import { endingOf, type RunEnding } from '../../text/format';

export interface IMark {
  run: number;
  ending: RunEnding;
  /** Percent of the width of the window. */
  left: number;
  width: number;
}

/** The turns that lie within a window, at least in part. */
export function marksOf(runs: readonly IRun[], [from, to]: readonly [number, number]): IMark[] {
  const place = (at: number): number =>
    Math.min(100, Math.max(0, (100 * (at - from)) / Math.max(1, to - from)));
  return runs.flatMap(run => {
    const began = Date.parse(run.started_at) / 1000;
    const ended = run.ended_at === null ? to : Date.parse(run.ended_at) / 1000;
    if (ended < from || began > to) {
      return [];
    }
    const left = place(began);
    return [{ run: run.number, ending: endingOf(run), left, width: Math.max(0.4, place(ended) - left) }];
  });
}
