import { describe, expect, it } from 'vitest';
import { toggled } from './choice';

describe('a choice', () => {
  it('has one more after a click, and one less after the next, and leaves the earlier one as it was', () => {
    const before = new Set(['a']);
    const after = toggled(before, 'b');
    expect([...after]).toEqual(['a', 'b']);
    expect([...toggled(after, 'a')]).toEqual(['b']);
    expect([...before]).toEqual(['a']);
  });

  it('of one alone has no other beside it', () => {
    expect([...toggled(new Set(['a']), 'b', false)]).toEqual(['b']);
    expect([...toggled(new Set(['a']), 'a', false)]).toEqual([]);
  });
});
