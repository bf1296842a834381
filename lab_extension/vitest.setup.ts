import { cleanup } from '@testing-library/react';
import { afterEach } from 'vitest';

// jsdom lacks what Lumino touches when it is imported.
globalThis.DragEvent ??= class DragEvent extends Event {} as unknown as typeof globalThis.DragEvent;
window.matchMedia ??= ((query: string) => ({
  matches: false,
  media: query,
  addEventListener() {},
  removeEventListener() {}
})) as unknown as typeof window.matchMedia;
window.requestIdleCallback ??= ((work: () => void) =>
  setTimeout(work, 0)) as unknown as typeof requestIdleCallback;

afterEach(cleanup);
