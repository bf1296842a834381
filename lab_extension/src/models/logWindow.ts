/** The part of a log that is held: lines in chunks, with the positions where it begins and ends. */

import type { ILogLine } from '../api/types';

/** Lines in a chunk: only the last chunk changes when a line is added. */
export const CHUNK = 100;

/** A line with its place in the order of the log. */
export interface INumberedLine extends ILogLine {
  key: number;
}

export interface IChunk {
  /** The key of its first line. */
  key: number;
  /** The position before its first line. */
  begins: string;
  lines: readonly INumberedLine[];
}

/** Some consecutive lines of a log. */
export class LogWindow {
  chunks: readonly IChunk[] = [];
  count = 0;
  /** The positions before the first line and behind the last one. */
  begins = '1:start';
  ends = '1:start';
  /** Whether there are no lines before it. */
  first = true;
  private firstKey = 0;
  private nextKey = 0;

  /** Hold nothing but what will come at a position. Keys are never given twice. */
  clear(at = '1:start', first = true): void {
    this.chunks = [];
    this.count = 0;
    this.begins = this.ends = at;
    this.first = first;
    this.firstKey = this.nextKey = Math.ceil((this.nextKey + 1) / 1e9) * 1e9 + 5e8;
  }

  /** Add lines behind the last one; `ends` is the position behind them. */
  append(lines: readonly ILogLine[], ends: string): void {
    const chunks = [...this.chunks];
    for (const line of lines) {
      const last = chunks.at(-1);
      const before = last?.lines.at(-1);
      if (last && before?.rewritten && line.rank === before.rank && line.run === before.run) {
        // The next state of a line that is being written again.
        const state = { ...line, key: before.key };
        chunks[chunks.length - 1] = { ...last, lines: [...last.lines.slice(0, -1), state] };
        continue;
      }
      const numbered = { ...line, key: this.nextKey++ };
      this.count++;
      if (last && last.lines.length < CHUNK) {
        chunks[chunks.length - 1] = { ...last, lines: [...last.lines, numbered] };
      } else {
        chunks.push({ key: numbered.key, begins: before?.cursor ?? this.begins, lines: [numbered] });
      }
    }
    this.chunks = chunks;
    this.ends = ends;
  }

  /** Add lines before the first one; `begins` is the position before them, null: there are none. */
  prepend(lines: readonly ILogLine[], begins: string | null): void {
    this.first = begins === null;
    this.begins = begins ?? lines[0]?.cursor ?? this.begins;
    if (begins === null && lines[0]) {
      this.begins = `${lines[0].run}:start`;
    }
    this.firstKey -= lines.length;
    const chunks: IChunk[] = [];
    for (let at = 0; at < lines.length; at += CHUNK) {
      chunks.push({
        key: this.firstKey + at,
        begins: lines[at - 1]?.cursor ?? this.begins,
        lines: lines
          .slice(at, at + CHUNK)
          .map((line, index) => ({ ...line, key: this.firstKey + at + index }))
      });
    }
    this.chunks = [...chunks, ...this.chunks];
    this.count += lines.length;
  }

  /** Drop chunks at the beginning, to hold about `most` lines. */
  dropFirst(most: number): void {
    let from = 0;
    while (this.count > most && from < this.chunks.length - 1) {
      this.count -= this.chunks[from]?.lines.length ?? 0;
      from++;
    }
    if (from > 0) {
      this.chunks = this.chunks.slice(from);
      this.begins = this.chunks[0]?.begins ?? this.begins;
      this.first = false;
    }
  }

  /** Drop chunks at the end, to hold about `most` lines; whether there were any. */
  dropLast(most: number): boolean {
    let until = this.chunks.length;
    while (this.count > most && until > 1) {
      until--;
      this.count -= this.chunks[until]?.lines.length ?? 0;
    }
    const dropped = until < this.chunks.length;
    if (dropped) {
      this.ends = this.chunks[until]?.begins ?? this.ends;
      this.chunks = this.chunks.slice(0, until);
    }
    return dropped;
  }
}
