import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Attention, canNotify, Outside, permission } from './attention';
import type { ITelling } from './told';

/** The locks of a browser, as all its tabs share them. */
class FakeLocks {
  readonly waiting: { name: string; mode: LockMode; signal: AbortSignal; begin: () => void }[] = [];
  readonly heldNow: { name: string; mode: LockMode }[] = [];

  request(
    name: string,
    { mode, signal }: { mode: LockMode; signal: AbortSignal },
    work: () => Promise<void> | undefined
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      const entry = {
        name,
        mode,
        signal,
        begin: () => {
          const held = { name, mode };
          this.heldNow.push(held);
          void Promise.resolve(work()).then(() => {
            this.heldNow.splice(this.heldNow.indexOf(held), 1);
            this.pump();
            resolve();
          });
        }
      };
      signal.addEventListener('abort', () => {
        const at = this.waiting.indexOf(entry);
        if (at >= 0) {
          this.waiting.splice(at, 1);
          reject(new DOMException('given up', 'AbortError'));
        }
      });
      this.waiting.push(entry);
      this.pump();
    });
  }

  async query(): Promise<{ held: { name: string; mode: LockMode }[] }> {
    return { held: [...this.heldNow] };
  }

  private pump(): void {
    for (const entry of [...this.waiting]) {
      const others = this.heldNow.filter(held => held.name === entry.name);
      if (others.every(held => held.mode === 'shared' && entry.mode === 'shared')) {
        this.waiting.splice(this.waiting.indexOf(entry), 1);
        entry.begin();
      }
    }
  }
}

class FakeNotification {
  static permission: NotificationPermission = 'granted';
  static readonly shown: FakeNotification[] = [];
  onclick: (() => void) | null = null;
  readonly close = vi.fn();

  constructor(
    readonly title: string,
    readonly options: NotificationOptions
  ) {
    FakeNotification.shown.push(this);
  }
}

const telling: ITelling = { key: '7@now', kind: 'error', text: 'It failed.', task: 41, stale: false };
const settle = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 0));

describe('which tabs listen, and what the browser shows', () => {
  let locks: FakeLocks;
  let hidden: boolean;
  const turn = async (to: boolean): Promise<void> => {
    hidden = to;
    document.dispatchEvent(new Event('visibilitychange'));
    await settle();
  };
  const aFeed = (): { start: () => void; stop: () => void } => ({ start: vi.fn(), stop: vi.fn() });

  beforeEach(() => {
    localStorage.clear();
    FakeNotification.permission = 'granted';
    FakeNotification.shown.length = 0;
    locks = new FakeLocks();
    hidden = false;
    vi.stubGlobal('Notification', FakeNotification);
    Object.defineProperty(navigator, 'locks', { configurable: true, value: locks });
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
  });
  afterEach(() => {
    vi.unstubAllGlobals();
    Reflect.deleteProperty(navigator, 'locks');
    Reflect.deleteProperty(document, 'hidden');
  });

  it('is each tab that is seen, and no hidden one without permission', async () => {
    FakeNotification.permission = 'default';
    const feed = aFeed();
    const attention = new Attention(feed);
    await settle();
    expect(feed.start).toHaveBeenCalledOnce();
    await turn(true);
    expect(feed.stop).toHaveBeenCalledOnce();
    expect(feed.start).toHaveBeenCalledOnce();
    attention.dispose();
  });

  it('is one of all hidden tabs, and another one when that is closed', async () => {
    const [first, second] = [aFeed(), aFeed()];
    const one = new Attention(first);
    const other = new Attention(second);
    await turn(true);
    expect([first, second].map(feed => vi.mocked(feed.start).mock.calls.length)).toEqual([2, 1]);
    one.dispose();
    await settle();
    expect(second.start).toHaveBeenCalledTimes(2);
    other.dispose();
    await settle();
    expect([locks.heldNow, locks.waiting]).toEqual([[], []]);
  });

  it('is shown once, by whichever tab', async () => {
    await new Outside(vi.fn()).show(telling);
    await new Outside(vi.fn()).show(telling);
    expect(FakeNotification.shown.map(each => each.options)).toEqual([
      { body: 'It failed.', tag: 'hai-7@now' }
    ]);
  });

  it('is not shown while another tab of HAI is seen, or without permission', async () => {
    const attention = new Attention(aFeed());
    await settle();
    await new Outside(vi.fn()).show(telling);
    attention.dispose();
    await settle();
    FakeNotification.permission = 'denied';
    await new Outside(vi.fn()).show(telling);
    expect(FakeNotification.shown).toEqual([]);
  });

  it('opens its task when it is clicked', async () => {
    const open = vi.fn();
    vi.spyOn(window, 'focus').mockImplementation(() => undefined);
    await new Outside(open).show(telling);
    FakeNotification.shown[0]!.onclick?.();
    expect(open).toHaveBeenCalledExactlyOnceWith(telling);
    expect(FakeNotification.shown[0]!.close).toHaveBeenCalledOnce();
  });

  it('needs a browser that can, which on plain HTTP it cannot', () => {
    expect([canNotify(), permission()]).toEqual([true, 'granted']);
    Reflect.deleteProperty(navigator, 'locks');
    expect([canNotify(), permission()]).toEqual([false, 'denied']);
  });
});
