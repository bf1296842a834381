import { act, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { aHost } from '../../testing/fakes';
import { HostProvider, type IBoard, type IHost } from '../host';
import { BoardButton } from './BoardButton';

const BOARD: IBoard = { folder: '/shared/41-logs/tensorboard', content: true, advice: null };

describe('the button of TensorBoard', () => {
  const boards = { look: vi.fn(async () => BOARD), open: vi.fn(async () => undefined) };

  beforeEach(() => {
    vi.useFakeTimers();
    boards.look.mockReset().mockResolvedValue(BOARD);
    boards.open.mockReset().mockResolvedValue(undefined);
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  const pass = (ms: number): Promise<unknown> => act(() => vi.advanceTimersByTimeAsync(ms));
  const shown = async (given: Partial<IHost> = { boards }): Promise<IHost> => {
    const host = aHost(given);
    render(
      <HostProvider value={host}>
        <BoardButton task={41} running={true} />
      </HostProvider>
    );
    await pass(10);
    return host;
  };

  it('opens the folder of the task', async () => {
    await shown();
    const button = screen.getByTestId('hai-tensorboard');
    expect(button.title).toBe('Open /shared/41-logs/tensorboard in TensorBoard');
    fireEvent.click(button);
    expect(button.textContent).toBe('TensorBoard starts…');
    await pass(10);
    expect(boards.open).toHaveBeenCalledExactlyOnceWith(41);
    expect(button.textContent).toBe('TensorBoard');
  });

  it('comes with the first file of a running task, and nobody looks any more then', async () => {
    boards.look.mockResolvedValue({ ...BOARD, content: false });
    await shown();
    expect(screen.queryByTestId('hai-tensorboard')).toBeNull();
    boards.look.mockResolvedValue(BOARD);
    await pass(31_000);
    expect(screen.getByTestId('hai-tensorboard')).toBeTruthy();
    await pass(120_000);
    expect(boards.look).toHaveBeenCalledTimes(2);
  });

  it('says what is missing', async () => {
    const advice = 'tensorboard is not installed where this JupyterLab runs.';
    boards.look.mockResolvedValue({ ...BOARD, advice });
    const host = await shown();
    fireEvent.click(screen.getByTestId('hai-tensorboard'));
    expect(boards.open).not.toHaveBeenCalled();
    expect(host.notify).toHaveBeenCalledExactlyOnceWith('warning', advice);
  });

  it('says why it does not start', async () => {
    boards.open.mockRejectedValue(new Error('TensorBoard does not start: no plugin can be loaded'));
    const host = await shown();
    fireEvent.click(screen.getByTestId('hai-tensorboard'));
    await pass(10);
    expect(host.notify).toHaveBeenCalledExactlyOnceWith(
      'error',
      'TensorBoard does not start: no plugin can be loaded'
    );
  });

  it('is not there where nothing can start it, or be found out', async () => {
    await shown({});
    boards.look.mockRejectedValue(new Error('HAI is restarting'));
    await shown();
    expect(screen.queryByTestId('hai-tensorboard')).toBeNull();
  });
});
