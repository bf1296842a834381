import { describe, expect, it, vi } from 'vitest';
import { ApiError } from '../api/request';
import { FakeStream, aBuild, anEnvironmentDetail, someEnvironments, somePlatform } from '../testing/fakes';
import { BuildModel } from './build';
import { EnvironmentsModel } from './environments';

const turn = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 0));

function aModel(given: Parameters<typeof someEnvironments>[0] = {}): {
  model: EnvironmentsModel;
  api: ReturnType<typeof someEnvironments>;
} {
  const api = someEnvironments(given);
  const platform = somePlatform();
  return { model: new EnvironmentsModel(api, platform, 1), api };
}

describe('the environments', () => {
  it('are read with what is shown of one, and a removed one is shown no longer', async () => {
    const { model, api } = aModel();
    await model.refresh();
    expect(model.mayChange('users/ann/vision')).toBe(true);
    expect(model.mayChange('base/torch')).toBe(false);
    await model.select('users/ann/vision');
    expect(model.detail?.packages).toEqual({ timm: '1.0.20' });
    api.list = async () => ({ items: [], owners: ['users/ann'], builds: [] });
    await model.refresh();
    expect([model.selected, model.detail, model.shown]).toEqual([null, null, null]);
  });

  it('go to the platform as it takes them, where this server may not', async () => {
    const platform = somePlatform(['users/ann', 'base']);
    const model = new EnvironmentsModel(someEnvironments(), platform, 1);
    await model.refresh();
    expect(model.platformOwners).toEqual(['base']);
    const name = 'base/torch';
    expect(await model.begin({ verb: 'create', name, python: '3.11', requirements: [] })).toBe(true);
    expect(await model.begin({ verb: 'uninstall', name, packages: ['timm'] })).toBe(true);
    expect(await model.begin({ verb: 'rollback', name, generation: 2 })).toBe(true);
    expect(await model.begin({ verb: 'share', name, group: 'cv' })).toBe(true);
    expect(await model.begin({ verb: 'unshare', name, all: true })).toBe(true);
    expect(await model.begin({ verb: 'remove', name })).toBe(true);
    expect(vi.mocked(platform.build).mock.calls.map(call => call[1])).toEqual([
      { verb: 'create', extend: null, python: '3.11', kernel: true, requirements: [] },
      { verb: 'uninstall', requirements: ['timm'] },
      { verb: 'rollback', generation: 2 },
      { verb: 'share', groups: ['cv'], users: [], everyone: false },
      { verb: 'unshare', groups: [], users: [], everyone: true },
      { verb: 'remove' }
    ]);
    platform.build = async () => {
      throw new ApiError({
        status: 403,
        code: 'forbidden',
        detail: 'base environments are built by admins.'
      });
    };
    expect(await model.begin({ verb: 'remove', name })).toBe(false);
    expect(model.refusal).toMatch(/built by admins/);
    platform.environments = async () => {
      throw new ApiError({ status: 503, code: 'unavailable', detail: 'away' });
    };
    await model.refresh();
    expect([model.error, model.ready]).toEqual([null, true]);
  });

  it('say why they cannot be read, and nothing of it once they can', async () => {
    const { model, api } = aModel();
    const list = api.list;
    api.list = async () => {
      throw new ApiError({ status: 503, code: 'unavailable', detail: 'haienv is not installed.' });
    };
    await model.refresh();
    expect([model.ready, model.error]).toEqual([false, 'haienv is not installed.']);
    api.list = list;
    await model.refresh();
    expect([model.ready, model.error]).toEqual([true, null]);
  });

  it('do not show an answer for another one than is chosen by now', async () => {
    const { model, api } = aModel();
    await model.refresh();
    let answer: (value: ReturnType<typeof anEnvironmentDetail>) => void = () => {};
    api.show = () => new Promise(resolve => (answer = resolve));
    const first = model.select('users/ann/vision');
    api.show = async () => anEnvironmentDetail({ name: 'base/torch' });
    await model.select('base/torch');
    answer(anEnvironmentDetail({ name: 'users/ann/vision' }));
    await first;
    expect(model.detail?.name).toBe('base/torch');
  });

  it('compare two generations', async () => {
    const { model, api } = aModel();
    await model.refresh();
    await model.select('users/ann/vision');
    await model.compare(1, 2);
    expect(api.diff).toHaveBeenCalledWith('users/ann/vision@1', 'users/ann/vision@2');
    expect(model.comparison?.changes).toHaveLength(1);
  });

  it('are read again at the end of a build, whose output is shown', async () => {
    const stream = new FakeStream();
    const { model, api } = aModel({ log: () => stream });
    await model.refresh();
    const published = vi.fn();
    model.published.connect(published);
    const began = await model.begin({ verb: 'create', name: 'users/ann/new', requirements: [] });
    expect([began, model.selected]).toEqual([true, 'users/ann/new']);
    stream.send('line', { text: 'resolving' }, '1');
    await turn();
    expect(model.build?.lines).toEqual(['resolving']);
    await model.refresh();
    expect(model.selected, 'it is not in the list yet').toBe('users/ann/new');
    const read = vi.spyOn(api, 'list');
    stream.send('end', aBuild({ state: 'done', status: 0 }));
    await vi.waitFor(() => expect(read).toHaveBeenCalledTimes(1));
    expect(published).toHaveBeenCalledTimes(1);
    expect(model.build?.build.state).toBe('done');
    model.closeBuild();
    expect(model.build).toBeNull();
  });

  it('say why a change was refused', async () => {
    const { model } = aModel({
      begin: async () => {
        throw new ApiError({ status: 409, code: 'conflict', detail: 'It is being changed already.' });
      }
    });
    expect(await model.begin({ verb: 'remove', name: 'users/ann/vision' })).toBe(false);
    expect(model.refusal).toBe('It is being changed already.');
  });

  it('follow a build that runs already when the page is opened', async () => {
    const { model, api } = aModel();
    api.list = async () => ({ items: [], owners: [], builds: [aBuild({ id: 9 })] });
    await model.refresh();
    expect(model.build?.build.id).toBe(9);
  });

  it('are watched only while something shows them', async () => {
    const stream = new FakeStream();
    const signals: AbortSignal[] = [];
    const { model, api } = aModel({
      watch: signal => {
        signals.push(signal);
        return stream;
      }
    });
    const read = vi.spyOn(api, 'list');
    model.watch(true);
    model.watch(true);
    expect(signals).toHaveLength(1);
    stream.send('changed', {});
    await vi.waitFor(() => expect(read).toHaveBeenCalledTimes(1));
    model.watch(false);
    expect(signals[0]?.aborted).toBe(true);
    model.watch(true);
    expect(signals).toHaveLength(2);
    model.dispose();
  });
});

describe('the output of a build', () => {
  it('goes on after a lost connection behind the last line', async () => {
    const streams = [new FakeStream(), new FakeStream()];
    const after: number[] = [];
    const model = new BuildModel(
      aBuild(),
      {
        log: (_id, last) => {
          after.push(last);
          return streams[after.length - 1]!;
        },
        stop: vi.fn()
      },
      1
    );
    const followed = model.follow();
    streams[0]?.send('line', { text: 'one' }, '1');
    await turn();
    streams[0]?.end(new Error('gone'));
    await vi.waitFor(() => expect(after).toEqual([0, 1]));
    expect(model.error).toBe('gone');
    streams[1]?.send('line', { text: 'two' }, '2');
    streams[1]?.send('end', aBuild({ state: 'failed', status: 1 }));
    await followed;
    expect([model.lines, model.error, model.build.state]).toEqual([['one', 'two'], null, 'failed']);
  });

  it('keeps a bounded number of lines', async () => {
    const stream = new FakeStream();
    const model = new BuildModel(aBuild(), { log: () => stream, stop: vi.fn() });
    const followed = model.follow();
    for (let number = 1; number <= 5_010; number += 1) {
      stream.send('line', { text: `l${number}` }, String(number));
    }
    stream.send('end', aBuild({ state: 'done', status: 0 }));
    await followed;
    expect(model.lines).toHaveLength(5_000);
    expect(model.lines.at(-1)).toBe('l5010');
  });
});
