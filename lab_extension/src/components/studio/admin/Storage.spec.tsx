import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { IAdminApi } from '../../../api/admin';
import { ApiError } from '../../../api/request';
import type { IMountRule, IMountRuleList } from '../../../api/types';
import { showPage } from '../../../testing/studio';
import { mountDraftOf, mountValueOf, mountWords } from './mounts';
import { mountsQuery, StoragePage } from './Storage';

function aRule(given: Partial<IMountRule> = {}): IMountRule {
  return {
    name: 'datasets',
    subject: 'group:ml',
    action: 'add',
    kind: 'pvc',
    source: 'datasets/vision',
    mount_path: '/datasets',
    read_only: true,
    priority: 0,
    node_group: null,
    description: '',
    version: 'v1',
    warnings: [],
    ...given
  };
}

const VALUE = {
  subject: 'group:ml',
  action: 'add',
  kind: 'pvc',
  source: 'datasets/vision',
  mount_path: '/datasets',
  read_only: true,
  priority: 0,
  node_group: null,
  description: ''
};

async function page(
  given: { list?: Partial<IMountRuleList>; query?: Record<string, string>; sure?: boolean } = {}
) {
  const admin = {
    mounts: vi.fn(async () => ({ items: [aRule()], resolved: null, ...given.list })),
    putMount: vi.fn<IAdminApi['putMount']>().mockResolvedValue(aRule()),
    deleteMount: vi.fn<IAdminApi['deleteMount']>().mockResolvedValue(undefined)
  };
  const shown = showPage(<StoragePage />, {
    admin,
    query: given.query ?? {},
    host: { confirm: vi.fn(async () => given.sure ?? true) }
  });
  await waitFor(() => expect(screen.queryByText('Loading…')).toBeNull());
  return { ...shown, admin };
}

const overtaken = (current: unknown): ApiError =>
  new ApiError({ status: 409, code: 'conflict', detail: 'It was changed.', current });
const fill = (label: string | RegExp, value: string): unknown =>
  fireEvent.change(screen.getByLabelText(label), { target: { value } });

describe('the mount rules', () => {
  it('are shown in words', async () => {
    await page({ list: { items: [aRule(), aRule({ name: 'none', action: 'remove', kind: null })] } });
    const words = screen.getAllByRole('row').map(row => row.textContent);
    expect(words.slice(1)).toEqual([
      'datasetsgroup:ml/datasetsclaim datasets/visionread only0all nodes–Edit',
      'nonegroup:ml/datasetsnothing is mounted–0all nodes–Edit'
    ]);
  });

  it('are written new, and never over one of the same name that is there', async () => {
    const { admin, host } = await page();
    admin.putMount.mockRejectedValueOnce(overtaken(aRule({ read_only: false, version: 'v7' })));
    fireEvent.click(screen.getByText('New mount rule'));
    fill('Name', 'datasets');
    fill(/^Whom it is for/, 'user:ann');
    fill('Mount path', '/data');
    fill('Folder', '/srv/data');
    fireEvent.click(screen.getByLabelText('They may write'));
    fireEvent.click(screen.getByText('Save'));
    expect(await screen.findByText(/There now: group:ml.*Yours: user:ann, \/data: folder/)).toBeTruthy();
    const value = {
      ...VALUE,
      subject: 'user:ann',
      kind: 'host_path',
      source: '/srv/data',
      mount_path: '/data',
      read_only: false
    };
    expect(admin.putMount.mock.calls).toEqual([['datasets', value, null]]);
    admin.putMount.mockResolvedValueOnce(aRule({ warnings: ['No user is called ann.'] }));
    fireEvent.click(screen.getByText('Write mine over it'));
    await waitFor(() =>
      expect(host.notify).toHaveBeenCalledExactlyOnceWith(
        'warning',
        'Mount rule datasets saved. No user is called ann.'
      )
    );
    expect(admin.putMount.mock.calls[1]).toEqual(['datasets', value, 'v7']);
  });

  it('are edited over the version that was seen', async () => {
    const { admin } = await page();
    fireEvent.click(screen.getByLabelText('Edit mount rule datasets'));
    fill('Priority', '5');
    fireEvent.click(screen.getByText('Save'));
    await waitFor(() => expect(screen.queryByText('Save')).toBeNull());
    expect(admin.putMount.mock.calls).toEqual([['datasets', { ...VALUE, priority: 5 }, 'v1']]);
    await waitFor(() => expect(admin.mounts.mock.calls.length).toBeGreaterThan(1));
  });

  it('are removed after a question, and over a collision removed and never written', async () => {
    const { admin, host } = await page();
    admin.deleteMount.mockRejectedValueOnce(overtaken(aRule({ version: 'v2' })));
    fireEvent.click(screen.getByLabelText('Edit mount rule datasets'));
    fireEvent.click(screen.getByText('Remove…'));
    fireEvent.click(await screen.findByText('Remove it all the same'));
    await waitFor(() => expect(screen.queryByText('Save')).toBeNull());
    expect(admin.deleteMount.mock.calls).toEqual([
      ['datasets', 'v1'],
      ['datasets', 'v2']
    ]);
    expect(admin.putMount).not.toHaveBeenCalled();
    expect(host.confirm).toHaveBeenCalledTimes(2);
  });

  it('stay when the answer is no', async () => {
    const { admin, host } = await page({ sure: false });
    fireEvent.click(screen.getByLabelText('Edit mount rule datasets'));
    fireEvent.click(screen.getByText('Remove…'));
    await waitFor(() => expect(host.confirm).toHaveBeenCalledOnce());
    expect(admin.deleteMount).not.toHaveBeenCalled();
  });
});

describe('what a user sees', () => {
  it('is asked for by the address, with the folders and the rules that do not count', async () => {
    const { admin } = await page({
      query: { user: 'ann', node_group: 'training' },
      list: {
        resolved: {
          user: 'ann',
          groups: ['ml'],
          node_group: 'training',
          mounts: [
            {
              rule: 'datasets',
              kind: 'pvc',
              source: 'datasets',
              sub_path: 'vision',
              mount_path: '/datasets',
              read_only: true
            }
          ],
          left_out: [{ rule: 'old', mount_path: '/datasets', why: 'rule datasets is stronger' }],
          warnings: []
        }
      }
    });
    expect(admin.mounts).toHaveBeenCalledWith({ user: 'ann', node_group: 'training' });
    const row = within(await screen.findByTestId('hai-seen')).getByRole('row', { name: /^\/datasets/ });
    expect(row.textContent).toBe('/datasetsclaim datasets/visionread onlydatasets');
    expect(screen.getByText('old for /datasets: rule datasets is stronger')).toBeTruthy();
  });

  it('needs a user: a node group alone asks for nothing', () => {
    expect(mountsQuery({ node_group: 'training' })).toEqual({});
  });
});

describe('a mount rule as texts', () => {
  it('goes into a form and back', () => {
    const rule = aRule({ node_group: 'gold', priority: -3 });
    expect(mountValueOf(mountDraftOf(rule))).toEqual({ ...VALUE, node_group: 'gold', priority: -3 });
  });

  it('has no source and no access when it removes', () => {
    const value = mountValueOf({ ...mountDraftOf(aRule()), what: 'remove', write: true });
    expect(value).toMatchObject({ action: 'remove', kind: null, source: '', read_only: true });
    expect(mountWords(value)).toBe(
      'group:ml, /datasets: nothing is mounted, read only, priority 0, all nodes'
    );
  });

  it('leaves a priority that is no number for the service to refuse', () => {
    expect(mountValueOf({ ...mountDraftOf(null), priority: 'first' }).priority).toBe('first');
  });
});
