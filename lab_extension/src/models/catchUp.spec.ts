import { describe, expect, it } from 'vitest';
import { CatchUp } from './catchUp';

describe('an answer that is too old', () => {
  it('is asked for again until it is as new as the newest event', () => {
    const catchUp = new CatchUp();
    expect(catchUp.again(0)).toBe(false);
    catchUp.expect(7);
    catchUp.expect(5);
    expect([catchUp.again(6), catchUp.again(7)]).toEqual([true, false]);
  });

  it('is asked for a few times only', () => {
    const catchUp = new CatchUp();
    catchUp.expect(7);
    expect([1, 2, 3, 4, 5, 6, 7].map(() => catchUp.again(1))).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
      false
    ]);
    catchUp.expect(8);
    expect(catchUp.again(1)).toBe(true);
  });
});
