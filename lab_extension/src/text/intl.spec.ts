import { afterEach, describe, expect, it, vi } from 'vitest';
import { momentFormat, numberFormat } from './intl';
import { takeCatalogue } from './translate';

afterEach(() => {
  takeCatalogue(null, 'en');
  vi.restoreAllMocks();
});

describe('formats', () => {
  it('are made once for each language and kind', () => {
    expect(numberFormat()).toBe(numberFormat());
    expect(numberFormat({ maximumFractionDigits: 2 })).not.toBe(numberFormat());
    expect(momentFormat({ hour: '2-digit' })).toBe(momentFormat({ hour: '2-digit' }));
    takeCatalogue(null, 'de');
    expect(numberFormat().format(1234.5)).toBe('1.234,5');
    takeCatalogue(null, 'en');
    expect(numberFormat().format(1234.5)).toBe('1,234.5');
  });

  it('are others when the reader is in another time zone', () => {
    const before = momentFormat({ hour: '2-digit' });
    vi.spyOn(Date.prototype, 'getTimezoneOffset').mockReturnValue(-765);
    expect(momentFormat({ hour: '2-digit' })).not.toBe(before);
  });
});
