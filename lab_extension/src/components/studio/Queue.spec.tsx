import { act, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { IQueueTask } from '../../api/types';
import { ClusterModel } from '../../models/cluster';
import { Feed } from '../../models/feed';
import { aHost } from '../../testing/fakes';
import { aMe, MemoryRouter } from '../../testing/overview';
import { aQueueTask, FakeStream, queueOf } from '../../testing/queue';
import { HostProvider } from '../host';
import { StudioProvider } from './context';
import { QueueCard } from './Queue';
import { RouterProvider } from './router';

async function page(given: IQueueTask[]): Promise<{
  queue: ReturnType<typeof vi.fn>;
  reorder: ReturnType<typeof vi.fn>;
  router: MemoryRouter;
  host: ReturnType<typeof aHost>;
}> {
  const tasks = [...given];
  const queue = vi.fn((query: Parameters<ReturnType<typeof queueOf>>[0]) => queueOf(tasks)(query));
  const reorder = vi.fn(async (id: number, place: { before?: number; after?: number }) => {
    const [task] = tasks.splice(
      tasks.findIndex(each => each.task_id === id),
      1
    );
    const at = tasks.findIndex(each => each.task_id === (place.before ?? place.after));
    tasks.splice(place.before === undefined ? at + 1 : at, 0, task!);
    return {} as never;
  });
  const feed = new Feed({ events: () => new FakeStream() });
  const cluster = new ClusterModel(
    { cluster: async () => ({ paused: false, groups: [], standstill: null }), me: async () => aMe() },
    feed
  );
  onTestFinished(() => {
    cluster.dispose();
    feed.dispose();
  });
  await cluster.start();
  await waitFor(() => expect(cluster.me).not.toBeNull());
  const router = new MemoryRouter('overview');
  const host = aHost();
  render(
    <HostProvider value={host}>
      <RouterProvider value={router}>
        <StudioProvider value={{ api: { operations: { queue, reorder } } as never, feed, cluster }}>
          <QueueCard />
        </StudioProvider>
      </RouterProvider>
    </HostProvider>
  );
  await screen.findByText('training');
  return { queue, reorder, router, host };
}

function order(): string[] {
  return screen
    .getAllByRole('row')
    .slice(1)
    .map(row => within(row).getByRole('rowheader').textContent ?? '');
}

describe('the queue', () => {
  it('shows places, reasons and times, and no names of others', async () => {
    await page([
      aQueueTask(1, {
        short: {
          id: 'capacity',
          data: { nodes: 2, gpus: null, group: 'training' },
          until: '2099-11-21T14:20:00Z',
          words: 'waits for 2 nodes of training',
          text: 'waits for 2 nodes of training, about 2099-11-21 14:20 UTC'
        }
      }),
      aQueueTask(2, { user: 'bob', name: '' }),
      aQueueTask(3, { position: null })
    ]);
    const rows = screen.getAllByRole('row').map(row => row.textContent ?? '');
    expect(rows[1]).toMatch(/waits for 2 nodes of training21 Nov|waits for 2 nodes of trainingNov 21/);
    expect(rows[2]).toMatch(/^2#2bob/);
    expect(rows[3]).toMatch(/^–train-3/);
  });

  it('moves an own task by a button past the next own one, and the button keeps the focus', async () => {
    const { reorder } = await page([
      aQueueTask(1),
      aQueueTask(2, { user: 'bob', name: '' }),
      aQueueTask(3),
      aQueueTask(4)
    ]);
    const button = screen.getByLabelText('Move train-4 before train-3');
    button.focus();
    await act(async () => void fireEvent.click(button));
    await waitFor(() => expect(order()).toEqual(['train-1 #1', '#2', 'train-4 #4', 'train-3 #3']));
    expect(reorder).toHaveBeenCalledExactlyOnceWith(4, { before: 3 });
    await waitFor(() =>
      expect(document.activeElement?.getAttribute('aria-label')).toBe('Move train-4 before train-1')
    );
    expect(screen.getByText('train-4 is now before task 3.')).toBeTruthy();
  });

  it('offers no move for tasks of others, and none past the ends', async () => {
    await page([aQueueTask(1), aQueueTask(2), aQueueTask(3, { user: 'bob', name: '' })]);
    const first = screen.getByLabelText('train-1 is the first of your tasks of its priority');
    expect((first as HTMLButtonElement).disabled).toBe(true);
    expect(screen.queryByLabelText(/Move .* #3/)).toBeNull();
    expect(screen.getAllByRole('row')[3]!.getAttribute('draggable')).toBeNull();
  });

  it('moves an own task by dragging it onto another one', async () => {
    const { reorder } = await page([aQueueTask(1), aQueueTask(2), aQueueTask(3)]);
    const [, first, , third] = screen.getAllByRole('row');
    const dataTransfer = { setData: vi.fn(), effectAllowed: '' };
    fireEvent.dragStart(first!, { dataTransfer });
    expect(fireEvent.dragOver(third!, { dataTransfer })).toBe(false);
    await act(async () => void fireEvent.drop(third!, { dataTransfer }));
    expect(reorder).toHaveBeenCalledExactlyOnceWith(1, { after: 3 });
    await waitFor(() => expect(order()).toEqual(['train-2 #2', 'train-3 #3', 'train-1 #1']));
  });

  it('says before a click which of the own tasks keep their places', async () => {
    await page([aQueueTask(1), aQueueTask(2, { asked: 'AUTO' })]);
    expect(screen.queryByRole('button', { name: /^Move train/ })).toBeNull();
    expect(screen.getByText(/Those that ask for Auto and those that ask for a level keep/)).toBeTruthy();
  });

  it('says what the service refuses', async () => {
    const { reorder, host } = await page([aQueueTask(1), aQueueTask(2)]);
    reorder.mockRejectedValueOnce(new Error('before: name another waiting task of the same user.'));
    await act(async () => void fireEvent.click(screen.getByLabelText('Move train-2 before train-1')));
    expect(host.notify).toHaveBeenCalledWith('error', expect.stringContaining('name another waiting task'));
    expect(order()).toEqual(['train-1 #1', 'train-2 #2']);
  });

  it('is read further, and can be limited to the own tasks in the address', async () => {
    const { queue, router } = await page(Array.from({ length: 30 }, (_, n) => aQueueTask(n + 1)));
    expect(order()).toHaveLength(20);
    fireEvent.click(screen.getByText('Show more (10 left)'));
    await waitFor(() => expect(order()).toHaveLength(30));
    fireEvent.click(screen.getByText('My tasks'));
    expect(router.route.query).toEqual({ queue: 'mine' });
    await waitFor(() => expect(queue.mock.calls.at(-1)![0]).toMatchObject({ mine: true }));
  });
});
