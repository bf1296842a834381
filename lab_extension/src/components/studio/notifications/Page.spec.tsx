import { Signal } from '@lumino/signaling';
import { act, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../../api/request';
import { ClusterModel } from '../../../models/cluster';
import { Feed } from '../../../models/feed';
import { aHost, FakeStream } from '../../../testing/fakes';
import { aNotification, someNotifications, someRules } from '../../../testing/notifications';
import { HostProvider, type IHost } from '../../host';
import { StudioProvider } from '../context';
import { routeOf, RouterProvider } from '../router';
import { NotificationsPage } from './Page';

async function page(
  notifications: ReturnType<typeof someNotifications> = someNotifications(),
  given: Partial<IHost> = {}
): Promise<{ api: ReturnType<typeof someNotifications>; host: IHost }> {
  const feed = new Feed({ events: () => new FakeStream() });
  const cluster = new ClusterModel({ cluster: vi.fn(), me: vi.fn() }, feed);
  const owner = {};
  const router = {
    route: routeOf({ page: 'notifications' }),
    changed: new Signal<unknown, void>(owner),
    href: () => '#',
    go: vi.fn()
  };
  const host = aHost(given);
  render(
    <HostProvider value={host}>
      <RouterProvider value={router}>
        <StudioProvider value={{ api: { notifications } as never, feed, cluster }}>
          <NotificationsPage />
        </StudioProvider>
      </RouterProvider>
    </HostProvider>
  );
  await screen.findByRole('table');
  return { api: notifications, host };
}

const box = (name: string): HTMLInputElement => screen.getByRole('checkbox', { name });
const failed = 'A task has failed, with its last lines';

function refusal(field: string, value: unknown, message: string): ApiError {
  return Object.assign(Object.create(ApiError.prototype) as ApiError, {
    message: `${field}: ${message}`,
    errors: [{ field, value, message }]
  });
}

describe('the page of notifications', () => {
  afterEach(() => void vi.unstubAllGlobals());

  it('shows which kinds are told where, and writes what is clicked', async () => {
    const { api } = await page();
    expect([box(`${failed}: Browser`).checked, box('A task waits for longer than: Browser').checked]).toEqual(
      [true, false]
    );
    fireEvent.click(box(`${failed}: Browser`));
    expect(box(`${failed}: Browser`).checked).toBe(false);
    await waitFor(() => expect(api.put).toHaveBeenCalledOnce());
    expect(api.put.mock.calls[0]![0].rules).toEqual([{ kind: 'failed', channels: ['lab'] }]);
  });

  it('offers no channel without an address, and says what is missing', async () => {
    await page();
    expect(box(`${failed}: Mail`).disabled).toBe(true);
    expect(screen.getByTestId('hai-channel-mail').textContent).toContain('Give a mail address.');
    expect(box(`${failed}: ops`).disabled).toBe(false);
  });

  it('writes an address, and shows the key of a new webhook once', async () => {
    const { api, host } = await page();
    const webhook = screen.getByTestId('hai-channel-webhook');
    fireEvent.change(within(webhook).getByLabelText('Webhook address'), {
      target: { value: ' https://hooks.example.org/hai ' }
    });
    await act(async () => void fireEvent.click(within(webhook).getByText('Save')));
    expect(api.put.mock.calls[0]![0]).toMatchObject({ webhook: 'https://hooks.example.org/hai', mail: null });
    expect(screen.getByTestId('hai-key').textContent).toBe('whsec_new');
    expect(host.notify).toHaveBeenCalledExactlyOnceWith('info', 'Webhook address: saved.');
    expect(box(`${failed}: Webhook`).disabled).toBe(false);
  });

  it('asks before it makes another key', async () => {
    const rules = someRules({ webhook: 'https://hooks.example.org/hai' });
    const { api, host } = await page(someNotifications({ rules }), { confirm: vi.fn(async () => false) });
    await act(async () => void fireEvent.click(screen.getByText('New key…')));
    expect(host.confirm).toHaveBeenCalledOnce();
    expect(api.put).not.toHaveBeenCalled();
  });

  it('shows why an address is refused, at the address', async () => {
    const api = someNotifications();
    const put = vi.spyOn(api, 'putRules');
    put.mockRejectedValueOnce(refusal('mail', 'x', 'the address has no @'));
    const { host } = await page(api);
    const mail = screen.getByTestId('hai-channel-mail');
    fireEvent.change(within(mail).getByLabelText('Mail address'), { target: { value: 'x' } });
    await act(async () => void fireEvent.click(within(mail).getByText('Save')));
    expect(within(mail).getByRole('alert').textContent).toContain('mail: the address has no @');
    expect(within(mail).getByLabelText<HTMLInputElement>('Mail address').value).toBe('x');
    expect(host.notify).not.toHaveBeenCalled();
  });

  it('sends a test over a channel, and says what came of it', async () => {
    const { host } = await page();
    fireEvent.click(screen.getByLabelText('Send a test: ops'));
    await waitFor(
      () => expect(host.notify).toHaveBeenCalledExactlyOnceWith('info', 'ops: the test was sent.'),
      {
        timeout: 3_000
      }
    );
  });

  it('asks the browser by a click alone', async () => {
    const requestPermission = vi.fn(async () => 'granted' as const);
    vi.stubGlobal('Notification', Object.assign(vi.fn(), { permission: 'default', requestPermission }));
    Object.defineProperty(navigator, 'locks', { configurable: true, value: {} });
    await page();
    expect(requestPermission).not.toHaveBeenCalled();
    const test = screen.getByLabelText<HTMLButtonElement>('Send a test: Browser');
    expect(test.disabled).toBe(true);
    await act(async () => void fireEvent.click(screen.getByText('Allow in this browser')));
    expect(screen.getByText('Allowed in this browser.')).toBeTruthy();
    expect(test.disabled).toBe(false);
    Reflect.deleteProperty(navigator, 'locks');
  });

  it('lists what was told, marks what is new in words, and has it read', async () => {
    const told = [
      aNotification(2, { text: 'Task 41 (<img src=x>) has failed: its command failed.' }),
      aNotification(1, {
        read: true,
        lines: [],
        deliveries: [
          {
            channel: 'mail',
            state: 'given_up',
            attempts: 9,
            ended_at: null,
            error: 'no such host',
            digest: false
          }
        ]
      })
    ];
    await page(someNotifications({ told }));
    const [first, second] = within(screen.getByTestId('hai-told')).getAllByRole('listitem');
    expect(first!.textContent).toContain('newTask 41 (<img src=x>) has failed: its command failed.');
    expect(first!.textContent).toContain('ValueError: loss is nan');
    expect(second!.textContent).not.toContain('new');
    expect(second!.textContent).toContain('Mail: not delivered: no such host');
    expect(screen.getByText('1 is not read.')).toBeTruthy();
    fireEvent.click(screen.getByText('Mark all as read'));
    expect(await screen.findByText('All are read.', {}, { timeout: 3_000 })).toBeTruthy();
    expect(screen.queryByText('new')).toBeNull();
  });
});
