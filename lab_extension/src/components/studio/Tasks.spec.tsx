import { readFileSync } from 'node:fs';
import { act, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { Signal } from '@lumino/signaling';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ClusterModel } from '../../models/cluster';
import { Feed } from '../../models/feed';
import { takeMessages, type Messages } from '../../page/languages';
import { takeCatalogue } from '../../text/translate';
import { aHost, aTask, aWaitingTask, FakeStream, pagesOf } from '../../testing/fakes';
import { HostProvider, type IHost } from '../host';
import { StudioProvider } from './context';
import { routeOf, RouterProvider, type IRouter, type Query, type Target } from './router';
import { TasksPage } from './Tasks';

/** A router that keeps the place in memory. */
class MemoryRouter implements IRouter {
  readonly changed = new Signal<this, void>(this);
  route;

  constructor(query: Query) {
    this.route = routeOf({ page: 'tasks', query });
  }

  href(target: Target): string {
    return `/${target.page}/${target.id ?? ''}`;
  }

  go(target: Target): void {
    this.route = routeOf(target);
    this.changed.emit();
  }
}

const TASKS = [
  aTask({ id: 1, name: 'vit', tags: ['nightly'] }),
  aWaitingTask(2, 3, { name: '<img src=x onerror=alert(1)>' }),
  aTask({
    id: 3,
    name: 'old',
    state: 'failed',
    ended_at: '2026-11-21T05:00:00Z',
    message: 'Rank 0 exited with 1.'
  })
];

async function page(
  query: Query = {},
  given: { host?: Partial<IHost>; many?: number } = {}
): Promise<{ router: MemoryRouter; api: { act: ReturnType<typeof vi.fn> }; host: IHost }> {
  const all =
    given.many === undefined
      ? TASKS
      : Array.from({ length: given.many }, (_, n) => aTask({ id: n + 1, name: `t${n}` }));
  const api = {
    tasks: pagesOf(all),
    task: async (id: number) => all.find(task => task.id === id)!,
    act: vi.fn(async (id: number) => aTask({ id, state: 'stopping' }))
  };
  const feed = new Feed({ events: () => new FakeStream() });
  const cluster = new ClusterModel({ cluster: vi.fn(), me: vi.fn() }, feed);
  const router = new MemoryRouter(query);
  const host = aHost(given.host);
  render(
    <HostProvider value={host}>
      <RouterProvider value={router}>
        <StudioProvider value={{ api: api as never, feed, cluster }}>
          <TasksPage />
        </StudioProvider>
      </RouterProvider>
    </HostProvider>
  );
  await waitFor(() => expect(screen.getByTestId(/hai-tasks-table|hai-compare/)).toBeTruthy());
  return { router, api, host };
}

describe('the table of tasks', () => {
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

  it('shows names as text, tags, and why a task waits or has ended', async () => {
    await page();
    const rows = screen.getAllByRole('row').map(row => row.textContent ?? '');
    expect(rows.find(row => row.includes('vit'))).toContain('nightly');
    expect(rows.find(row => row.includes('<img'))).toContain('3rd in line. It needs 2 nodes and 1 is free.');
    expect(rows.find(row => row.includes('old'))).toContain('Rank 0 exited with 1.');
  });

  it('speaks Chinese when that is chosen, and leaves names as they are', async () => {
    const path = 'hai_lab/locale/zh_CN/LC_MESSAGES/hai_lab.json';
    takeMessages(JSON.parse(readFileSync(path, 'utf8')) as Messages, 'zh-CN');
    try {
      await page();
      const rows = screen.getAllByRole('row').map(row => row.textContent ?? '');
      expect(rows[0]).toContain('名称状态优先级组节点');
      expect(rows.find(row => row.includes('vit'))).toContain('运行中');
      expect(rows.find(row => row.includes('<img'))).toContain('排在第 3 位。');
      expect(screen.getByLabelText('状态')).toBeTruthy();
    } finally {
      takeCatalogue(null, 'en');
    }
  });

  it('has few rows in the document, whatever their number, and says how many there are', async () => {
    await page({}, { many: 3_000 });
    const table = screen.getByTestId('hai-tasks-table');
    await waitFor(() => expect(table.getAttribute('aria-rowcount')).toBe('3001'));
    expect(within(table).getAllByRole('row').length).toBeLessThan(100);
    expect(screen.getByText('3,000 of 3,000 tasks')).toBeTruthy();
  });

  it('keeps filters and order in the address', async () => {
    const { router } = await page({ state: 'live' });
    expect(screen.queryByText('old')).toBeNull();
    fireEvent.change(screen.getByLabelText('State'), { target: { value: 'failed' } });
    await screen.findByText('old');
    expect(router.route.query).toEqual({ state: 'failed' });
    fireEvent.click(screen.getByTitle('Sort by Name'));
    expect(router.route.query).toEqual({ state: 'failed', sort: 'name' });
    fireEvent.change(screen.getByLabelText('State'), { target: { value: '' } });
    expect(router.route.query).toEqual({ sort: 'name' });
  });

  it('asks before it stops several, and stops none when the answer is no', async () => {
    const { api, host } = await page({ state: 'live' }, { host: { confirm: vi.fn(async () => false) } });
    fireEvent.click(screen.getByLabelText('Choose all'));
    fireEvent.click(screen.getByText('Stop 2'));
    await waitFor(() => expect(host.confirm).toHaveBeenCalledOnce());
    expect(api.act).not.toHaveBeenCalled();
  });

  it('stops those that are chosen, and says so', async () => {
    const { api, host } = await page({ state: 'live' });
    fireEvent.click(screen.getByLabelText('Choose vit (#1)'));
    fireEvent.click(screen.getByText('Stop 1'));
    await waitFor(() => expect(host.notify).toHaveBeenCalledExactlyOnceWith('info', 'Stopping 1 task.'));
    expect(api.act.mock.calls).toEqual([[1, 'stop']]);
  });

  it('compares two, and says in words what differs', async () => {
    const { router } = await page();
    fireEvent.click(screen.getByLabelText('Choose vit (#1)'));
    fireEvent.click(screen.getByLabelText('Choose old (#3)'));
    await act(async () => void fireEvent.click(screen.getByText('Compare')));
    expect(router.route.query).toEqual({ compare: '1,3' });
    const row = await screen.findByRole('row', { name: /^Name/ });
    expect(row.textContent).toBe('Namevitolddiffers');
    expect(screen.getByRole('row', { name: /^User/ }).textContent).toBe('Useralicealice');
  });
});
