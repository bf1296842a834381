import { act, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { INode } from '../../api/types';
import { ClusterModel } from '../../models/cluster';
import { Feed } from '../../models/feed';
import { aHost, FakeStream } from '../../testing/fakes';
import { aNode, aNodeTask, aPreview } from '../../testing/nodes';
import { aMe, MemoryRouter } from '../../testing/overview';
import { HostProvider, type IHost } from '../host';
import { StudioProvider } from './context';
import { NodesPage } from './Nodes';
import { RouterProvider, type Query } from './router';

const NODES = [
  aNode('n-1', { state: 'held', tasks: [aNodeTask(41)], gpus_free: 0 }),
  aNode('n-2', { state: 'down', ready: false, reason: 'It does not answer.', since: '2026-11-21T03:00:00Z' }),
  aNode('n-3', { state: 'cordoned', mark: 'cordoned', by: 'ann' })
];

async function page(
  given: { admin?: boolean; query?: Query; nodes?: INode[]; host?: Partial<IHost> } = {}
): Promise<{
  router: MemoryRouter;
  host: IHost;
  preview: ReturnType<typeof vi.fn>;
  mark: ReturnType<typeof vi.fn>;
}> {
  const preview = vi.fn(async (nodes: string[], mark: 'draining' | 'cordoned') => aPreview({ nodes, mark }));
  const mark = vi.fn(async (name: string) => aNode(name, { mark: 'draining', state: 'draining' }));
  const api = { nodes: async () => ({ items: given.nodes ?? NODES }), operations: { preview, mark } };
  const feed = new Feed({ events: () => new FakeStream() });
  const cluster = new ClusterModel(
    {
      cluster: async () => ({ paused: false, groups: [], standstill: null }),
      me: async () => aMe({ admin: given.admin ?? false })
    },
    feed
  );
  onTestFinished(() => {
    cluster.dispose();
    feed.dispose();
  });
  await cluster.start();
  await waitFor(() => expect(cluster.me).not.toBeNull());
  const router = new MemoryRouter('nodes', given.query);
  const host = aHost(given.host);
  render(
    <HostProvider value={host}>
      <RouterProvider value={router}>
        <StudioProvider value={{ api: api as never, feed, cluster }}>
          <NodesPage />
        </StudioProvider>
      </RouterProvider>
    </HostProvider>
  );
  await screen.findAllByRole('listbox');
  return { router, host, preview, mark };
}

describe('the page of nodes', () => {
  beforeAll(() => {
    // jsdom has none.
    vi.stubGlobal(
      'ResizeObserver',
      class {
        observe(): void {}
        disconnect(): void {}
      }
    );
  });
  afterAll(() => void vi.unstubAllGlobals());

  it('tells of one node why, since when, and who runs there', async () => {
    await page();
    fireEvent.click(screen.getByLabelText('n-2: down'));
    const detail = screen.getByTestId('hai-node');
    expect(detail.textContent).toContain('ReasonIt does not answer.');
    expect(detail.textContent).toContain('No task holds it.');
    fireEvent.click(screen.getByLabelText('n-1: held, task 41 of alice'));
    expect(screen.getByTestId('hai-node').textContent).toContain('train-41 #41');
    expect(screen.getByTestId('hai-node').textContent).not.toContain('Network');
  });

  it('says where RDMA falls back to TCP, and who can do what', async () => {
    const network = 'RDMA falls back to TCP on n-1: no port of the RDMA devices there is active.';
    await page({ nodes: [aNode('n-1', { network })] });
    fireEvent.click(screen.getByLabelText('n-1: free'));
    expect(screen.getByTestId('hai-node').textContent).toContain(`Network${network}`);
  });

  it('is filtered by state in the address, and forgets what it hides', async () => {
    const { router } = await page({ admin: true });
    fireEvent.click(screen.getByLabelText('n-1: held, task 41 of alice'));
    fireEvent.click(screen.getByRole('button', { name: 'cordoned 1' }));
    expect(router.route.query).toEqual({ state: 'cordoned' });
    await waitFor(() => expect(screen.getAllByRole('option')).toHaveLength(1));
    expect(screen.queryByRole('toolbar', { name: 'Chosen nodes' })).toBeNull();
    fireEvent.click(screen.getByRole('button', { name: 'cordoned 1' }));
    expect(router.route.query).toEqual({});
  });

  it('offers users no marks', async () => {
    await page();
    fireEvent.click(screen.getByLabelText('n-2: down'));
    expect(screen.queryByText('Drain 1')).toBeNull();
  });

  it('drains what an admin has chosen, after what that would do was shown', async () => {
    const { host, preview, mark } = await page({ admin: true });
    fireEvent.click(screen.getByLabelText('n-1: held, task 41 of alice'));
    fireEvent.click(screen.getByLabelText('n-2: down'), { ctrlKey: true });
    await act(async () => void fireEvent.click(screen.getByText('Drain 2')));
    expect(preview).toHaveBeenCalledExactlyOnceWith(['n-1', 'n-2'], 'draining');
    expect(host.confirm).toHaveBeenCalledExactlyOnceWith(
      expect.objectContaining({ title: 'Drain 2 nodes?' })
    );
    await waitFor(() => expect(host.notify).toHaveBeenCalledWith('info', 'Draining 2 nodes.'));
    expect(mark.mock.calls).toEqual([
      ['n-1', 'drain'],
      ['n-2', 'drain']
    ]);
  });

  it('marks nothing when the answer is no, or when what it would do cannot be computed', async () => {
    const confirm = vi.fn(async () => false);
    const { host, preview, mark } = await page({ admin: true, host: { confirm } });
    fireEvent.click(screen.getByLabelText('n-2: down'));
    await act(async () => void fireEvent.click(screen.getByText('Drain 1')));
    preview.mockRejectedValueOnce(new Error('The planner has no plan yet.'));
    await act(async () => void fireEvent.click(screen.getByText('Cordon 1')));
    expect(host.notify).toHaveBeenCalledWith('error', expect.stringContaining('no plan yet'));
    expect(mark).not.toHaveBeenCalled();
  });

  it('takes a mark away without a question', async () => {
    const { host, mark } = await page({ admin: true });
    fireEvent.click(screen.getByLabelText('n-3: cordoned'));
    await act(async () => void fireEvent.click(screen.getByText('Uncordon 1')));
    expect(mark.mock.calls).toEqual([['n-3', 'uncordon']]);
    expect(host.confirm).not.toHaveBeenCalled();
  });

  it('draws 1,500 nodes, and one that is chosen without the others', async () => {
    const nodes = Array.from({ length: 1_500 }, (_, n) => aNode(`n-${n}`, { leaf: `leaf-${n % 30}` }));
    await page({ nodes });
    expect(screen.getByText('1,500 of 1,500 nodes')).toBeTruthy();
    const cells = document.querySelectorAll('.hai-Map-leaf .hai-Map-node');
    expect(cells).toHaveLength(1_500);
    fireEvent.click(cells[700]!);
    expect(document.querySelectorAll('.hai-Map-chosen')).toHaveLength(1);
  });
});
