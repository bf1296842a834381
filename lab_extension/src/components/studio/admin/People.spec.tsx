import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { IAdminApi } from '../../../api/admin';
import { ApiError } from '../../../api/request';
import type { ILevelCount, IUser, IUserDetail } from '../../../api/types';
import { aQuota } from '../../../testing/fakes';
import { showPage } from '../../../testing/studio';
import { levelsText, limitsText, PeoplePage, peopleQuery } from './People';

const LEVEL: ILevelCount = {
  priority: 'HIGH',
  running_tasks: 2,
  running_nodes: 8,
  waiting_tasks: 1,
  waiting_nodes: 1
};

function aUser(given: Partial<IUserDetail> = {}): IUserDetail {
  return {
    name: 'ann',
    groups: ['ml'],
    admin: false,
    archived: null,
    seen_at: null,
    running_tasks: 2,
    running_nodes: 8,
    waiting_tasks: 1,
    waiting_nodes: 1,
    levels: [LEVEL],
    quota: [{ ...aQuota({ limit: 4, used: 3, source: 'user:ann' }), own_limit: 4, own_version: 'a' }],
    rows: [],
    audit: [],
    ...given
  };
}

async function page(
  given: { users?: IUser[]; next?: string; query?: Record<string, string>; sure?: boolean } = {}
) {
  const users = given.users ?? [aUser()];
  const admin = {
    users: vi.fn<IAdminApi['users']>(async () => ({
      items: users,
      total: 41,
      next_cursor: given.next ?? null
    })),
    user: vi.fn<IAdminApi['user']>(async () => users[0] as IUserDetail),
    archive: vi.fn<IAdminApi['archive']>(),
    restore: vi.fn<IAdminApi['restore']>()
  };
  const shown = showPage(<PeoplePage />, {
    admin,
    query: given.query ?? {},
    host: { confirm: vi.fn(async () => given.sure ?? true), hubAdmin: '/hub/admin' }
  });
  await waitFor(() => expect(screen.queryByText('Loading…')).toBeNull());
  return { ...shown, admin };
}

describe('the users', () => {
  it('are shown with tasks, quota and who they are', async () => {
    const archived = { at: '2026-05-01T00:00:00Z', by: 'root', note: '' };
    await page({ users: [aUser({ admin: true, archived })] });
    const row = within(screen.getByTestId('hai-people')).getByRole('row', { name: /ann/ });
    expect(row.textContent).toBe(
      'annadminarchivedmlHigh: 2 tasks on 8 nodesHigh: 1 task for 1 nodetraining High: 3 of 4neverQuota'
    );
    expect(screen.getByText('41 users')).toBeTruthy();
    expect(screen.getByText<HTMLAnchorElement>('Create users at the Hub').getAttribute('href')).toBe(
      '/hub/admin'
    );
  });

  it('are filtered and ordered in the address, from the first page on', async () => {
    const { admin, router } = await page({ query: { cursor: 'b', group: 'ml' }, next: 'c' });
    expect(admin.users).toHaveBeenCalledWith({ cursor: 'b', group: 'ml' });
    expect(screen.getByText('Next page').getAttribute('href')).toBe('/people?cursor=c&group=ml');
    fireEvent.change(screen.getByLabelText('Archived or not'), { target: { value: 'true' } });
    expect(router.route.query).toEqual({ group: 'ml', archived: 'true' });
    fireEvent.click(screen.getByText('Running'));
    expect(router.route.query).toEqual({ group: 'ml', archived: 'true', order: 'running' });
    await waitFor(() =>
      expect(admin.users).toHaveBeenLastCalledWith({ group: 'ml', archived: 'true', order: 'running' })
    );
    expect(screen.getByRole('columnheader', { name: /Running/ }).getAttribute('aria-sort')).toBe(
      'descending'
    );
  });

  it('have their quota edited in place', async () => {
    await page();
    fireEvent.click(screen.getByLabelText('Quota of ann'));
    expect(await screen.findByLabelText('Edit the quota for High in training')).toBeTruthy();
    expect(screen.getByLabelText('Quota of ann', { selector: 'button' }).getAttribute('aria-expanded')).toBe(
      'true'
    );
  });

  it('leave out what an address says that is not known', () => {
    expect(peopleQuery({ order: 'shoe size', archived: 'maybe', name: 'a' })).toEqual({ name: 'a' });
  });
});

describe('a user', () => {
  it('is archived with a note after a question', async () => {
    const { admin, host } = await page({ query: { user: 'ann' } });
    expect(screen.getByText(/Running: 2 tasks on 8 nodes\. Waiting: 1 task for 1 node\./)).toBeTruthy();
    fireEvent.change(screen.getByLabelText('Why, for other admins'), { target: { value: 'left' } });
    fireEvent.click(screen.getByText('Archive…'));
    await waitFor(() => expect(admin.archive).toHaveBeenCalledExactlyOnceWith('ann', 'left'));
    expect(vi.mocked(host.confirm).mock.calls[0]?.[0].body).toMatch(/^Tasks that are told to save.*: 3\./);
  });

  it('stays when the answer is no', async () => {
    const { admin, host } = await page({ query: { user: 'ann' }, sure: false });
    fireEvent.click(screen.getByText('Archive…'));
    await waitFor(() => expect(host.confirm).toHaveBeenCalledOnce());
    expect(admin.archive).not.toHaveBeenCalled();
  });

  it('says in the words of the service why archiving was refused', async () => {
    const { admin } = await page({ query: { user: 'ann' } });
    admin.archive.mockRejectedValue(
      new ApiError({ status: 409, code: 'conflict', detail: 'You cannot archive yourself.' })
    );
    fireEvent.click(screen.getByText('Archive…'));
    expect((await screen.findByRole('alert')).textContent).toBe('You cannot archive yourself.');
  });

  it('who is archived can be restored', async () => {
    const archived = { at: '2025-05-01T00:00:00Z', by: 'root', note: 'left' };
    const { admin } = await page({ users: [aUser({ archived })], query: { user: 'ann' } });
    expect(screen.getByText(/^Archived .*2025.* by root\. left$/)).toBeTruthy();
    fireEvent.click(screen.getByText('Restore…'));
    await waitFor(() => expect(admin.restore).toHaveBeenCalledExactlyOnceWith('ann'));
  });
});

describe('tasks by priority', () => {
  it('are counted in words; a priority without tasks is left out', () => {
    const none: ILevelCount = { ...LEVEL, priority: 'LOW', running_tasks: 0, waiting_tasks: 0 };
    expect(levelsText([LEVEL, none], 'running')).toBe('High: 2 tasks on 8 nodes');
    expect(levelsText([LEVEL, none], 'waiting')).toBe('High: 1 task for 1 node');
    expect(levelsText([none], 'running')).toBe('');
  });
});

describe('the quota of a user in one line', () => {
  it('names limits alone, however many levels have none', () => {
    const high = { ...aQuota({ limit: 4, used: 3 }), own_limit: null, own_version: null };
    const low = { ...high, priority: 'LOW' as const, limit: null };
    expect(limitsText([high, low])).toBe('training High: 3 of 4; otherwise no limit');
    expect([limitsText([low]), limitsText([])]).toEqual(['no limit', '–']);
  });
});
