/** Where something is in a log of several runs, in bytes: what a scroll bar needs. */

import type { ILogExtent } from '../api/types';

/** The extents of the runs of a rank's log, one after the other. */
export class LogPlaces {
  constructor(private readonly runs: readonly ILogExtent[] = []) {}

  get isEmpty(): boolean {
    return this.runs.length === 0;
  }

  /** How many bytes are kept. */
  get size(): number {
    return this.runs.reduce((sum, run) => sum + run.end - run.start, 0);
  }

  has(run: number): boolean {
    return this.runs.some(each => each.run === run);
  }

  /** The same, where the log is known to reach up to a position. */
  upTo(cursor: string): LogPlaces {
    const [run, offset] = partsOf(cursor);
    const known = this.runs.find(each => each.run === run);
    return known === undefined || offset <= known.end
      ? this
      : new LogPlaces(this.runs.map(each => (each === known ? { ...each, end: offset } : each)));
  }

  /** How many bytes are before a position. */
  before(cursor: string): number {
    const [run, offset] = partsOf(cursor);
    let sum = 0;
    for (const each of this.runs) {
      if (each.run < run) {
        sum += each.end - each.start;
      } else if (each.run === run) {
        sum += Math.min(Math.max(offset, each.start), each.end) - each.start;
      }
    }
    return sum;
  }

  /** The position behind as many bytes. */
  at(bytes: number): string {
    let left = Math.max(0, Math.round(bytes));
    for (const each of this.runs) {
      if (left < each.end - each.start) {
        return left === 0 ? `${each.run}:start` : `${each.run}:${each.start + left}`;
      }
      left -= each.end - each.start;
    }
    const last = this.runs.at(-1);
    return last === undefined ? '1:start' : `${last.run}:${last.end}`;
  }
}

/** The run and the offset of a position; before the first line the offset is 0. */
export function partsOf(cursor: string): [number, number] {
  const [run = '1', offset = ''] = cursor.split(':');
  return [Number(run), Number(offset) || 0];
}
