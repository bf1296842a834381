import { render, screen, waitFor } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { ClusterModel } from '../../models/cluster';
import { Feed } from '../../models/feed';
import { aHost, FakeStream } from '../../testing/fakes';
import { aMe, anOverview, MemoryRouter } from '../../testing/overview';
import { queueOf } from '../../testing/queue';
import { HostProvider } from '../host';
import { StudioProvider } from './context';
import { OverviewPage } from './Overview';
import { RouterProvider } from './router';

function show(found: ReturnType<typeof anOverview>): void {
  const overview = async (): Promise<typeof found> => found;
  const api = {
    operations: { overview, queue: queueOf([]) },
    use: async () => ({ items: [], left_out: 0 }),
    nodesReport: async () => ({ by: 'day', since: '', until: '', rows: [], notes: [] })
  };
  const feed = new Feed({ events: () => new FakeStream() });
  const cluster = new ClusterModel({ cluster: vi.fn(), me: async () => aMe() }, feed);
  render(
    <HostProvider value={aHost()}>
      <RouterProvider value={new MemoryRouter('overview')}>
        <StudioProvider value={{ api: api as never, feed, cluster }}>
          <OverviewPage />
        </StudioProvider>
      </RouterProvider>
    </HostProvider>
  );
}

describe('the overview', () => {
  it('says what is held, useful and idle, who waits at which priority, and what came and went', async () => {
    // jsdom draws no charts: a day of which nothing was recorded has none.
    show(anOverview({ hours: [] }));
    const figures = await screen.findByTestId('hai-figures');
    const words = [...figures.querySelectorAll('.hai-Figure')].map(each => each.textContent);
    expect(words).toContain('Nodes held50 % 2 of 4, 2 free');
    expect(words).toContain('Useful now25 % 1 of them compute');
    expect(words).toContain('Idle now25 % held, and their GPUs do nothing: 1');
    expect(words).toContain('Created, 3 h5 tasks');
    expect(words).toContain('Ended, 3 h4 3 succeeded, 1 failed, 0 stopped');
    const levels = screen.getByRole('region', { name: 'Tasks by priority' });
    expect(levels.textContent).toContain('High1 (2)3 (6)');
    // One group: its card does not say the same again.
    expect(screen.getAllByText('High')).toHaveLength(1);
    await waitFor(() => expect(screen.getByText('No task waits.')).toBeTruthy());
  });

  it('says so where no task is at any priority', async () => {
    show(anOverview({ hours: [], levels: [] }));
    const levels = await screen.findByRole('region', { name: 'Tasks by priority' });
    expect(levels.textContent).toBe('Tasks by priorityNo task runs or waits.');
  });
});
