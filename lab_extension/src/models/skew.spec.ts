import { describe, expect, it, vi } from 'vitest';
import { Skew } from './skew';

/** What is told of answers with these versions, one after the other: of the service, and of the server. */
function told(page: string, ...answers: [string | null, (string | null)?][]): string[] {
  const tell = vi.fn<(sentence: string) => void>();
  const skew = new Skew(tell, page);
  for (const [service, server] of answers) {
    const headers = new Headers();
    if (service !== null) {
      headers.set('HAI-Version', service);
    }
    if (server) {
      headers.set('HAI-Lab-Version', server);
    }
    skew.hear(headers);
  }
  return tell.mock.calls.map(([sentence]) => sentence);
}

const RELOAD = 'HAI is 0.2 now, and this page 0.1. Save your work, and load the page again.';
const RESTART =
  'HAI is 0.2 now, and this server 0.1. Save your work, and restart the server (File, Hub Control Panel).';

describe('the version of the service', () => {
  it.each([
    ['the same', '0.1.0', '0.1.0', '0.1.0', []],
    ['another patch', '0.1.0', '0.1.9', '0.1.3', []],
    ['one under development', '0.2.0', '0.2.0.dev3+g1', null, []],
    ['newer than the page', '0.1.0', '0.2.0', null, [RELOAD]],
    ['newer than a page whose server was restarted', '0.1.0', '0.2.0', '0.2.0', [RELOAD]],
    ['newer than page and server', '0.1.0', '0.2.0', '0.1.0', [RESTART]],
    ['newer than the server alone', '0.2.0', '0.2.0', '0.1.0', [RESTART]],
    ['not said', '0.1.0', null, '0.1.0', []]
  ] as const)('%s', (_, page, service, server, sentences) => {
    expect(told(page, [service, server])).toEqual(sentences);
  });

  it('is told of when the service was set back, too', () => {
    expect(told('0.2.0', ['0.1.0'])[0]).toContain('HAI is 0.1 now, and this page 0.2.');
  });

  it('is told of once, and again after the next change', () => {
    expect(told('0.1.0', ['0.2.0'], ['0.2.0'], ['0.2.1'], ['0.3.0'], ['0.3.0'])).toHaveLength(2);
  });

  it('is told of once while replicas of two versions answer in turn', () => {
    expect(told('0.1.0', ['0.2.0'], ['0.1.0'], ['0.2.0'], ['0.1.0'], ['0.2.0'])).toHaveLength(1);
  });

  it.each(['', 'x', '<b>0.2</b>', '0.2.0 <img>', '9'.repeat(10_000), '0.99999', '0.2.0"'])(
    'is not taken from what is no version: %s',
    odd => {
      expect(told('0.1.0', [odd], ['0.1.0', odd])).toEqual([]);
    }
  );

  it('fits into a notification', () => {
    for (const sentence of [
      ...told('9999.9999', ['1000.1000']),
      ...told('1.1', ['1000.1000', '9999.9999'])
    ]) {
      expect(sentence.length).toBeLessThanOrEqual(140);
    }
  });
});
