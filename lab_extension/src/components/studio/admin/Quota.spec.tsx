import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../../api/request';
import { aHost } from '../../../testing/fakes';
import { HostProvider } from '../../host';
import { StudioProvider } from '../context';
import { draftOf, quotaWords, valueOf } from './quota';
import { QuotaTable } from './QuotaTable';

const ROW = { subject: 'user:ann', group: 'g', priority: 'HIGH', limit: 4, ceiling: null, expires_at: null };
const KEY = { subject: 'user:ann', group: 'g', priority: 'HIGH' };

/** What the service says when somebody else was faster, with what is there now. */
function overtaken(current: unknown): ApiError {
  return new ApiError({ status: 409, code: 'conflict', detail: 'It was changed.', current });
}

function table(given: { putQuota?: object; deleteQuota?: object }) {
  const admin = { putQuota: vi.fn(), deleteQuota: vi.fn(), ...given };
  const user = {
    name: 'ann',
    rows: [{ ...ROW, version: 'a' }],
    quota: [{ ...ROW, used: 0, source: 'user:ann' }]
  };
  const onChanged = vi.fn();
  const host = aHost();
  render(
    <HostProvider value={host}>
      <StudioProvider value={{ api: { admin }, cluster: { cluster: null } } as never}>
        <QuotaTable user={user as never} onChanged={onChanged} />
      </StudioProvider>
    </HostProvider>
  );
  fireEvent.click(screen.getByText('Edit'));
  return { admin, onChanged, host };
}

describe('the quota of a user', () => {
  it('tells both values of a collision, and overwrites nothing by itself', async () => {
    const putQuota = vi.fn().mockRejectedValueOnce(overtaken({ ...ROW, limit: 6, version: 'b' }));
    putQuota.mockResolvedValueOnce({ ...ROW, limit: 8, version: 'c', warning: null });
    const { onChanged } = table({ putQuota });
    fireEvent.change(screen.getByLabelText(/^Limit/), { target: { value: '8' } });
    fireEvent.click(screen.getByText('Save'));
    expect(await screen.findByText(/There now: limit 6.*Yours: limit 8/)).toBeTruthy();
    expect(putQuota.mock.calls[0]?.[2]).toBe('a');
    fireEvent.click(screen.getByText('Write mine over it'));
    await waitFor(() => expect(onChanged).toHaveBeenCalledOnce());
    expect(putQuota.mock.calls[1]).toEqual([KEY, { limit: 8, ceiling: null, expires_at: null }, 'b']);
  });

  it('removes over a collision what was to be removed, and writes nothing', async () => {
    const deleteQuota = vi.fn().mockRejectedValueOnce(overtaken({ ...ROW, limit: 6, version: 'b' }));
    deleteQuota.mockResolvedValueOnce(undefined);
    const { admin, onChanged } = table({ deleteQuota });
    fireEvent.click(screen.getByText('Remove the row'));
    expect(await screen.findByText(/There now: limit 6.*You wanted to remove it/)).toBeTruthy();
    expect(screen.queryByText('Write mine over it')).toBeNull();
    fireEvent.click(screen.getByText('Remove it all the same'));
    await waitFor(() => expect(onChanged).toHaveBeenCalledOnce());
    expect(deleteQuota.mock.calls).toEqual([
      [KEY, 'a'],
      [KEY, 'b']
    ]);
    expect(admin.putQuota).not.toHaveBeenCalled();
  });

  it.each([
    ['in a collision', overtaken(null)],
    ['as missing', new ApiError({ status: 404, code: 'not_found', detail: 'There is no such row.' })]
  ])('has nothing left to do when the service tells %s that the row is gone', async (_, error) => {
    const { onChanged, host } = table({ deleteQuota: vi.fn().mockRejectedValueOnce(error) });
    fireEvent.click(screen.getByText('Remove the row'));
    await waitFor(() => expect(onChanged).toHaveBeenCalledOnce());
    expect(host.notify).toHaveBeenCalledExactlyOnceWith('info', 'Somebody else has removed it already.');
  });

  it('takes what is there, and writes over that version from then on', async () => {
    const putQuota = vi.fn().mockRejectedValueOnce(overtaken({ ...ROW, limit: 6, version: 'b' }));
    putQuota.mockResolvedValueOnce({ ...ROW, version: 'c', warning: 'No node has as much.' });
    const { host } = table({ putQuota });
    fireEvent.change(screen.getByLabelText(/^Limit/), { target: { value: '8' } });
    fireEvent.click(screen.getByText('Save'));
    fireEvent.click(await screen.findByText('Take what is there'));
    expect(screen.getByLabelText<HTMLInputElement>(/^Limit/).value).toBe('6');
    expect(screen.queryByRole('alert')).toBeNull();
    fireEvent.click(screen.getByText('Save'));
    await waitFor(() => expect(host.notify).toHaveBeenCalledWith('warning', 'No node has as much.'));
    expect(putQuota.mock.calls[1]?.[2]).toBe('b');
  });

  it('shows a refusal in the words of the service: field, value, remedy', async () => {
    const errors = [{ field: 'limit', value: 'many', message: 'Give a whole number from 0 on.' }];
    const refused = new ApiError({ status: 400, code: 'invalid', detail: 'One field is wrong.', errors });
    const putQuota = vi.fn().mockRejectedValueOnce(refused);
    table({ putQuota });
    fireEvent.change(screen.getByLabelText(/^Limit/), { target: { value: 'many' } });
    fireEvent.click(screen.getByText('Save'));
    const alert = await screen.findByRole('alert');
    expect(alert.textContent).toBe('One field is wrong.limit, value "many": Give a whole number from 0 on.');
    expect(putQuota.mock.calls[0]?.[1]).toMatchObject({ limit: 'many' });
  });

  it('says only once what the sentence of the service has already', async () => {
    const message = 'Give a whole number from 0 on.';
    const errors = [{ field: 'limit', value: 'many', message }];
    const refused = new ApiError({ status: 400, code: 'invalid', detail: `limit: ${message}`, errors });
    table({ putQuota: vi.fn().mockRejectedValueOnce(refused) });
    fireEvent.click(screen.getByText('Save'));
    expect((await screen.findByRole('alert')).textContent).toBe(`limit: ${message}`);
  });
});

describe('a row of quota as texts', () => {
  it('goes into a form and back', () => {
    const row = { limit: 4, ceiling: 8, expires_at: '2026-12-01T10:30:00.000Z' };
    expect(valueOf(draftOf(row))).toEqual(row);
    expect(valueOf(draftOf(null))).toEqual({ limit: null, ceiling: null, expires_at: null });
  });

  it('is said in words', () => {
    expect(quotaWords({ limit: null, ceiling: 8, expires_at: null })).toBe(
      'no limit, ceiling 8, never expires'
    );
  });
});
