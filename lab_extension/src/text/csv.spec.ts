import { describe, expect, it } from 'vitest';
import { cellOf, csvOf } from './csv';

describe('CSV', () => {
  it('has a head, and ends each line as spreadsheets expect', () => {
    expect(csvOf(['a', 'b'], [['x', 1.5]])).toBe('a,b\r\nx,1.5\r\n');
  });

  it('keeps commas, quotes and lines within a cell', () => {
    expect(cellOf('a, "b"\nc')).toBe('"a, ""b""\nc"');
  });

  it('gives a spreadsheet no formula to compute', () => {
    expect(cellOf('=HYPERLINK("x")')).toBe(`"'=HYPERLINK(""x"")"`);
    expect(['+1', '-1', '@a', '\tx'].map(cellOf)).toEqual(["'+1", "'-1", "'@a", "'\tx"]);
    expect(cellOf(-1)).toBe('-1');
  });

  it('leaves a cell without a value empty', () => {
    expect(cellOf(null)).toBe('');
  });
});
