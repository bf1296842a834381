import { act, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { IRecording } from '../../api/types';
import { Feed } from '../../models/feed';
import { RecordingsModel } from '../../models/recordings';
import { FakeStream } from '../../testing/fakes';
import { Recordings } from './Recordings';

function aRecording(given: Partial<IRecording> = {}): IRecording {
  return {
    id: 1,
    task: 41,
    run: 1,
    kind: 'trace',
    state: 'recording',
    by: 'ann',
    at: '2026-11-21T05:00:00Z',
    starts_at: '2026-11-21T05:00:02Z',
    ends_by: '2026-11-21T05:01:00Z',
    seconds: 5,
    steps: null,
    memory: false,
    size: 0,
    parts: [{ rank: 0, node: 'n-1', state: 'ordered', message: null, traces: [], stacks: [] }],
    summary: null,
    ...given
  };
}

const done = aRecording({
  state: 'done',
  parts: [
    {
      rank: 0,
      node: 'n-1',
      state: 'done',
      message: null,
      traces: [{ number: 0, pid: 7, name: 'train.py', size: 900, summary: null, fault: null }],
      stacks: []
    },
    { rank: 1, node: 'n-2', state: 'failed', message: 'no PyTorch runs here', traces: [], stacks: [] }
  ],
  summary: {
    processes: 2,
    step_s: 0.2,
    phases: { data: 0.1, forward: 0.04, backward: 0.05, optimizer: 0.01, communication: 0, idle: 0 },
    operators: [{ name: 'aten::addmm', calls: 1200, self_s: 1.5, share: 0.75 }],
    slowest: { rank: 0, trace: 0, own_s: 0.19, median_s: 0.12 }
  }
});

describe('recordings of a task', () => {
  let model: RecordingsModel;
  const api = {
    recordings: vi.fn(async () => ({ items: [] as IRecording[] })),
    recording: vi.fn(async () => done),
    record: vi.fn(async () => aRecording()),
    traceUrl: (...parts: number[]) => `/trace/${parts.join('/')}`,
    allTracesUrl: (...parts: number[]) => `/traces/${parts.join('/')}`
  };

  beforeEach(async () => {
    vi.useFakeTimers();
    api.recordings.mockClear().mockResolvedValue({ items: [] });
    api.recording.mockClear();
    api.record.mockReset().mockResolvedValue(aRecording());
    model = new RecordingsModel(41, api, new Feed({ events: () => new FakeStream() }));
  });

  afterEach(() => {
    model.dispose();
    vi.useRealTimers();
  });

  const pass = (ms: number): Promise<unknown> => act(() => vi.advanceTimersByTimeAsync(ms));

  it('are ordered by a button, and say where the time of a step goes', async () => {
    model.show(true);
    render(<Recordings model={model} running={true} />);
    await pass(10);
    fireEvent.change(screen.getByLabelText('Seconds'), { target: { value: '2' } });
    fireEvent.click(screen.getByTestId('hai-record'));
    await pass(10);
    expect(api.record).toHaveBeenCalledExactlyOnceWith(41, { seconds: 2 });
    expect(screen.getByTestId('hai-recordings').textContent).toContain('0 of 1 ranks have answered');
    expect(screen.getByTestId<HTMLButtonElement>('hai-record').disabled).toBe(true);
    await pass(2_500);
    const text = screen.getByTestId('hai-recordings').textContent;
    expect(text).toContain('A step takes 200 ms, the mean of 2 processes.');
    expect(text).toContain('The others wait for rank 0: it needs 190 ms by itself');
    expect(text).toContain('Rank 1 on n-2: no PyTorch runs here');
    expect(screen.getByTestId('hai-phases').textContent).toContain('waits for data100 ms50 %');
    expect(screen.getByTestId('hai-operators').textContent).toContain('aten::addmm1,2001.50 s75 %');
    expect(screen.getByRole('link', { name: 'Trace of rank 0' }).getAttribute('href')).toBe(
      '/trace/41/1/0/0'
    );
    const asked = api.recording.mock.calls.length;
    await pass(20_000);
    expect(api.recording).toHaveBeenCalledTimes(asked);
  });

  it('offer the traces of several ranks as one', async () => {
    const [first] = done.parts;
    const second = { ...first!, rank: 1, traces: [{ ...first!.traces[0]!, pid: 8 }] };
    api.recordings.mockResolvedValue({ items: [done] });
    model.show(true);
    const { unmount } = render(<Recordings model={model} running={true} />);
    await pass(10);
    expect(screen.queryByTestId('hai-all-traces')).toBeNull();
    unmount();
    model.dispose();
    api.recordings.mockResolvedValue({ items: [{ ...done, parts: [first!, second] }] });
    model = new RecordingsModel(41, api, new Feed({ events: () => new FakeStream() }));
    model.show(true);
    render(<Recordings model={model} running={true} />);
    await pass(10);
    expect(screen.getByTestId('hai-all-traces').getAttribute('href')).toBe('/traces/41/1');
    expect(screen.getByRole('link', { name: 'Trace of rank 1' })).toBeTruthy();
  });

  it('are refused with a reason, and only of a running task', async () => {
    api.record.mockRejectedValue(new Error('Task 41 is recorded already: wait for its end.'));
    model.show(true);
    const { rerender } = render(<Recordings model={model} running={true} />);
    await pass(10);
    fireEvent.click(screen.getByTestId('hai-record'));
    await pass(10);
    expect(screen.getByRole('alert').textContent).toBe('Task 41 is recorded already: wait for its end.');
    rerender(<Recordings model={model} running={false} />);
    expect(screen.getByTestId<HTMLButtonElement>('hai-record').disabled).toBe(true);
  });

  it('are not read while nobody looks', async () => {
    api.recordings.mockResolvedValue({ items: [aRecording()] });
    await pass(10_000);
    expect(api.recordings).not.toHaveBeenCalled();
    model.show(true);
    await pass(10);
    model.show(false);
    const asked = api.recording.mock.calls.length;
    await pass(10_000);
    expect(api.recordings).toHaveBeenCalledOnce();
    expect(api.recording).toHaveBeenCalledTimes(asked);
  });
});
