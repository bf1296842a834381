/** The way to the platform from the page: the service of the page itself, with the Hub's cookie and its XSRF proof. */

import { Signal } from '@lumino/signaling';
import type { ITransport } from '../api/transport';
import { trans } from '../text/translate';

/** The value of the cookie `_xsrf`; the browser names the one of the nearest path first. */
export function proofOf(cookies: string): string {
  const found = /(?:^|;\s*)_xsrf=("?)([^";]*)\1/.exec(cookies);
  return found?.[2] ?? '';
}

/** Requests to the service. When the login has ended, nothing is sent until there is another one. */
export class PageTransport implements ITransport {
  heard?: NonNullable<ITransport['heard']>;
  readonly loggedOutChanged = new Signal<this, boolean>(this);
  private refused: string | null = null;

  constructor(
    private readonly prefix: string,
    private readonly cookies: () => string = () => document.cookie
  ) {}

  get peer(): string {
    return trans.__('The HAI service');
  }

  /** Whether the login has ended. A login in another tab counts here too. */
  get loggedOut(): boolean {
    return this.refused !== null && this.refused === proofOf(this.cookies());
  }

  url(path: string): string {
    return this.prefix + path.replace(/^api\//, 'api/v1/');
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    const proof = proofOf(this.cookies());
    if (this.loggedOut) {
      return ended();
    }
    const headers = new Headers(init.headers);
    headers.set('X-XSRFToken', proof);
    const response = await fetch(url, { ...init, headers, credentials: 'same-origin', redirect: 'error' });
    const out = response.status === 401;
    if (out !== (this.refused !== null)) {
      this.refused = out ? proof : null;
      this.loggedOutChanged.emit(out);
    }
    // What the service says then is for programs with tokens.
    return out ? ended() : response;
  }
}

function ended(): Response {
  const detail = trans.__('Your login has ended. Log in again to go on.');
  return new Response(JSON.stringify({ status: 401, code: 'unauthorized', detail }), {
    status: 401,
    headers: { 'Content-Type': 'application/problem+json' }
  });
}
