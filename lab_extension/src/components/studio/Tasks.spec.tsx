import { readFileSync } from 'node:fs';
import { act, cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterAll, beforeAll, describe, expect, it, vi, type Mock } from 'vitest';
import type { IApi } from '../../api/client';
import type { IMe } from '../../api/types';
import { ClusterModel } from '../../models/cluster';
import { Feed } from '../../models/feed';
import { takeMessages, type Messages } from '../../page/languages';
import { takeCatalogue } from '../../text/translate';
import { aHost, aTask, aWaitingTask, FakeStream } from '../../testing/fakes';
import { aMe, MemoryRouter } from '../../testing/overview';
import { taskPagesOf } from '../../testing/taskPages';
import { HostProvider, type IHost } from '../host';
import { StudioProvider } from './context';
import { RouterProvider, type Query } from './router';
import { TasksPage } from './Tasks';

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

interface IFakes {
  setTags: ReturnType<typeof vi.fn>;
  setStar: ReturnType<typeof vi.fn>;
}

async function page(
  query: Query = {},
  given: { host?: Partial<IHost>; many?: number; tags?: string[]; admin?: boolean } = {}
): Promise<{
  router: MemoryRouter;
  actions: ReturnType<typeof vi.fn>;
  host: IHost;
  operations: IFakes;
  hears: Mock<IApi['events']>;
}> {
  const all =
    given.many === undefined
      ? TASKS
      : Array.from({ length: given.many }, (_, n) =>
          aTask({ id: n + 1, name: `t${n}`, tags: given.tags ?? [] })
        );
  const actions = vi.fn(async (_: string, ids: readonly number[]) => ({
    items: ids.map(id => ({
      task: String(id),
      task_id: id === 2 ? null : id,
      state: id === 2 ? null : ('stopping' as const),
      held: false,
      code: id === 2 ? 'conflict' : null,
      detail: id === 2 ? 'Another one was faster.' : null
    })),
    done: ids.length,
    refused: 0
  }));
  const operations = {
    actions,
    setTags: vi.fn(async (id: number, tags: string[]) => ({ ...all.find(task => task.id === id)!, tags })),
    setStar: vi.fn(async (id: number) => all.find(task => task.id === id)!)
  };
  const api = {
    operations,
    tasks: taskPagesOf(() => all),
    task: async (id: number) => all.find(task => task.id === id)!,
    metrics: async () => ({ step: 10, units: {}, runs: [] })
  };
  const hears = vi.fn<IApi['events']>(() => new FakeStream());
  const feed = new Feed({ events: hears });
  feed.start();
  const me = async (): Promise<IMe> => aMe({ admin: given.admin === true });
  const cluster = new ClusterModel({ cluster: vi.fn(), me }, feed);
  void cluster.start();
  const router = new MemoryRouter('tasks', query);
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
  return { router, actions, host, operations, hears };
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

  it('of all users hears of all users, for admins alone', async () => {
    const admin = await page({ whose: 'all' }, { admin: true });
    await waitFor(() => expect(admin.hears.mock.lastCall![2]).toBe(true));
    await act(async () => admin.router.go({ page: 'tasks' }));
    expect(admin.hears.mock.lastCall![2]).toBe(false);
    cleanup();
    const other = await page({ whose: 'all' });
    expect(other.hears.mock.calls.map(call => call[2])).toEqual([false]);
  });

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
    expect(screen.getByText('3,000 tasks')).toBeTruthy();
  });

  it('has the state below the name where there is no room beside it', async () => {
    const query = { matches: true, addEventListener: vi.fn(), removeEventListener: vi.fn() };
    vi.stubGlobal('matchMedia', () => query);
    try {
      await page();
      expect(screen.getAllByRole('columnheader')).toHaveLength(2);
      const cell = screen.getByRole('cell', { name: /^vit/ });
      expect(cell.textContent).toMatch(/^vit.*running.*(d|h|min)/);
      expect(cell.closest('tr')!.style.top).toBe('104px');
    } finally {
      vi.stubGlobal('matchMedia', undefined);
    }
  });

  it('chooses all that match, also those that were not read yet', async () => {
    const { actions } = await page({ tag: 'sweep' }, { many: 292, tags: ['sweep'] });
    fireEvent.click(await screen.findByLabelText('Choose all'));
    await screen.findByText('292 chosen');
    expect(screen.getByLabelText<HTMLInputElement>('Choose all').checked).toBe(true);
    expect(screen.getByText('hai stop --tag=sweep')).toBeTruthy();
    await act(async () => void fireEvent.click(screen.getByText('Stop 292')));
    await waitFor(() => expect(actions.mock.calls.flatMap(([, ids]) => ids as number[])).toHaveLength(292));
  });

  it('keeps filters and order in the address', async () => {
    const { router } = await page({ state: 'live' });
    await waitFor(() => expect(screen.queryByText('old')).toBeNull());
    fireEvent.change(screen.getByLabelText('State'), { target: { value: 'failed' } });
    await screen.findByText('old');
    expect(router.route.query).toEqual({ state: 'failed' });
    fireEvent.click(screen.getByTitle('Sort by Name'));
    expect(router.route.query).toEqual({ state: 'failed', sort: 'name' });
    fireEvent.change(screen.getByLabelText('State'), { target: { value: '' } });
    expect(router.route.query).toEqual({ sort: 'name' });
  });

  it('asks before it stops several, and stops none when the answer is no', async () => {
    const { actions, host } = await page({ state: 'live' }, { host: { confirm: vi.fn(async () => false) } });
    fireEvent.click(screen.getByLabelText('Choose all'));
    fireEvent.click(screen.getByText('Stop 2'));
    await waitFor(() => expect(host.confirm).toHaveBeenCalledOnce());
    expect(actions).not.toHaveBeenCalled();
  });

  it('stops those that are chosen, and says so', async () => {
    const { actions, host } = await page({ state: 'live' });
    fireEvent.click(screen.getByLabelText('Choose vit (#1)'));
    fireEvent.click(screen.getByText('Stop 1'));
    await waitFor(() => expect(host.notify).toHaveBeenCalledExactlyOnceWith('info', 'Stopping 1 task.'));
    expect(actions.mock.calls).toEqual([['stop', [1]]]);
  });

  it('has a result for each task, those that were refused first', async () => {
    const { host } = await page({ state: 'live' });
    fireEvent.click(screen.getByLabelText('Choose all'));
    await act(async () => void fireEvent.click(screen.getByText('Stop 2')));
    await waitFor(() =>
      expect(host.notify).toHaveBeenCalledWith('error', 'Stopping 1 task. 1 task was refused.')
    );
    const results = screen.getByRole('region', { name: 'What became of each task' });
    expect(
      within(results)
        .getAllByRole('listitem')
        .map(each => each.textContent)
    ).toEqual(['Refused: <img src=x onerror=alert(1)> (#2): Another one was faster.', 'vit (#1): stopping']);
    fireEvent.click(within(results).getByLabelText('Close'));
    expect(screen.queryByRole('region', { name: 'What became of each task' })).toBeNull();
  });

  it('finds the tasks with a tag by a click on it, and all again', async () => {
    const { router } = await page();
    fireEvent.click(screen.getByTitle('Show the tasks with the tag nightly'));
    expect(router.route.query).toEqual({ tag: 'nightly' });
    await waitFor(() => expect(screen.queryByText('old')).toBeNull());
    fireEvent.click(screen.getByText('Show all'));
    expect(router.route.query).toEqual({});
    await screen.findByText('old');
  });

  it('edits tags in the row: Enter keeps them, Escape what was there', async () => {
    const { operations } = await page();
    fireEvent.click(screen.getByLabelText('Edit the tags of vit (#1)'));
    const field = screen.getByLabelText('Tags of vit (#1), between commas');
    expect((field as HTMLInputElement).value).toBe('nightly');
    fireEvent.keyDown(field, { key: 'Escape' });
    expect(operations.setTags).not.toHaveBeenCalled();
    fireEvent.click(screen.getByLabelText('Edit the tags of vit (#1)'));
    const again = screen.getByLabelText('Tags of vit (#1), between commas');
    fireEvent.change(again, { target: { value: 'nightly, best' } });
    await act(async () => void fireEvent.keyDown(again, { key: 'Enter' }));
    expect(operations.setTags).toHaveBeenCalledExactlyOnceWith(1, ['nightly', 'best']);
    expect(screen.getByTitle('Show the tasks with the tag best')).toBeTruthy();
  });

  it('stars a task, and says what was refused', async () => {
    const { operations, host } = await page();
    const star = (): HTMLElement => screen.getByLabelText('Star vit (#1)');
    await act(async () => void fireEvent.click(star()));
    expect(operations.setStar).toHaveBeenCalledExactlyOnceWith(1, true);
    expect(star().getAttribute('aria-pressed')).toBe('true');
    operations.setStar.mockRejectedValueOnce(new Error('There is no task 1.'));
    await act(async () => void fireEvent.click(star()));
    expect(host.notify).toHaveBeenCalledWith('error', expect.stringContaining('There is no task 1.'));
    expect(star().getAttribute('aria-pressed')).toBe('true');
  });

  it('compares up to eight, and no more', async () => {
    const { router } = await page({}, { many: 9 });
    fireEvent.click(screen.getByLabelText('Choose all'));
    expect(screen.queryByText('Compare')).toBeNull();
    expect(screen.getByText('Choose up to 8 tasks to compare them.')).toBeTruthy();
    fireEvent.click(screen.getByLabelText('Choose t3 (#4)'));
    await act(async () => void fireEvent.click(screen.getByText('Compare')));
    expect(router.route.query).toEqual({ compare: '1,2,3,5,6,7,8,9' });
    expect(await screen.findByText('8 tasks compared')).toBeTruthy();
    await act(async () => void fireEvent.click(screen.getAllByText('Leave out')[0]!));
    expect(router.route.query).toEqual({ compare: '2,3,5,6,7,8,9' });
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
    expect(await screen.findByText('Nothing was measured of task 3.')).toBeTruthy();
  });
});
