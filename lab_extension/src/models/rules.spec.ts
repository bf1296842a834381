import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { aChannel, someNotifications, someRules } from '../testing/notifications';
import { anEvent, FakeStream } from '../testing/fakes';
import { Feed } from './feed';
import { RulesModel } from './rules';

describe('the rules of a user', () => {
  let feed: Feed;
  let stream: FakeStream;
  beforeEach(() => {
    vi.useFakeTimers();
    stream = new FakeStream();
    feed = new Feed({ events: () => stream });
  });
  afterEach(() => {
    feed.dispose();
    vi.useRealTimers();
  });
  async function open(api = someNotifications()): Promise<RulesModel> {
    const model = new RulesModel({ notifications: api }, feed);
    void model.start();
    await vi.advanceTimersByTimeAsync(10);
    return model;
  }
  const channelsOf = (model: RulesModel, kind: string): string[] | undefined =>
    model.rules?.rules.find(rule => rule.kind === kind)?.channels;

  it('are changed one kind at a time, and everything else is written as it was', async () => {
    const api = someNotifications({ rules: someRules({ mail: 'ann@example.org', waits_longer_s: 7200 }) });
    const model = await open(api);
    await model.choose('failed', 'browser', false);
    expect(api.put).toHaveBeenCalledExactlyOnceWith({
      rules: [{ kind: 'failed', channels: ['lab'] }],
      waits_longer_s: 7200,
      mail: 'ann@example.org',
      webhook: null
    });
    expect(channelsOf(model, 'failed')).toEqual(['lab']);
    model.dispose();
  });

  it('show a change at once, and quick clicks do not overtake each other', async () => {
    const api = someNotifications();
    const model = await open(api);
    const clicks = [
      model.choose('waiting', 'lab', true),
      model.choose('waiting', 'browser', true),
      model.choose('failed', 'lab', false)
    ];
    expect(channelsOf(model, 'waiting')).toEqual(['lab', 'browser']);
    await Promise.all(clicks);
    expect(api.put.mock.calls.map(([change]) => change.rules)).toEqual([
      [{ kind: 'waiting', channels: ['lab'] }],
      [{ kind: 'waiting', channels: ['lab', 'browser'] }],
      [{ kind: 'failed', channels: ['browser'] }]
    ]);
    expect(channelsOf(model, 'waiting')).toEqual(['lab', 'browser']);
    expect(channelsOf(model, 'failed')).toEqual(['browser']);
    model.dispose();
  });

  it('are shown as they are when a change is refused', async () => {
    const api = someNotifications();
    const model = await open(api);
    vi.spyOn(api, 'putRules').mockRejectedValueOnce(new Error('mail: is missing'));
    await expect(model.choose('failed', 'mail', true)).rejects.toThrow('mail: is missing');
    await vi.advanceTimersByTimeAsync(10);
    expect(channelsOf(model, 'failed')).toEqual(['browser', 'lab']);
    await model.choose('failed', 'sink:ops', true);
    expect(channelsOf(model, 'failed')).toEqual(['browser', 'lab', 'sink:ops']);
    model.dispose();
  });

  it('drop a sink that is gone, which the service would refuse', async () => {
    const gone = 'sink:old';
    const rules = someRules({
      rules: [{ kind: 'failed', channels: ['lab', gone] }],
      channels: [aChannel('lab'), aChannel('browser'), aChannel(gone, { missing: 'There is no such sink.' })]
    });
    const api = someNotifications({ rules });
    const model = await open(api);
    await model.choose('failed', 'browser', true);
    expect(api.put.mock.calls[0]![0].rules).toEqual([{ kind: 'failed', channels: ['lab', 'browser'] }]);
    model.dispose();
  });

  it('have a new key in the answer of the change that has made it', async () => {
    const model = await open();
    const answer = await model.write({ webhook: 'https://hooks.example.org/hai' });
    expect(answer.webhook_secret).toBe('whsec_new');
    expect((await model.write({ mail: 'ann@example.org' })).webhook_secret).toBeNull();
    expect(model.rules).toMatchObject({ mail: 'ann@example.org', webhook: 'https://hooks.example.org/hai' });
    model.dispose();
  });

  it('are read again when they were changed elsewhere', async () => {
    const api = someNotifications();
    const model = await open(api);
    feed.start();
    await api.putRules({ rules: [{ kind: 'failed', channels: [] }] });
    stream.send('x', anEvent(1, 'notification.rules'), '1');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(channelsOf(model, 'failed')).toEqual([]);
    model.dispose();
  });
});
