import { describe, expect, it, vi } from 'vitest';
import type { IPolicyTrial } from '../api/types';
import { FakeStream } from '../testing/fakes';
import { TrialModel } from './trial';

const ASKED: IPolicyTrial = { group: null, set: { slice: '1h' }, unset: [], days: 3 };

function aTrial(): { model: TrialModel; streams: FakeStream[]; signals: AbortSignal[] } {
  const streams: FakeStream[] = [];
  const signals: AbortSignal[] = [];
  const tryPolicy = (_: IPolicyTrial, signal: AbortSignal): FakeStream => {
    const stream = new FakeStream();
    streams.push(stream);
    signals.push(signal);
    return stream;
  };
  return { model: new TrialModel({ tryPolicy }), streams, signals };
}

describe('a trial', () => {
  it('tells how far it is, and then its result', async () => {
    const { model, streams } = aTrial();
    const running = model.run(ASKED);
    expect([model.status, model.done, model.asked]).toEqual(['running', 0, ASKED]);
    streams[0]?.send('progress', { done: 0.4 });
    await vi.waitFor(() => expect(model.done).toBe(0.4));
    streams[0]?.send('result', { tasks: 12 });
    streams[0]?.send('end', {});
    streams[0]?.end();
    await running;
    expect([model.status, model.result?.tasks]).toEqual(['done', 12]);
  });

  it('closes the request when it is cancelled, and shows nothing of it that comes late', async () => {
    const { model, streams, signals } = aTrial();
    const running = model.run(ASKED);
    model.cancel();
    expect([model.status, signals[0]?.aborted]).toEqual(['cancelled', true]);
    streams[0]?.send('result', { tasks: 12 });
    await running;
    expect([model.status, model.result]).toEqual(['cancelled', null]);
  });

  it('is ended by the next one, whose result counts', async () => {
    const { model, streams, signals } = aTrial();
    const first = model.run(ASKED);
    const second = model.run({ ...ASKED, days: 7 });
    expect(signals.map(signal => signal.aborted)).toEqual([true, false]);
    streams[0]?.end(new Error('of the first'));
    streams[1]?.send('result', { tasks: 7 });
    streams[1]?.end();
    await Promise.all([first, second]);
    expect([model.status, model.result?.tasks, model.error]).toEqual(['done', 7, null]);
  });

  it('fails with the words of the service, and when the stream ends too early', async () => {
    const { model, streams } = aTrial();
    let running = model.run(ASKED);
    streams[0]?.end(new Error('slice: too long.'));
    await running;
    expect([model.status, String(model.error)]).toEqual(['failed', 'Error: slice: too long.']);
    running = model.run(ASKED);
    streams[1]?.end();
    await running;
    expect([model.status, String(model.error)]).toEqual([
      'failed',
      'Error: The trial ended without a result. Try it again.'
    ]);
  });

  it('ends its computation when nobody looks at it any more', () => {
    const { model, signals } = aTrial();
    void model.run(ASKED);
    model.dispose();
    expect(signals[0]?.aborted).toBe(true);
  });
});
