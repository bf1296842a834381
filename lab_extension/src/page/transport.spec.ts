import { afterEach, describe, expect, it, vi, type Mock } from 'vitest';
import { PageTransport, proofOf } from './transport';

afterEach(() => vi.unstubAllGlobals());

type Send = (url: string, init: RequestInit) => Promise<Response>;

function answering(status: number): Mock<Send> {
  const send = vi.fn<Send>(async () => new Response('{}', { status }));
  vi.stubGlobal('fetch', send);
  return send;
}

describe('the proof that a request comes from the page', () => {
  it('is the cookie of the nearest path', () => {
    expect(proofOf('a=1; _xsrf="near|x"; _xsrf=far')).toBe('near|x');
    expect(proofOf('a_xsrf=1')).toBe('');
  });

  it('goes with every request, and no request leaves the origin', async () => {
    const send = answering(200);
    const transport = new PageTransport('/services/hai/', () => '_xsrf=proof');
    expect(transport.url('api/tasks')).toBe('/services/hai/api/v1/tasks');
    await transport.fetch('/x', { headers: { Accept: 'a/b' } });
    const init = send.mock.calls[0]![1];
    expect([...new Headers(init.headers)]).toEqual([
      ['accept', 'a/b'],
      ['x-xsrftoken', 'proof']
    ]);
    expect(init).toMatchObject({ credentials: 'same-origin', redirect: 'error' });
  });
});

describe('a login that has ended', () => {
  it('is told once, and nothing more is sent until there is another', async () => {
    const send = answering(401);
    let cookies = '_xsrf=one';
    const transport = new PageTransport('/services/hai/', () => cookies);
    const told = vi.fn();
    transport.loggedOutChanged.connect((_, out) => void told(out));
    await transport.fetch('/x', {});
    expect(transport.loggedOut).toBe(true);
    const answer = await transport.fetch('/x', {});
    expect([answer.status, send.mock.calls.length]).toEqual([401, 1]);
    expect(((await answer.json()) as { detail: string }).detail).toContain('Log in again');
    // Another tab has logged in.
    cookies = '_xsrf=two';
    send.mockImplementation(async () => new Response('{}', { status: 200 }));
    await transport.fetch('/x', {});
    expect([transport.loggedOut, send.mock.calls.length]).toEqual([false, 2]);
    expect(told.mock.calls).toEqual([[true], [false]]);
  });

  it('is something else than a request that is refused', async () => {
    answering(403);
    const transport = new PageTransport('/services/hai/', () => '_xsrf=one');
    await transport.fetch('/x', {});
    expect(transport.loggedOut).toBe(false);
  });
});
