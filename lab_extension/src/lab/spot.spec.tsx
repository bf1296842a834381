import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { clock, Countdown } from '../components/spot/Countdown';
import { TimeLeft } from '../components/spot/TimeLeft';
import { LOOK_EVERY, SpotModel, type ISpotNotice, type ISpotStatus } from '../models/spot';
import { saveAll, sentencesOf } from './spot';

const NOW = Date.parse('2026-11-21T12:00:00Z');

function aNotice(given: Partial<ISpotNotice> = {}): ISpotNotice {
  return {
    kind: 'suspend',
    reason: 'preempted',
    message: 'a task of higher priority needs its nodes',
    at: '2026-11-21T12:00:00Z',
    deadline: '2026-11-21T12:05:00Z',
    ...given
  };
}

function aStatus(given: Partial<ISpotStatus> = {}): ISpotStatus {
  return {
    spot: true,
    task_id: 41,
    notice: null,
    leaving: false,
    now: new Date(Date.now()).toISOString(),
    ...given
  };
}

describe('a spot container in the Lab', () => {
  let status: () => Promise<ISpotStatus>;
  let model: SpotModel;
  const api = { status: vi.fn(() => status()), leave: vi.fn(async () => aStatus({ leaving: true })) };

  beforeEach(() => {
    vi.useFakeTimers({ now: NOW });
    api.status.mockClear();
    api.leave.mockReset().mockImplementation(async () => aStatus({ notice: aNotice(), leaving: true }));
    status = async () => aStatus();
    model = new SpotModel(api);
  });

  afterEach(() => {
    cleanup();
    model.dispose();
    vi.useRealTimers();
  });

  const look = (times = 1): Promise<void> =>
    act(async () => {
      await vi.advanceTimersByTimeAsync(times * LOOK_EVERY + 50);
    });

  it('is not looked at again where the server is none', async () => {
    status = async () => aStatus({ spot: false });
    await model.start();
    await look(10);
    expect(api.status).toHaveBeenCalledTimes(1);
  });

  it('tells each notice once, extensions of it not again', async () => {
    const told: string[] = [];
    model.noticed.connect((_, notice) => told.push(notice.at));
    await model.start();
    await look();
    expect(told).toEqual([]);
    status = async () => aStatus({ notice: aNotice() });
    await look(2);
    status = async () => aStatus({ notice: aNotice({ deadline: '2026-11-21T12:09:00Z' }) });
    await look(2);
    expect(told).toEqual(['2026-11-21T12:00:00Z']);
  });

  it('counts by the clock of the server', async () => {
    // The browser's clock is a minute late.
    status = async () => aStatus({ notice: aNotice(), now: new Date(Date.now() + 60_000).toISOString() });
    await model.start();
    await look();
    const after = (Date.now() - NOW) / 1_000;
    expect(model.secondsLeft(Date.now())).toBeCloseTo(240 - after, 0);
  });

  it('shows nothing until there is a notice, then counts down', async () => {
    render(<Countdown model={model} onLeave={() => model.leave()} />);
    await act(() => model.start());
    await look();
    expect(screen.queryByRole('timer')).toBeNull();
    status = async () => aStatus({ notice: aNotice() });
    await look();
    const first = screen.getByRole('timer').textContent;
    expect(first).toMatch(/^4:5\d$/);
    await look(4);
    expect(screen.getByRole('timer').textContent).toMatch(/^4:4\d$/);
    expect(screen.getByText(/This node is needed/)).toBeTruthy();
  });

  it('is named in the status bar, with the time that is left after a notice', async () => {
    status = async () => aStatus({ spot: false });
    const { container } = render(<TimeLeft model={model} />);
    await act(() => model.start());
    await look();
    expect(container.textContent).toBe('');
    model.dispose();
    cleanup();

    status = async () => aStatus();
    model = new SpotModel(api);
    render(<TimeLeft model={model} />);
    await act(() => model.start());
    await look();
    expect(screen.getByText('Spot container')).toBeTruthy();
    status = async () => aStatus({ notice: aNotice() });
    await look();
    expect(screen.getByText(/^Spot container: 4:5\d left$/)).toBeTruthy();
  });

  it('leaves when its user says so, once', async () => {
    status = async () => aStatus({ notice: aNotice() });
    render(<Countdown model={model} onLeave={() => model.leave()} />);
    await act(() => model.start());
    await look();
    const button = screen.getByRole<HTMLButtonElement>('button', { name: 'I have saved, leave now' });
    fireEvent.click(button);
    await look(0);
    expect(api.leave).toHaveBeenCalledTimes(1);
    expect(screen.getByRole<HTMLButtonElement>('button').disabled).toBe(true);
  });

  it('says why it could not leave, and lets its user try again', async () => {
    api.leave.mockRejectedValueOnce(new Error('The launcher cannot be told.'));
    status = async () => aStatus({ notice: aNotice() });
    render(<Countdown model={model} onLeave={() => model.leave()} />);
    await act(() => model.start());
    await look();
    fireEvent.click(screen.getByRole('button'));
    await look(0);
    expect(screen.getByText('The launcher cannot be told.')).toBeTruthy();
    expect(screen.getByRole<HTMLButtonElement>('button').disabled).toBe(false);
  });

  it('says that the node is given back, and nothing more once the server is back', async () => {
    render(<Countdown model={model} onLeave={() => model.leave()} />);
    status = async () => aStatus({ notice: aNotice() });
    await act(() => model.start());
    await look();
    status = () => Promise.reject(new Error('no answer'));
    await look();
    expect(screen.getByRole('alert').textContent).toContain('starts again when its task has its next turn');
    status = async () => aStatus();
    await look();
    expect(screen.queryByRole('alert')).toBeNull();
  });

  it('keeps quiet about an interruption that no notice has announced', async () => {
    render(<Countdown model={model} onLeave={() => model.leave()} />);
    await act(() => model.start());
    status = () => Promise.reject(new Error('no answer'));
    await look(2);
    expect(screen.queryByRole('alert')).toBeNull();
  });
});

describe('the words of a notice', () => {
  it.each([
    [299.2, '5:00'],
    [61, '1:01'],
    [9.5, '0:10'],
    [0, '0:00']
  ])('%d seconds are %s', (seconds, text) => {
    expect(clock(seconds)).toBe(text);
  });

  it('say whether documents are saved and whether the server comes back', () => {
    const suspended = sentencesOf(aNotice(), true);
    expect(suspended[0]).toContain('a task of higher priority needs its nodes');
    expect(suspended[1]).toContain('Open documents have been saved');
    expect(suspended[1]).toContain('comes back by itself at its next turn');
    const stopped = sentencesOf(aNotice({ kind: 'stop' }), false);
    expect(stopped[1]).toContain('Save your documents now');
    expect(stopped[1]).toContain('does not come back');
    for (const sentence of [...suspended, ...stopped]) {
      expect(sentence.length, 'Lab cuts what is longer').toBeLessThanOrEqual(140);
    }
  });
});

describe('saving everything', () => {
  it('uses the command of the Lab, and says whether it worked', async () => {
    const execute = vi.fn(async () => undefined);
    expect(await saveAll({ hasCommand: () => false, execute })).toBe(false);
    expect(execute).not.toHaveBeenCalled();
    const commands = { hasCommand: (id: string) => id === 'docmanager:save-all', execute };
    expect(await saveAll(commands)).toBe(true);
    expect(execute).toHaveBeenCalledWith('docmanager:save-all');
    execute.mockRejectedValueOnce(new Error('disk full'));
    expect(await saveAll(commands)).toBe(false);
  });
});
