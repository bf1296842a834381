import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { ApiError } from '../../../api/request';
import { aHost } from '../../../testing/fakes';
import { HostProvider } from '../../host';
import { StudioProvider } from '../context';
import { QuotaTable } from './QuotaTable';

it('tells both values of a collision, and overwrites nothing by itself', async () => {
  const row = {
    subject: 'user:ann',
    group: 'g',
    priority: 'HIGH',
    limit: 4,
    ceiling: null,
    expires_at: null
  };
  const putQuota = vi.fn(async () => {
    throw new ApiError({
      status: 409,
      code: 'conflict',
      detail: 'Changed.',
      current: { ...row, limit: 6, version: 'b' }
    });
  });
  const user = {
    name: 'ann',
    rows: [{ ...row, version: 'a' }],
    quota: [{ ...row, used: 0, source: 'user:ann' }]
  };
  render(
    <HostProvider value={aHost()}>
      <StudioProvider value={{ api: { admin: { putQuota } }, cluster: { cluster: null } } as never}>
        <QuotaTable user={user as never} onChanged={vi.fn()} />
      </StudioProvider>
    </HostProvider>
  );
  fireEvent.click(screen.getByText('Edit'));
  fireEvent.change(screen.getByLabelText(/^Limit/), { target: { value: '8' } });
  fireEvent.click(screen.getByText('Save'));
  expect(await screen.findByText(/There now: limit 6.*Yours: limit 8/)).toBeTruthy();
  expect(putQuota.mock.calls.map(call => (call as unknown[])[2])).toEqual(['a']);
});
