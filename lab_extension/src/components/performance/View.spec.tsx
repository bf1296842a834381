import { act, fireEvent, render, screen, within } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ITaskDetail, ITaskSeries } from '../../api/types';
import { Feed } from '../../models/feed';
import { PerformanceModel, timesOf } from '../../models/performance';
import { RecordingsModel } from '../../models/recordings';
import { withCanvas } from '../../testing/canvas';
import { aRun, aTask, FakeStream } from '../../testing/fakes';
import { aDay, aRank, aRunSeries, aSeries } from '../../testing/series';
import { nothingText, PerformanceView } from './View';

const NOW = Date.parse('2026-11-21T05:00:00Z') / 1000;

describe('the performance view', () => {
  let model: PerformanceModel;
  let drawn: () => number;
  let stream: FakeStream;
  const metrics = vi.fn<(...args: unknown[]) => Promise<ITaskSeries>>();
  const running = aRun({
    started_at: '2026-11-21T04:10:00Z',
    ended_at: null,
    state: 'running',
    reason: null
  });

  beforeEach(() => {
    vi.useFakeTimers({ now: NOW * 1000 });
    drawn = withCanvas();
    stream = new FakeStream();
  });

  afterEach(() => {
    model.dispose();
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  async function open(task: ITaskDetail, series: ITaskSeries): Promise<void> {
    metrics.mockReset().mockResolvedValue(series);
    const feed = new Feed({ events: () => new FakeStream() });
    model = new PerformanceModel(task.id, { metrics, metricsFollow: () => stream }, feed, () =>
      timesOf(task.runs)
    );
    model.show(true);
    const recordings = new RecordingsModel(
      task.id,
      { recordings: async () => ({ items: [] }) } as never,
      feed
    );
    render(<PerformanceView model={model} recordings={recordings} task={task} />);
    await act(() => vi.advanceTimersByTimeAsync(50));
  }

  const one = (at: number[], cpu: number[]): ITaskSeries => aSeries([aRunSeries(1, [aRank(at, { cpu })])]);

  it('draws what was measured, says it in words, and shows it as a table on demand', async () => {
    await open(aTask({ nodes: 1, runs: [running] }), one([NOW - 20, NOW - 10], [1, 3]));
    expect(drawn()).toBeGreaterThan(2);
    const chart = screen.getByTestId('hai-chart-cpu');
    expect(chart.textContent).toContain('Processor cores that its processes used.');
    expect(chart.textContent).toMatch(/Mean 2 cores, peak 4 cores at/);
    expect(within(chart).getByRole('button', { name: /cores 3 cores/ })).toBeTruthy();
    expect(within(chart).getByLabelText('Turns in this time: run 1, running')).toBeTruthy();
    expect(within(chart).queryByRole('table')).toBeNull();
    const details = chart.querySelector('details')!;
    details.open = true;
    fireEvent(details, new Event('toggle'));
    const rows = [...within(chart).getByRole('table').querySelectorAll('td')].map(each => each.textContent);
    expect(rows).toEqual(['3 cores', '1 cores']);
    expect(screen.getByTestId('hai-performance-runs').textContent).toContain('2 cores, peak 4 cores');
    expect(screen.getByTestId('hai-performance').textContent).toContain('Newest point 10 s ago');
    expect(screen.getByTestId('hai-performance').textContent).toMatch(
      /No GPU was measured: .*Network is measured in pods/
    );
  });

  it('moves when a new point comes', async () => {
    await open(aTask({ nodes: 1, runs: [running] }), one([NOW - 20, NOW - 10], [1, 3]));
    stream.send('points', one([NOW], [7]));
    await act(() => vi.advanceTimersByTimeAsync(50));
    expect(screen.getByTestId('hai-chart-cpu').textContent).toContain('peak 8 cores');
    expect(screen.getByRole('button', { name: /cores 7 cores/ })).toBeTruthy();
  });

  it('shows the values of a moment by the arrow keys', async () => {
    await open(aTask({ nodes: 1, runs: [running] }), one([NOW - 20, NOW - 10], [1, 3]));
    const plot = within(screen.getByTestId('hai-chart-cpu')).getByRole('slider');
    expect(plot.getAttribute('aria-valuetext')).toBe('newest: cores 3 cores');
    const press = (key: string): Promise<void> =>
      act(async () => {
        fireEvent.keyDown(plot, { key });
        await vi.advanceTimersByTimeAsync(20);
      });
    await press('ArrowLeft');
    expect(plot.getAttribute('aria-valuetext')).toMatch(/: cores 3 cores$/);
    await press('ArrowLeft');
    expect(plot.getAttribute('aria-valuetext')).toMatch(/\d: cores 1 cores$/);
    await press('Escape');
    expect(plot.getAttribute('aria-valuetext')).toBe('newest: cores 3 cores');
  });

  it('hides a line and shows it again', async () => {
    await open(aTask({ nodes: 1, runs: [running] }), aDay(2, 5, 10, NOW));
    const line = within(screen.getByTestId('hai-chart-gpu-use')).getByRole('button', { name: /GPU 1/ });
    fireEvent.click(line);
    expect(line.getAttribute('aria-pressed')).toBe('false');
    fireEvent.click(line);
    expect(line.getAttribute('aria-pressed')).toBe('true');
  });

  it('asks for another range and other ranks; one rank stays', async () => {
    await open(aTask({ nodes: 2, runs: [running] }), one([NOW - 10], [1]));
    fireEvent.click(screen.getByRole('radio', { name: '24 h' }));
    await act(() => vi.advanceTimersByTimeAsync(50));
    expect(metrics.mock.calls.at(-1)?.[1]).toMatchObject({ step: 120, since: NOW - 86_400 });
    fireEvent.click(screen.getByRole('checkbox', { name: '1' }));
    expect(model.ranks).toEqual([0, 1]);
    fireEvent.click(screen.getByRole('checkbox', { name: '0' }));
    fireEvent.click(screen.getByRole('checkbox', { name: '1' }));
    expect(model.ranks).toEqual([1]);
  });

  it('takes ranks of a large task as a text, and says what is wrong with it', async () => {
    await open(aTask({ nodes: 64, runs: [running] }), one([NOW - 10], [1]));
    const field = screen.getByTestId<HTMLInputElement>('hai-performance-ranks');
    fireEvent.change(field, { target: { value: '0-3, 99' } });
    fireEvent.blur(field);
    expect(screen.getByRole('alert').textContent).toBe(
      'Ranks: there is no rank 99; the task has the ranks 0 to 63.'
    );
    fireEvent.change(field, { target: { value: '62-63' } });
    fireEvent.submit(field.form!);
    expect(screen.queryByRole('alert')).toBeNull();
    expect(model.ranks).toEqual([62, 63]);
  });

  it('draws no more points of a day of 8 GPUs than there are pixels', async () => {
    const day = aDay(8, 720, 120, NOW);
    const task = aTask({ nodes: 1, runs: [{ ...running, started_at: '2026-11-19T00:00:00Z' }] });
    await open(task, one([NOW - 10], [1]));
    metrics.mockResolvedValue(day);
    const before = drawn();
    model.setRange('24h');
    await act(() => vi.advanceTimersByTimeAsync(50));
    expect(screen.getByTestId('hai-chart-gpu-power').textContent).toContain('GPU 7');
    // 38 lines of 720 points on a canvas of 98 pixels.
    expect(drawn() - before).toBeGreaterThan(38 * 98);
    expect(drawn() - before).toBeLessThan(38 * 98 * 4);
  });

  it.each([
    [{ runs: [] }, /has not run yet/],
    [{ runs: [{ ...running, started_at: '2026-11-21T04:59:50Z' }] }, /first numbers come about 20 s/],
    [{ runs: [running] }, /Choose a longer one/],
    [{ runs: [{ ...running, started_at: '2026-11-21T04:50:00Z' }] }, /a command of less than a second/]
  ])('says why it is empty: %#', async (given, reason) => {
    await open(aTask({ nodes: 1, ...given }), aSeries([]));
    expect(screen.getByTestId('hai-performance').textContent).toMatch(reason);
  });

  it('says that the platform does not answer', async () => {
    await open(aTask({ nodes: 1, runs: [running] }), one([NOW - 10], [1]));
    metrics.mockRejectedValue(new Error('The platform does not answer.'));
    await act(async () => {
      model.setRange('1h');
      await vi.advanceTimersByTimeAsync(50);
    });
    expect(screen.getByRole('status').textContent).toBe('The platform does not answer.');
    expect(screen.getByTestId('hai-chart-cpu')).toBeTruthy();
  });

  it('knows a reason in any case', () => {
    expect(nothingText(aTask(), [0, 1], NOW * 1000)).toMatch(/has not run yet/);
    model = new PerformanceModel(1, {} as never, new Feed({ events: () => new FakeStream() }), () => null);
  });
});
