import { act, fireEvent, screen } from '@testing-library/react';
import { Widget } from '@lumino/widgets';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Feed } from '../models/feed';
import { LogModel } from '../models/log';
import { PerformanceModel, timesOf } from '../models/performance';
import { RecordingsModel } from '../models/recordings';
import { TaskModel } from '../models/task';
import { withCanvas } from '../testing/canvas';
import { aHost, aRun, aTask, FakeStream } from '../testing/fakes';
import { aRank, aRunSeries, aSeries } from '../testing/series';
import { TaskWidget } from './task';

describe('the tabs of a task', () => {
  let widget: TaskWidget;
  const run = aRun({ ended_at: null, state: 'running', reason: null });
  const at = Math.floor(Date.now() / 10_000) * 10;
  const metrics = vi.fn(async () => aSeries([aRunSeries(1, [aRank([at - 10, at], { cpu: [1, 2] })])]));
  const logs = vi.fn();

  beforeEach(async () => {
    withCanvas();
    logs.mockReset().mockImplementation(() => new FakeStream());
    metrics.mockClear();
    const api = {
      task: async () => aTask({ runs: [run] }),
      logTail: async () => ({ lines: [], next_cursor: 'x', prev_cursor: null, final: false }),
      logExtents: async () => ({ items: [] }),
      logDownloadUrl: () => '/log',
      logFollow: logs,
      metrics,
      metricsFollow: () => new FakeStream(),
      recordings: async () => ({ items: [] })
    };
    const feed = new Feed({ events: () => new FakeStream() });
    const model = new TaskModel(41, api as never, feed);
    const log = new LogModel(41, api as never);
    const performance = new PerformanceModel(41, api, feed, () => timesOf(model.task?.runs ?? []));
    const recordings = new RecordingsModel(41, api as never, feed);
    widget = new TaskWidget({ model, log, performance, recordings }, aHost(), () => {});
    await act(async () => {
      Widget.attach(widget, document.body);
      await vi.waitFor(() => expect(widget.log.status).toBe('live'));
    });
    await screen.findByRole('tablist');
  });

  afterEach(() => {
    act(() => widget.dispose());
    vi.unstubAllGlobals();
  });

  it('show one thing at a time, and follow only what can be seen', async () => {
    expect(screen.getByTestId('hai-log')).toBeTruthy();
    expect(metrics).not.toHaveBeenCalled();
    fireEvent.click(screen.getByTestId('hai-tab-performance'));
    await screen.findByTestId('hai-chart-cpu');
    expect([screen.queryByTestId('hai-log'), widget.log.status]).toEqual([null, 'idle']);
    fireEvent.click(screen.getByTestId('hai-tab-log'));
    await screen.findByTestId('hai-log');
    expect(screen.queryByTestId('hai-performance')).toBeNull();
    await vi.waitFor(() => expect(logs).toHaveBeenCalledTimes(2));
  });

  it('are reached by arrow keys, and the other one is skipped by the tab key', async () => {
    const log = screen.getByTestId('hai-tab-log');
    log.focus();
    fireEvent.keyDown(log, { key: 'ArrowRight' });
    const tab = await screen.findByRole('tab', { name: 'Performance', selected: true });
    expect(document.activeElement).toBe(tab);
    expect([tab.tabIndex, log.tabIndex]).toEqual([0, -1]);
    fireEvent.keyDown(tab, { key: 'ArrowRight' });
    await screen.findByRole('tab', { name: 'Runs and log', selected: true });
  });

  it('show nothing of a widget that is hidden', async () => {
    fireEvent.click(screen.getByTestId('hai-tab-performance'));
    await screen.findByTestId('hai-chart-cpu');
    const closed = vi.spyOn(widget.performance, 'show');
    act(() => widget.hide());
    expect(closed).toHaveBeenLastCalledWith(false);
    act(() => widget.show());
    expect(closed).toHaveBeenLastCalledWith(true);
    expect(widget.log.status).toBe('idle');
  });
});
