/** Where bars stand on a timeline. Pure functions; positions are percent of the width. */

import type { IRun, ITaskDetail } from '../../api/types';
import { endingOf, isUnfinished, type RunEnding } from '../../text/format';

export interface ISegment {
  left: number;
  width: number;
}

export interface IRunBar extends ISegment {
  run: IRun;
  ending: RunEnding;
  /** The part after the notice, in which it saves; within the bar, percent of the bar. */
  leaving: ISegment | null;
  /** Where it last saved, percent of the bar; null: it did not. */
  saved: number | null;
}

export interface ITick {
  left: number;
  at: number;
}

export interface ITimeline {
  start: number;
  end: number;
  bars: IRunBar[];
  ticks: ITick[];
}

/** The least width of a bar, so that a short run can still be seen and hit. */
const LEAST = 0.6;

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];

/** Lay the runs of a task out from its submission to its end, or to now, with at most about `most` marks on the axis. */
export function layOut(task: ITaskDetail, now: number, most = 7): ITimeline {
  const start = Date.parse(task.submitted_at);
  const last = task.ended_at !== null && !isUnfinished(task.state) ? Date.parse(task.ended_at) : now;
  const ends = task.runs.map(run => (run.ended_at === null ? now : Date.parse(run.ended_at)));
  const end = Math.max(last, start + 1000, ...ends);
  const place = (at: number): number => (100 * (at - start)) / (end - start);
  const bars = task.runs.map(run => layOutRun(run, now, place));
  return { start, end, bars, ticks: ticksOf(start, end, most).map(at => ({ at, left: place(at) })) };
}

function layOutRun(run: IRun, now: number, place: (at: number) => number): IRunBar {
  const from = Date.parse(run.started_at);
  const to = run.ended_at === null ? now : Date.parse(run.ended_at);
  const within = (at: number): number =>
    to > from ? Math.min(100, Math.max(0, (100 * (at - from)) / (to - from))) : 0;
  const width = Math.max(LEAST, place(to) - place(from));
  const told = run.notice === null ? null : within(Date.parse(run.notice.at));
  return {
    run,
    ending: endingOf(run),
    left: Math.min(place(from), 100 - width),
    width,
    leaving: told === null ? null : { left: told, width: 100 - told },
    saved: run.checkpoint === null ? null : within(Date.parse(run.checkpoint.at))
  };
}

/** Round moments between two others, at most about `most`. */
export function ticksOf(start: number, end: number, most: number): number[] {
  const seconds = (end - start) / 1000;
  const step = STEPS.find(each => seconds / each <= most) ?? Math.ceil(seconds / most / 86_400) * 86_400;
  const offset = new Date(start).getTimezoneOffset() * 60_000;
  const first = Math.ceil((start - offset) / (step * 1000)) * step * 1000 + offset;
  const ticks: number[] = [];
  for (let at = first; at <= end; at += step * 1000) {
    ticks.push(at);
  }
  return ticks;
}
