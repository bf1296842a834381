import type { ILauncher } from '@jupyterlab/launcher';
import { describe, expect, it, vi } from 'vitest';
import type { ITransport } from '../api/transport';
import { CommandIDs } from './commandIds';
import { openExamples } from './examples';
import { showOnce } from './firstTime';
import { addCards } from './launcher';

describe('the section of the Launcher', () => {
  it('has what a researcher needs first, in that order', () => {
    const added: ILauncher.IItemOptions[] = [];
    addCards({ add: item => (added.push(item), { dispose: () => undefined, isDisposed: false }) });
    expect(added.map(item => [item.command, item.args?.page ?? null])).toEqual([
      [CommandIDs.submit, null],
      [CommandIDs.studio, 'tasks'],
      [CommandIDs.studio, 'overview'],
      [CommandIDs.environments, null],
      [CommandIDs.examples, null]
    ]);
    expect(added.map(item => item.rank)).toEqual([1, 2, 3, 4, 5]);
    // JupyterLab's first section has rank 0.
    expect(added.every(item => item.categoryRank === -1)).toBe(true);
    expect(added.every(item => item.category === 'HAI' && item.args?.isLauncher === true)).toBe(true);
  });
});

describe('the examples', () => {
  const transport = (answer: Response): ITransport =>
    ({ url: (path: string) => path, fetch: vi.fn(async () => answer) }) as unknown as ITransport;

  it('are written by the server, then the notebook and its folder are shown', async () => {
    const execute = vi.fn(async () => undefined);
    const answer = new Response('{"path": "hai-examples/start-here.ipynb"}');
    await openExamples({ execute, hasCommand: () => true }, transport(answer));
    expect(execute.mock.calls).toEqual([
      ['docmanager:open', { path: 'hai-examples/start-here.ipynb' }],
      ['filebrowser:go-to-path', { path: 'hai-examples', dontShowBrowser: true }]
    ]);
  });

  it('are not opened when the server could not write them', async () => {
    const execute = vi.fn(async () => undefined);
    const answer = new Response('{"detail": "The folder hai-examples cannot be written."}', { status: 409 });
    await openExamples({ execute, hasCommand: () => true }, transport(answer));
    expect(execute).not.toHaveBeenCalled();
  });
});

describe('the panel', () => {
  it('is shown to a user who has never seen it, once', async () => {
    const kept = new Map<string, unknown>();
    const state = {
      fetch: async (id: string) => kept.get(id) as undefined,
      save: async (id: string, value: unknown) => void kept.set(id, value)
    };
    const show = vi.fn();
    await showOnce(state, show);
    await showOnce(state, show);
    expect(show).toHaveBeenCalledOnce();
  });
});
