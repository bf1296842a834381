import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import type { ITaskSeries } from '../../api/types';
import { progressText } from '../../text/format';
import { curvesOf, type ICurve } from '../../models/curves';
import { aTask } from '../../testing/fakes';
import { short } from '../performance/units';
import { lines, Reported } from './Reported';

afterEach(cleanup);

const PROGRESS = { step: 1200, total: 10_000, at: '2026-11-21T04:00:00Z', left_s: 7200 };

function rank(number: number, mean: Record<string, (number | null)[]>): ITaskSeries['runs'][0]['ranks'][0] {
  const at = [10, 20, 30];
  return { rank: number, node: `n-${number}`, at, least: mean, mean, greatest: mean };
}

function series(...runs: ITaskSeries['runs'][0]['ranks'][]): ITaskSeries {
  const names = runs.flat().flatMap(each => Object.keys(each.mean));
  return {
    step: 10,
    units: Object.fromEntries(names.map(name => [name, ''])),
    runs: runs.map((ranks, index) => ({
      run: index + 1,
      started_at: '2026-11-21T04:00:00Z',
      running_at: null,
      noticed_at: null,
      ended_at: null,
      ranks
    }))
  };
}

describe('the curves of what a job reports', () => {
  it('have a line for each run, without points that have no value', () => {
    const found = curvesOf(
      series(
        [rank(0, { job_loss: [3, null, 1], cpu: [1, 1, 1] })],
        [],
        [rank(0, { job_loss: [-0.5, 0.5, null] })]
      )
    );
    expect(found).toEqual([
      {
        name: 'loss',
        runs: [
          [
            [10, 3],
            [30, 1]
          ],
          [
            [10, -0.5],
            [20, 0.5]
          ]
        ],
        last: 0.5,
        least: -0.5,
        greatest: 3
      }
    ]);
  });

  it('are of the lowest rank that has the number, and left out where none has', () => {
    const found = curvesOf(
      series([
        rank(2, { job_a: [5, 5, 5] }),
        rank(1, { job_a: [7, 8, 9], job_b: [null, null, null] }),
        rank(0, { cpu: [1, 1, 1] })
      ])
    );
    expect(found.map(({ name, last }) => [name, last])).toEqual([['a', 9]]);
  });

  it('fill the picture, and a number that never changes is a line in the middle', () => {
    const curve: ICurve = {
      name: 'a',
      runs: [
        [
          [0, 0],
          [10, 10]
        ],
        [[20, 5]]
      ],
      last: 5,
      least: 0,
      greatest: 10
    };
    expect(lines(curve)).toEqual(['1,34 79.5,2', '158,18 159,18']);
    expect(lines({ ...curve, runs: [[[5, 3]]], least: 3, greatest: 3 })).toEqual(['1,18 2,18']);
  });

  it.each([
    [0.00003, '0.00003'],
    [1234567, '1235000'],
    [-0.123456, '-0.1235'],
    [2, '2']
  ])('show %s as %s', (value, text) => {
    expect(short(value)).toBe(text);
  });
});

describe('the progress of a task', () => {
  it.each([
    [PROGRESS, 'step 1,200 of 10,000, about 2 h left'],
    [{ ...PROGRESS, left_s: null }, 'step 1,200 of 10,000'],
    [{ ...PROGRESS, total: null, left_s: null }, 'step 1,200']
  ])('is said in words', (progress, text) => {
    expect(progressText(progress)).toBe(text);
  });

  it('is nothing where the job reports nothing', () => {
    const { container } = render(<Reported task={aTask()} curves={[]} />);
    expect(container.innerHTML).toBe('');
  });

  it('is a bar that a screen reader reads, never more than full', () => {
    render(<Reported task={aTask({ progress: { ...PROGRESS, step: 20_000, left_s: null } })} curves={[]} />);
    const bar = screen.getByRole<HTMLProgressElement>('progressbar', { name: 'step 20,000 of 10,000' });
    expect([bar.value, bar.max]).toEqual([10_000, 10_000]);
  });

  it('has no bar where the job did not say how many steps there are', () => {
    render(<Reported task={aTask({ progress: { ...PROGRESS, total: null } })} curves={[]} />);
    expect(screen.queryByRole('progressbar')).toBeNull();
  });

  it('shows few curves, and all on demand', () => {
    const curves = Array.from({ length: 9 }, (_, number) => ({
      name: `n${number}`,
      runs: [[[10, number] as const]],
      last: number,
      least: number,
      greatest: number
    }));
    render(<Reported task={aTask({ progress: PROGRESS })} curves={curves} />);
    expect(screen.getAllByRole('img')).toHaveLength(6);
    expect(screen.getByRole('img', { name: 'n3: last 3, least 3, greatest 3' })).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Show all 9 numbers' }));
    expect(screen.getAllByRole('img')).toHaveLength(9);
  });
});
