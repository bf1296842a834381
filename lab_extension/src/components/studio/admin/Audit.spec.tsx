import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { IAdminApi } from '../../../api/admin';
import type { IAuditEntry } from '../../../api/types';
import { showPage } from '../../../testing/studio';
import { AuditPage } from './Audit';
import { differencesOf } from './AuditTable';

const ENTRY: IAuditEntry = {
  number: 9,
  at: '2025-03-05T11:00:00Z',
  actor: 'root',
  action: 'quota.put',
  subject: 'user:ann',
  before: null,
  after: { limit: 4, ceiling: null, weights: { ann: 2 } },
  address: null
};

async function page(query: Record<string, string> = {}, items: IAuditEntry[] = [ENTRY]) {
  const audit = vi.fn<IAdminApi['audit']>(async () => ({ items, next_cursor: 5 }));
  const shown = showPage(<AuditPage />, { admin: { audit }, query });
  await waitFor(() => expect(screen.queryByText('Loading…')).toBeNull());
  return { ...shown, audit };
}

describe('the audit', () => {
  it('tells who changed what from what to what, with the year when it is another one', async () => {
    await page();
    const cells = within(screen.getByTestId('hai-audit')).getAllByRole('cell');
    expect(cells.map(cell => cell.textContent)).toEqual([
      expect.stringMatching(/2025/),
      'quota.put',
      'user:ann',
      'limit: – → 4weights: – → ann=2',
      '–'
    ]);
  });

  it('is filtered in the address when one pauses, from the newest change on', async () => {
    const { audit, router } = await page({ cursor: '9', who: 'root' });
    expect(audit).toHaveBeenCalledWith({ who: 'root', cursor: '9' });
    expect(screen.getByText('Older changes').getAttribute('href')).toBe('/audit?cursor=5&who=root');
    expect(screen.getByText('Newest changes').getAttribute('href')).toBe('/audit?who=root');
    fireEvent.change(screen.getByLabelText('Action'), { target: { value: 'quota' } });
    expect(router.route.query).toEqual({ cursor: '9', who: 'root' });
    await waitFor(() => expect(router.route.query).toEqual({ who: 'root', action: 'quota' }));
    await waitFor(() => expect(audit).toHaveBeenLastCalledWith({ who: 'root', action: 'quota' }));
  });

  it('takes times of the reader, and asks for them in UTC', async () => {
    const { router } = await page();
    fireEvent.change(screen.getByLabelText('From'), { target: { value: '2026-11-21T05:00' } });
    expect(router.route.query.since).toBe(new Date('2026-11-21T05:00').toISOString());
    expect(screen.getByLabelText<HTMLInputElement>('From').value).toBe('2026-11-21T05:00');
  });

  it('says that nothing was changed', async () => {
    await page({}, []);
    expect(screen.getByText('Nothing was changed.')).toBeTruthy();
  });

  it('shows only fields that differ', () => {
    const entry = { ...ENTRY, before: { limit: 4, ceiling: 8 }, after: { limit: 6, ceiling: 8 } };
    expect(differencesOf(entry)).toEqual([['limit', '4', '6']]);
    expect(differencesOf({ ...ENTRY, before: null, after: { source: '', priority: 0 } })).toEqual([
      ['priority', '–', '0']
    ]);
  });
});
