/** Answers that are older than an event which they should show. The service shares an answer for a moment, and plans a moment after each change. */

/** How often is asked again after one event: where clocks differ or nothing plans, it ends all the same. */
const TRIES = 5;

/** Knows the newest event that answers should show, by a mark that grows with time. */
export class CatchUp {
  private newest = -Infinity;
  private left = 0;

  /** From now on answers should be as new as this. */
  expect(mark: number): void {
    if (mark > this.newest) {
      this.newest = mark;
      this.left = TRIES;
    }
  }

  /** Whether to ask again after an answer that is as new as this. */
  again(mark: number): boolean {
    if (mark >= this.newest || this.left === 0) {
      return false;
    }
    this.left -= 1;
    return true;
  }
}
