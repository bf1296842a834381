import { describe, expect, it } from 'vitest';
import {
  duration,
  endingOf,
  localTimes,
  moment,
  nodeList,
  percent,
  plainText,
  relative,
  size
} from './format';
import { count, priorityLabel, priorityOf, stateLabel } from './words';
import { aRun, aTask } from '../testing/fakes';

describe('durations', () => {
  it.each([
    [0, '0 s'],
    [0.4, '0 s'],
    [42, '42 s'],
    [60, '1 min'],
    [125, '2 min 5 s'],
    [3600, '1 h'],
    [90_061, '1 d 1 h'],
    [-5, '0 s']
  ])('%d seconds are %s', (seconds, text) => {
    expect(duration(seconds)).toBe(text);
  });

  it('are said relative to now, in the past and in the future', () => {
    const now = Date.parse('2026-11-21T05:00:00Z');
    expect(relative('2026-11-21T04:58:00Z', now)).toBe('2 min ago');
    expect(relative('2026-11-21T07:00:00Z', now)).toBe('in 2 h');
    expect(relative('2026-11-21T04:59:58Z', now)).toBe('just now');
  });
});

it('parts of a whole are percent, and what is not known is a dash', () => {
  expect([
    percent(null),
    percent(undefined),
    percent(0),
    percent(0.836),
    percent(0.836, 1),
    percent(0.5, 1)
  ]).toEqual(['–', '–', '0 %', '84 %', '83.6 %', '50 %']);
});

describe('words', () => {
  it('count with the right number', () => {
    expect([count(1, 'node'), count(1200, 'node')]).toEqual(['1 node', '1,200 nodes']);
  });

  it('say what a task takes', () => {
    expect(size({ nodes: 3, gpus: null })).toBe('3 nodes');
    expect(size({ nodes: 1, gpus: 2 })).toBe('1 node × 2 GPUs');
  });

  it('say what AUTO counts as', () => {
    expect(priorityLabel('EXTREME_HIGH')).toBe('Extreme high');
    expect(priorityOf({ priority: 'AUTO', effective_priority: 'BELOW_NORMAL' })).toBe('Auto · Below normal');
    expect(priorityOf({ priority: 'LOW', effective_priority: 'LOW' })).toBe('Low');
  });

  it('say of a waiting task alone that it is held', () => {
    expect(stateLabel(aTask({ state: 'suspended', held: true }))).toBe('suspended, held');
    expect(stateLabel(aTask({ state: 'running', held: true }))).toBe('running');
  });

  it('shorten a list of nodes', () => {
    expect(nodeList(['a', 'b', 'c'], 2)).toBe('a, b and 1 more');
  });
});

describe('moments', () => {
  it('have the day if it is not today, and the year if it is another one', () => {
    const now = Date.parse('2026-11-21T12:00:00Z');
    expect(moment('2026-11-21T11:00:00Z', now)).toMatch(/^\d\d:00:00$/);
    expect(moment('2026-03-05T11:00:00Z', now)).toMatch(/^Mar 5 \d\d:00:00$/);
    expect(moment('2025-03-05T11:00:00Z', now)).toMatch(/^Mar 5, 2025 \d\d:00:00$/);
  });
});

describe('times in sentences of the service', () => {
  const now = Date.parse('2026-11-21T05:00:00Z');

  it('are those of the reader, as everywhere on the screen', () => {
    expect(localTimes('keeps them until 05:12:01 UTC, in 12 min', now)).toBe(
      `keeps them until ${moment('2026-11-21T05:12:01Z', now)}, in 12 min`
    );
    expect(localTimes('starts by 2026-12-01 23:30 UTC.', now)).toBe(
      `starts by ${moment('2026-12-01T23:30:00Z', now)}.`
    );
  });

  it('are left alone where they are none', () => {
    expect(localTimes('needs 2 nodes, at 99:99 UTC', now)).toBe('needs 2 nodes, at 99:99 UTC');
  });
});

describe('the ending of a run', () => {
  it.each([
    ['succeeded', null, 'succeeded'],
    ['failed', null, 'failed'],
    ['node_lost', null, 'failed'],
    ['supervisor_killed', null, 'failed'],
    ['turn_over', 'saved', 'saved'],
    ['turn_over', 'unknown', 'unknown'],
    ['preempted', 'ended', 'ended'],
    ['user_stopped', null, 'unknown']
  ] as const)('by %s with left=%s is %s', (reason, left, ending) => {
    expect(endingOf(aRun({ reason, left }))).toBe(ending);
  });

  it('is open while it runs and while it leaves', () => {
    expect(endingOf(aRun({ state: 'running', reason: null }))).toBe('running');
    expect(endingOf(aRun({ state: 'leaving', reason: null }))).toBe('leaving');
  });
});

it('log lines lose terminal codes and keep the rest', () => {
  expect(plainText('\u001b[33mWARN\u001b[0m \u001b]0;title\u0007ok [1m')).toBe('WARN ok [1m');
});
