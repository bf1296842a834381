import { act, fireEvent, render, screen, within } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { LogModel } from '../../models/log';
import {
  aChange,
  aDecision,
  aHaienv,
  aLine,
  aRun,
  aTask,
  aWaitingTask,
  FakeStream
} from '../../testing/fakes';
import { DecisionLog } from './DecisionLog';
import { Header } from './Header';
import { LogView } from './LogView';
import { Timeline } from './Timeline';
import { actionsOf, stopWarning } from './actions';
import { layOut, ticksOf } from './timeline';

const NOW = Date.parse('2026-11-21T05:00:00Z');

describe('the actions', () => {
  const words = (given: Parameters<typeof aTask>[0]): string[] =>
    actionsOf(aTask(given)).map(each => each.action);

  it.each([
    [{ state: 'running' }, ['suspend', 'hold', 'stop']],
    [{ state: 'running', held: true }, ['resume', 'stop']],
    [{ state: 'queued' }, ['hold', 'stop']],
    [{ state: 'suspended', held: true }, ['resume', 'stop']],
    [{ state: 'suspending' }, ['hold', 'stop']],
    [{ state: 'stopping' }, []],
    [{ state: 'succeeded' }, []]
  ] as const)('for %j are %j', (given, actions) => {
    expect(words(given)).toEqual(actions);
  });

  it('warn of what stopping costs', () => {
    expect(stopWarning(aTask())).toMatch(/120 s|2 min/);
    expect(stopWarning(aTask())).toMatch(/not saved anything/);
    expect(stopWarning(aWaitingTask(1, 1))).toMatch(/will not run again/);
  });
});

describe('the header', () => {
  it('says why a task waits, where in line, and when it can start', () => {
    const task = aWaitingTask(7, 3);
    task.verdict!.earliest_start = '2026-11-21T05:20:00Z';
    task.verdict!.holders = [
      { task_id: 12, name: 'sweep', user: 'bob', priority: 'HIGH', nodes: 4, gpus: null }
    ];
    render(
      <Header
        task={task}
        whatIf={[aChange()]}
        facts={['ann has had 62 % of the recent use.']}
        now={NOW}
        busy={false}
        onAct={vi.fn()}
        onPriority={vi.fn()}
      />
    );
    expect(screen.getByTestId('hai-task-what-if').textContent).toBe('At HIGH it would start now.');
    expect(screen.getByTestId('hai-task-state').textContent).toBe('queued');
    const why = screen.getByTestId('hai-task-why').textContent;
    expect(why).toContain('It needs 2 nodes and 1 is free.');
    expect(why).toContain('Place in line 3');
    expect(why).toContain('ann has had 62 % of the recent use.');
    expect(why).toContain('Earliest start in 20 min');
    expect(why).toContain('#12 sweep (bob): 4 nodes, High');
  });

  it('acts, changes the priority, and does neither while busy', () => {
    const onAct = vi.fn();
    const onPriority = vi.fn();
    const props = { task: aTask(), whatIf: [], now: NOW, onAct, onPriority };
    const { rerender } = render(<Header {...props} busy={false} />);
    fireEvent.click(screen.getByTestId('hai-suspend'));
    expect(onAct).toHaveBeenCalledExactlyOnceWith('suspend');
    fireEvent.change(screen.getByTestId('hai-priority'), { target: { value: 'LOW' } });
    expect(onPriority).toHaveBeenCalledExactlyOnceWith('LOW');
    rerender(<Header {...props} busy={true} />);
    expect(screen.getByTestId<HTMLButtonElement>('hai-stop').disabled).toBe(true);
  });

  it('shows the rank that failed first, and what it said last', () => {
    const onShowLog = vi.fn();
    const failure = {
      run: 1,
      rank: 1,
      node: 'n-2',
      exit_code: 1,
      signal: null,
      at: null,
      worker: null,
      lines: ['Traceback (most recent call last):', '\u001b[31mValueError: no data\u001b[0m']
    };
    const props = { whatIf: [], now: NOW, busy: false, onAct: vi.fn(), onPriority: vi.fn(), onShowLog };
    const { rerender } = render(<Header task={aTask({ state: 'failed', failure })} {...props} />);
    const shown = screen.getByTestId('hai-task-failure');
    expect(shown.textContent).toContain('Rank 1 on n-2 failed first, with status 1.');
    expect(shown.querySelector('pre')?.textContent).toBe(
      'Traceback (most recent call last):\nValueError: no data'
    );
    fireEvent.click(within(shown).getByText('Show its log'));
    expect(onShowLog).toHaveBeenCalledExactlyOnceWith(1);
    const killed = { ...failure, signal: 9, exit_code: 137, lines: [], worker: 'rank 3 (local_rank: 1)' };
    rerender(<Header task={aTask({ state: 'failed', failure: killed })} {...props} />);
    expect(screen.getByTestId('hai-task-failure').textContent).toContain(
      'failed first, of signal 9; torchrun names rank 3 (local_rank: 1).'
    );
    expect(screen.getByTestId('hai-task-failure').querySelector('pre')).toBeNull();
    rerender(<Header task={aTask()} {...props} />);
    expect(screen.queryByTestId('hai-task-failure')).toBeNull();
  });

  it('has a badge while GPUs do nothing', () => {
    const props = { whatIf: [], now: NOW, busy: false, onAct: vi.fn(), onPriority: vi.fn() };
    const task = { ...aTask(), idle_gpus_since: '2026-11-21T04:35:00Z' };
    const { rerender } = render(<Header task={task} {...props} />);
    expect(screen.getByTestId('hai-idle-gpus').textContent).toBe('GPUs idle for 25 min');
    rerender(<Header task={{ ...task, idle_gpus_since: null }} {...props} />);
    expect(screen.queryByTestId('hai-idle-gpus')).toBeNull();
    rerender(<Header task={aTask()} {...props} />);
    expect(screen.queryByTestId('hai-idle-gpus')).toBeNull();
  });

  it('names the environment, its generation and its digest', () => {
    const props = { whatIf: [], now: NOW, busy: false, onAct: vi.fn(), onPriority: vi.fn() };
    const { rerender } = render(<Header task={aTask()} {...props} />);
    expect(screen.queryByText('Environment')).toBeNull();
    rerender(<Header task={aTask({ haienv: aHaienv() })} {...props} />);
    expect(screen.getByText('users/ann/vision@3 (sha256:0123456789ab...)')).toBeTruthy();
    rerender(<Header task={aTask({ haienv: aHaienv({ latest: true }) })} {...props} />);
    expect(screen.getByText(/; each run takes the newest$/)).toBeTruthy();
  });

  it('names the image with the digest that the task goes on with', () => {
    const props = { whatIf: [], now: NOW, busy: false, onAct: vi.fn(), onPriority: vi.fn() };
    const image = `registry.example/torch:2@sha256:${'0123456789abcdef'.repeat(4)}`;
    const { rerender } = render(<Header task={aTask({ environment: 'torch' })} {...props} />);
    expect(screen.queryByText('Image')).toBeNull();
    rerender(<Header task={aTask({ environment: 'torch', image })} {...props} />);
    const shown = screen.getByText('torch (registry.example/torch:2@sha256:0123456789ab...)');
    expect(shown.title).toBe(image);
  });

  it('says what would let a task start only while it waits', () => {
    const props = { whatIf: [aChange()], now: NOW, busy: false, onAct: vi.fn(), onPriority: vi.fn() };
    render(<Header task={aTask({ message: 'Running on n-1.' })} {...props} />);
    expect(screen.queryByTestId('hai-task-what-if')).toBeNull();
  });
});

describe('the decision log', () => {
  function open(on: boolean): void {
    const details = screen.getByTestId<HTMLDetailsElement>('hai-decisions');
    details.open = on;
    fireEvent(details, new Event('toggle'));
  }

  it('is read when it is opened, and shows the latest first', () => {
    const onShow = vi.fn();
    const decisions = [aDecision(3, 'Needs 2 nodes.'), aDecision(9, 'Run 1 starts on n-1.', 'task.state')];
    const { container } = render(<DecisionLog decisions={decisions} now={NOW} onShow={onShow} />);
    expect(container.querySelectorAll('li')).toHaveLength(0);
    open(true);
    expect(onShow).toHaveBeenCalledExactlyOnceWith(true);
    const lines = [...container.querySelectorAll('li > span')].map(each => each.textContent);
    expect(lines).toEqual(['Run 1 starts on n-1.', 'Needs 2 nodes.']);
    open(false);
    expect(onShow).toHaveBeenLastCalledWith(false);
  });

  it('shows the rest of a long story when it is asked for', () => {
    const decisions = Array.from({ length: 150 }, (_, n) => aDecision(n + 1, `Line ${n + 1}.`));
    const { container } = render(<DecisionLog decisions={decisions} now={NOW} onShow={vi.fn()} />);
    open(true);
    expect(container.querySelectorAll('li')).toHaveLength(100);
    fireEvent.click(screen.getByText('Show earlier decisions'));
    expect(container.querySelectorAll('li')).toHaveLength(150);
    expect(screen.queryByText('Show earlier decisions')).toBeNull();
  });

  it('says so when there is nothing', () => {
    render(<DecisionLog decisions={[]} now={NOW} onShow={vi.fn()} />);
    open(true);
    expect(screen.getByText('Nothing was decided on it yet.')).toBeTruthy();
  });
});

describe('the timeline', () => {
  const task = aTask({
    submitted_at: '2026-11-21T04:00:00Z',
    runs: [
      aRun(),
      aRun({
        number: 2,
        started_at: '2026-11-21T04:40:00Z',
        ended_at: null,
        state: 'leaving',
        reason: null,
        because: 'a task of higher priority needed its nodes',
        left: null,
        notice: {
          kind: 'suspend',
          reason: 'preempted',
          message: '',
          beneficiary: 3,
          at: '2026-11-21T04:55:00Z',
          deadline: '2026-11-21T05:02:00Z',
          revision: 1,
          signal_at: null
        },
        checkpoint: { at: '2026-11-21T04:50:00Z', step: 1200, path: null, source: 'told' }
      })
    ]
  });

  it('is to scale from submission to now', () => {
    const { bars, start, end } = layOut(task, NOW);
    expect(end - start).toBe(3_600_000);
    expect(bars[0]).toMatchObject({ ending: 'saved', leaving: null, saved: null });
    expect(bars[0]!.left).toBeCloseTo(100 / 6);
    expect(bars[0]!.width).toBeCloseTo(100 / 3);
    expect(bars[1]).toMatchObject({ ending: 'leaving', leaving: { left: 75, width: 25 }, saved: 50 });
    expect(bars[1]!.left + bars[1]!.width).toBeCloseTo(100);
  });

  it('ends when the task has ended, and keeps the shortest run visible', () => {
    const ended = aTask({
      state: 'failed',
      ended_at: '2026-11-22T04:00:00Z',
      runs: [aRun({ started_at: '2026-11-22T03:59:59Z', ended_at: '2026-11-22T04:00:00Z', reason: 'failed' })]
    });
    const { bars, end } = layOut(ended, NOW + 1e9);
    expect(end).toBe(Date.parse('2026-11-22T04:00:00Z'));
    expect(bars[0]!.width).toBeGreaterThan(0.5);
    expect(bars[0]!.left + bars[0]!.width).toBeLessThanOrEqual(100);
  });

  it.each([1, 45, 3_600, 90_000, 40 * 86_400])('has a few round ticks over %d seconds', seconds => {
    const ticks = ticksOf(NOW, NOW + seconds * 1000, 7);
    expect(ticks.length).toBeLessThanOrEqual(8);
    expect(ticks.every(at => at >= NOW && at <= NOW + seconds * 1000)).toBe(true);
  });

  it('tells nodes and reason of a run that is pointed at', () => {
    render(<Timeline task={task} now={NOW} />);
    const bar = screen.getByTestId('hai-run-2');
    expect(bar.getAttribute('aria-label')).toMatch(
      /Run 2, High, 20 min on n-1, n-2; told to leave; a task of higher/
    );
    fireEvent.mouseEnter(bar);
    const tip = within(screen.getByRole('tooltip'));
    expect(tip.getByText('a task of higher priority needed its nodes')).toBeTruthy();
    expect(tip.getByText('n-1, n-2')).toBeTruthy();
    fireEvent.mouseLeave(bar);
    expect(screen.queryByRole('tooltip')).toBeNull();
  });

  it('tells the environment of each run', () => {
    const run = aRun({ haienv: aHaienv({ generation: 5 }) });
    render(<Timeline task={aTask({ runs: [run] })} now={NOW} />);
    expect(screen.getByTestId('hai-run-1').getAttribute('aria-label')).toMatch(
      /; with users\/ann\/vision@5\.$/
    );
  });
});

describe('the log view', () => {
  async function view(): Promise<{ model: LogModel; stream: FakeStream; search: ReturnType<typeof vi.fn> }> {
    const stream = new FakeStream();
    const search = vi.fn().mockResolvedValue({
      counts: [
        { run: 1, rank: 0, hits: 2 },
        { run: 2, rank: 1, hits: 1 }
      ],
      lines: [aLine('loss is nan')]
    });
    const model = new LogModel(41, {
      logTail: async () => ({
        lines: [aLine('run 1 starts', null), aLine('\u001b[1mloss is 2\u001b[0m'), aLine('NaN loss')],
        next_cursor: '1:3',
        prev_cursor: null,
        final: false
      }),
      logPage: async (_id, _rank, part) => ({
        lines: part.before === undefined ? [aLine('behind')] : [aLine('before'), aLine('loss is nan')],
        next_cursor: '1:5',
        prev_cursor: '1:2',
        final: false
      }),
      logExtents: async () => ({ items: [{ run: 1, start: 0, end: 99 }] }),
      logDownloadUrl: (id, rank, times) => `/log/${id}/${rank}/${times}`,
      logFollow: () => stream,
      logSearch: search
    });
    render(<LogView model={model} ranks={2} />);
    await act(async () => model.open());
    return { model, stream, search };
  }

  it('shows lines without terminal codes and adds new ones', async () => {
    const { model, stream } = await view();
    const log = screen.getByTestId('hai-log');
    expect(log.textContent).toBe('run 1 startsloss is 2NaN loss');
    expect(within(log).getByText('loss is 2').className).toBe('hai-mod-bold');
    await act(async () => {
      stream.send('line', aLine('one more'), '1:4');
      await new Promise(resolve => model.changed.connect(resolve));
    });
    expect(log.textContent).toContain('one more');
    model.dispose();
  });

  it('stops following when the reader scrolls up, and follows again at the end', async () => {
    const { model } = await view();
    const log = screen.getByTestId('hai-log');
    Object.defineProperties(log, { scrollHeight: { value: 1000 }, clientHeight: { value: 200 } });
    const scrollTo = (top: number): void => {
      log.scrollTop = top;
      fireEvent.scroll(log);
    };
    scrollTo(800);
    expect(log.dataset.following).toBe('true');
    scrollTo(400);
    expect(log.dataset.following).toBe('false');
    fireEvent.click(screen.getByTestId('hai-log-follow'));
    expect(log.dataset.following).toBe('true');
    expect(log.scrollTop).toBe(1000);
    scrollTo(300);
    scrollTo(800);
    expect(log.dataset.following).toBe('true');
    scrollTo(300);
    // Another rank's log is followed, too.
    const setHold = vi.spyOn(model, 'setHold');
    await act(async () => model.open(1));
    expect(setHold.mock.lastCall).toEqual([false]);
    model.dispose();
  });

  it('counts hits by rank, marks them, and goes to a rank', async () => {
    const { model, search } = await view();
    fireEvent.change(screen.getByTestId('hai-log-search'), { target: { value: 'NAN' } });
    await act(async () => void fireEvent.submit(screen.getByRole('search')));
    expect(search).toHaveBeenCalledExactlyOnceWith(41, 'NAN');
    const hits = within(screen.getByTestId('hai-log-hits'));
    expect(screen.getByTestId('hai-log-hits').textContent).toContain('3 hits for “NAN” in 2 ranks, 2 runs');
    expect(hits.getByText('nan').tagName).toBe('MARK');
    expect(within(screen.getByTestId('hai-log')).getByText('NaN').tagName).toBe('MARK');
    await act(async () => void fireEvent.click(hits.getByText('rank 1: 1')));
    expect(model.rank).toBe(1);
    model.dispose();
  });

  it('goes to a hit with the lines around it, from hit to hit, and on by another search for the same', async () => {
    const { model } = await view();
    fireEvent.change(screen.getByTestId('hai-log-search'), { target: { value: 'nan' } });
    await act(async () => void fireEvent.submit(screen.getByRole('search')));
    const log = screen.getByTestId('hai-log');
    const jumps = vi.spyOn(model, 'jump');
    for (const go of [
      () => fireEvent.click(screen.getByRole('button', { name: 'The next hit' })),
      () => fireEvent.click(screen.getByRole('button', { name: 'The hit before' })),
      () =>
        fireEvent.click(within(screen.getByTestId('hai-log-hits')).getByTitle('Show the lines around it')),
      () => fireEvent.submit(screen.getByRole('search'))
    ]) {
      await act(async () => void go());
      expect(log.querySelector('[aria-current]')?.textContent).toBe('loss is nan');
    }
    expect(jumps).toHaveBeenCalledTimes(4);
    expect(log.textContent).toBe('beforeloss is nanbehind');
    expect(log.dataset.following).toBe('false');
    expect(screen.getByTestId('hai-log-hit').textContent).toBe('1 of 1');
    model.dispose();
  });

  it('downloads the log of the rank, with times if they are shown', async () => {
    const { model } = await view();
    const link = screen.getByRole('link', { name: 'Download the whole log of rank 0' });
    expect(link.getAttribute('href')).toBe('/log/41/0/false');
    fireEvent.click(screen.getByRole('checkbox', { name: 'Times' }));
    expect(link.getAttribute('href')).toBe('/log/41/0/true');
    expect(screen.getAllByTitle('2026-11-21 04:10:00.000 UTC')).toHaveLength(3);
    model.dispose();
  });

  it('is enlarged, and made smaller by Escape', async () => {
    const { model } = await view();
    const section = screen.getByRole('region', { name: 'Log' });
    fireEvent.click(screen.getByRole('button', { name: 'Enlarge' }));
    expect(section.className).toContain('hai-mod-large');
    fireEvent.keyDown(screen.getByTestId('hai-log'), { key: 'Escape' });
    expect(section.className).not.toContain('hai-mod-large');
    model.dispose();
  });
});
