import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { countsOf, StatusItem } from './StatusItem';

describe('the line in the status bar', () => {
  afterEach(cleanup);

  it('counts what holds nodes and what waits, and not what has ended', () => {
    const states = [
      'running',
      'starting',
      'suspending',
      'queued',
      'suspended',
      'failed',
      'succeeded'
    ] as const;
    expect(countsOf(states.map(state => ({ state })))).toEqual({ running: 3, waiting: 2 });
  });

  it('says nothing before the tasks are known', () => {
    render(<StatusItem tasks={[]} ready={false} onOpen={vi.fn()} />);
    expect(screen.queryByRole('button')).toBeNull();
  });

  it('opens the tasks', () => {
    const open = vi.fn();
    render(<StatusItem tasks={[{ state: 'running' }]} ready onOpen={open} />);
    fireEvent.click(screen.getByRole('button', { name: 'HAI: 1 running, 0 waiting' }));
    expect(open).toHaveBeenCalledOnce();
  });
});
