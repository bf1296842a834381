import { describe, expect, it, vi } from 'vitest';
import { FakeStream, anEvent } from '../testing/fakes';
import { AdminModel } from './admin';
import { Feed } from './feed';

describe('what pages for admins read', () => {
  it('never shows the answer to an earlier question as that to the latest', async () => {
    const answers: Record<string, (text: string) => void> = {};
    const ask = (question: string): Promise<string> => new Promise(resolve => (answers[question] = resolve));
    const feed = new Feed({ events: () => new FakeStream() });
    const model = new AdminModel<string, string>({ feed, name: 'test', kinds: [], ask, question: 'a' });
    await model.start();
    await vi.waitFor(() => expect(answers.a).toBeDefined());
    model.look('b');
    await vi.waitFor(() => expect(answers.b).toBeDefined());
    answers.b?.('of b');
    await vi.waitFor(() => expect(model.value).toBe('of b'));
    answers.a?.('of a');
    await Promise.resolve();
    await new Promise(resolve => setTimeout(resolve, 0));
    expect(model.value).toBe('of b');
    model.dispose();
  });

  it('reads again on the events that concern it, and on no others', async () => {
    const stream = new FakeStream();
    const feed = new Feed({ events: () => stream });
    const ask = vi.fn(async () => 1);
    const model = new AdminModel<null, number>({
      feed,
      name: 'test',
      kinds: ['quota.'],
      ask,
      question: null
    });
    const concerns = (kind: string): boolean =>
      (model as unknown as { concerns: (event: object) => boolean }).concerns(anEvent(1, kind));
    expect([concerns('quota.put'), concerns('node.cordoned')]).toEqual([true, false]);
    model.dispose();
  });
});
