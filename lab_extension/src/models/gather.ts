/** Gathers what comes one by one, to be taken together. */

/** Hands on all that was added within `ms` milliseconds, in order. */
export class Gather<T> {
  private items: T[] = [];
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private readonly take: (items: readonly T[]) => void,
    private readonly ms: number
  ) {}

  add(item: T): void {
    this.items.push(item);
    this.timer ??= setTimeout(() => this.flush(), this.ms);
  }

  /** Hand on what there is now. */
  flush(): void {
    const { items } = this;
    this.clear();
    if (items.length > 0) {
      this.take(items);
    }
  }

  /** Forget what was not handed on. */
  clear(): void {
    if (this.timer !== null) {
      clearTimeout(this.timer);
      this.timer = null;
    }
    this.items = [];
  }
}
