/** Keys of what was told already; with a name, those of all tabs of this browser. */

/** Keys that are kept at most. */
const MOST = 200;

/** The newest keys. */
export class SeenKeys {
  private keys: string[] = [];

  /** @param name Under which the browser keeps them; null: only this page does. */
  constructor(private readonly name: string | null) {}

  /** Remember a key; false if it was known. */
  add(key: string): boolean {
    const keys = this.read();
    if (keys.includes(key)) {
      return false;
    }
    this.keys = [...keys, key].slice(-MOST);
    if (this.name !== null) {
      try {
        localStorage.setItem(this.name, JSON.stringify(this.keys));
      } catch {
        // A browser that keeps nothing: this page still knows.
      }
    }
    return true;
  }

  private read(): string[] {
    if (this.name === null) {
      return this.keys;
    }
    try {
      const kept: unknown = JSON.parse(localStorage.getItem(this.name) ?? '[]');
      return Array.isArray(kept) ? kept.map(String) : this.keys;
    } catch {
      return this.keys;
    }
  }
}
