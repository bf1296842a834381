import { beforeEach, describe, expect, it, vi } from 'vitest';
import { SeenKeys } from './seen';

describe('keys that were seen', () => {
  beforeEach(() => localStorage.clear());

  it('are known once, and with a name in all tabs', () => {
    const [one, other] = [new SeenKeys('hai:test'), new SeenKeys('hai:test')];
    expect(one.add('a')).toBe(true);
    expect(one.add('a')).toBe(false);
    expect(other.add('a')).toBe(false);
    expect(other.add('b')).toBe(true);
    expect(one.add('b')).toBe(false);
  });

  it('are this page’s alone without a name', () => {
    new SeenKeys(null).add('a');
    expect(new SeenKeys(null).add('a')).toBe(true);
    expect(localStorage.length).toBe(0);
  });

  it('do not grow without end: the oldest are forgotten', () => {
    const keys = new SeenKeys('hai:test');
    for (let n = 0; n <= 200; n++) {
      keys.add(String(n));
    }
    expect(keys.add('200')).toBe(false);
    expect(keys.add('0')).toBe(true);
  });

  it('are kept by the page where the browser keeps nothing, or something else', () => {
    localStorage.setItem('hai:test', '{not json');
    const keys = new SeenKeys('hai:test');
    vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
      throw new Error('full');
    });
    expect(keys.add('a')).toBe(true);
    expect(keys.add('a')).toBe(false);
  });
});
