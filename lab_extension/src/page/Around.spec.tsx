import { act, fireEvent, render, screen } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { HostProvider } from '../components/host';
import { StudioProvider } from '../components/studio/context';
import { RouterProvider } from '../components/studio/router';
import { ClusterModel } from '../models/cluster';
import { Feed } from '../models/feed';
import { FakeStream } from '../testing/fakes';
import { Around } from './Around';
import { PageHost } from './host';
import { PageRouter } from './router';
import { Themes } from './theme';
import { PageTransport } from './transport';

describe('the page around Studio', () => {
  let host: PageHost;
  let transport: PageTransport;

  beforeEach(() => {
    // jsdom has no modal dialogs.
    HTMLDialogElement.prototype.showModal = function (this: HTMLDialogElement) {
      this.open = true;
    };
    history.replaceState(null, '', '/services/hai/nosuch');
    localStorage.clear();
    const router = new PageRouter('/services/hai/', 'overview');
    host = new PageHost(router);
    transport = new PageTransport('/services/hai/', () => '_xsrf=one');
    const feed = new Feed({ events: () => new FakeStream() });
    const cluster = new ClusterModel({ cluster: vi.fn(), me: vi.fn() }, feed);
    render(
      <HostProvider value={host}>
        <RouterProvider value={router}>
          <StudioProvider value={{ api: {} as never, feed, cluster }}>
            <Around
              start={{ prefix: '/services/hai/', hub: '/hub/', catalogues: {} }}
              host={host}
              themes={new Themes(document.documentElement)}
              transport={transport}
            />
          </StudioProvider>
        </RouterProvider>
      </HostProvider>
    );
  });

  it('asks in a dialog in which the answer that changes nothing has the focus', async () => {
    let answer: Promise<boolean> = Promise.resolve(true);
    const ask = (): void =>
      act(() => {
        answer = host.confirm({ title: 'Stop it?', body: 'It ends.', accept: 'Stop', keep: 'Keep' });
      });
    ask();
    expect(screen.getByRole('dialog', { name: 'Stop it?' }).textContent).toContain('It ends.');
    expect(document.activeElement?.textContent).toBe('Keep');
    fireEvent.click(screen.getByText('Keep'));
    expect(await answer).toBe(false);
    ask();
    fireEvent(screen.getByRole('dialog'), new Event('cancel'));
    expect(await answer).toBe(false);
    ask();
    fireEvent.click(screen.getByText('Stop'));
    expect(await answer).toBe(true);
    expect(screen.queryByRole('dialog')).toBeNull();
  });

  it('says things in a place that screen readers hear, and takes them away', () => {
    vi.useFakeTimers();
    act(() => host.notify('error', 'It went wrong.'));
    expect(screen.getByText('It went wrong.').closest('[role=status]')).not.toBeNull();
    act(() => void vi.advanceTimersByTime(8_000));
    expect(screen.queryByText('It went wrong.')).toBeNull();
    vi.useRealTimers();
  });

  it('offers what can be done about what is said', () => {
    const run = vi.fn();
    act(() => host.notify('error', 'Task 41 has failed.', { label: 'Open the task', run }));
    fireEvent.click(screen.getByText('Open the task'));
    expect(run).toHaveBeenCalledOnce();
    expect(screen.queryByText('Task 41 has failed.')).toBeNull();
  });

  it('tells when the login has ended, with a link that comes back to here', async () => {
    vi.stubGlobal('fetch', async () => new Response('{}', { status: 401 }));
    await act(async () => {
      await transport.fetch('/x', {});
    });
    const link = screen.getByTestId<HTMLAnchorElement>('hai-log-in');
    expect(link.href).toBe(location.href);
    history.pushState(null, '', '/services/hai/elsewhere');
    expect(link.href).toContain('/services/hai/elsewhere');
    vi.unstubAllGlobals();
  });

  it('has a menu for narrow screens, which Escape closes', () => {
    const button = screen.getByRole('button', { name: 'Menu' });
    const menu = document.getElementById(button.getAttribute('aria-controls')!)!;
    expect(menu.textContent).toContain('Log out');
    fireEvent.click(button);
    expect(button.getAttribute('aria-expanded')).toBe('true');
    expect(menu.classList.contains('hai-mod-open')).toBe(true);
    fireEvent.keyDown(screen.getByText('Log out'), { key: 'Escape' });
    expect(button.getAttribute('aria-expanded')).toBe('false');
    expect(document.activeElement).toBe(button);
  });

  it('keeps the theme that the user has chosen', () => {
    fireEvent.change(screen.getByLabelText('Theme'), { target: { value: 'dark' } });
    expect(document.documentElement.dataset.theme).toBe('dark');
    expect(new Themes(document.documentElement).choice).toBe('dark');
  });
});
