/** What a page draws on, for tests: jsdom has no canvas. It counts the points of lines. */

import { vi } from 'vitest';

/** Give the page a canvas that draws nothing, until the end of the test. Returns how many points of lines were drawn. */
export function withCanvas(): () => number {
  let points = 0;
  class Path {
    lineTo(): void {
      points += 1;
    }
    moveTo(): void {
      points += 1;
    }
    rect(): void {}
    arc(): void {}
    closePath(): void {}
    addPath(): void {}
  }
  const context = new Proxy<Record<string, unknown>>(
    {},
    {
      get: (kept, name: string) => kept[name] ?? (() => ({ width: 10 })),
      set: (kept, name: string, value) => {
        kept[name] = value;
        return true;
      }
    }
  );
  vi.stubGlobal('Path2D', Path);
  vi.stubGlobal(
    'ResizeObserver',
    class {
      observe(): void {}
      disconnect(): void {}
    }
  );
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(context as never);
  return () => points;
}
