/** A choice of ranks as people type it. Pure; errors are sentences for the form. */

import { MOST_RANKS } from '../../models/performance';

/** `0-3, 7` as numbers in order. Throws Error. */
export function parseRanks(text: string, ranks: number): number[] {
  const found = new Set<number>();
  const parts = text.split(',').map(part => part.trim());
  for (const part of parts) {
    const match = /^(\d{1,6})(?:\s*-\s*(\d{1,6}))?$/.exec(part);
    if (!match) {
      throw new Error(`Ranks: “${part}” is neither a number nor a span such as 0-3.`);
    }
    const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
    if (last < first) {
      throw new Error(`Ranks: “${part}” ends before it begins; write ${last}-${first}.`);
    }
    if (last >= ranks) {
      throw new Error(`Ranks: there is no rank ${last}; the task has the ranks 0 to ${ranks - 1}.`);
    }
    if (last - first >= MOST_RANKS) {
      throw tooMany();
    }
    for (let rank = first; rank <= last; rank += 1) {
      found.add(rank);
    }
  }
  if (found.size > MOST_RANKS) {
    throw tooMany();
  }
  return [...found].sort((a, b) => a - b);
}

/** Ranks as `parseRanks` reads them: `0-3, 7`. */
export function ranksText(ranks: readonly number[]): string {
  const spans: [number, number][] = [];
  for (const rank of ranks) {
    const span = spans.at(-1);
    if (span?.[1] === rank - 1) {
      span[1] = rank;
    } else {
      spans.push([rank, rank]);
    }
  }
  return spans.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(', ');
}

function tooMany(): Error {
  return new Error(`Ranks: at most ${MOST_RANKS} can be shown at once; name fewer.`);
}
