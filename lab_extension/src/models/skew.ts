/** Whether the page, the server that it came from and the service are of one version, and what to do if not. */

import { VERSION } from '../api/constants';
import { trans } from '../text/translate';

/** What a version counts by; null for a text that is none, which is never shown. Patches of one minor work together. */
function minorOf(version: string | null): string | null {
  return /^(\d{1,4}\.\d{1,4})(?!\d)[\w.+-]{0,40}$/.exec(version ?? '')?.[1] ?? null;
}

/** Listens to the versions in answers, and asks once to load the page again, or to restart the server. */
export class Skew {
  /** Of which versions it was said: in an upgrade, replicas of two answer in turn. */
  private readonly told = new Set<string>();

  /** `tell` is called with a sentence of at most 140 characters, as notifications cut longer ones. */
  constructor(
    private readonly tell: (sentence: string) => void,
    private readonly page: string = VERSION
  ) {}

  /** Take the headers of an answer: the service says its version, and the user's own server adds its own. */
  hear(headers: Headers): void {
    const service = minorOf(headers.get('hai-version'));
    const server = minorOf(headers.get('hai-lab-version'));
    const page = minorOf(this.page);
    if (service === null || this.told.has(service)) {
      return;
    }
    const sentence =
      server !== null && server !== service
        ? trans.__(
            'HAI is %1 now, and this server %2. Save your work, and restart the server (File, Hub Control Panel).',
            service,
            server
          )
        : page !== service
          ? trans.__(
              'HAI is %1 now, and this page %2. Save your work, and load the page again.',
              service,
              page ?? ''
            )
          : null;
    if (sentence !== null) {
      this.told.add(service);
      this.tell(sentence);
    }
  }
}
