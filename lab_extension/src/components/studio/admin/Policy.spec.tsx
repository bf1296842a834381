import { act, fireEvent, screen, waitFor, within } from '@testing-library/react';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../../../api/request';
import type { IPolicy, IPolicyNumber, IPolicyValue, ITrial, ITrialSide } from '../../../api/types';
import { anEvent, FakeStream } from '../../../testing/fakes';
import { showPage } from '../../../testing/studio';
import { duration } from '../../../text/format';
import { changeOf, othersWords, resettable } from './policy';
import { PolicyPage } from './Policy';
import { differenceText, trialRows } from './Trial';

function aValue(value: unknown, given: Partial<IPolicyValue> = {}): IPolicyValue {
  return { value, length_s: null, source: 'default', group: null, by: null, at: null, ...given };
}

function aNumber(name: string, kind: IPolicyNumber['kind'], value: unknown): IPolicyNumber {
  const common = aValue(value);
  const groups = { gold: common, training: common };
  return {
    name,
    kind,
    rule: 'P2',
    help: `What ${name} does.`,
    choices: [],
    default: value,
    common,
    groups
  };
}

function aPolicy(given: { slice?: IPolicyNumber; version?: string } = {}): IPolicy {
  return {
    numbers: [
      given.slice ?? aNumber('slice', 'duration', '30m'),
      aNumber('slice_growth', 'float', 2),
      aNumber('weights', 'weights', {})
    ],
    groups: ['gold', 'training'],
    trouble: null,
    warnings: [],
    version: given.version ?? 'v1'
  };
}

/** `slice`, of which an admin has set the common value. */
function setSlice(value: string): IPolicyNumber {
  const common = aValue(value, { source: 'admin', by: 'bob', at: '2026-11-21T04:00:00Z' });
  const gold = aValue('2h', { source: 'configuration', group: 'gold' });
  return { ...aNumber('slice', 'duration', '30m'), common, groups: { training: common, gold } };
}

function aSide(given: Partial<ITrialSide> = {}): ITrialSide {
  return {
    occupancy: 0.9,
    useful: 0.8,
    turns: 10,
    interruptions: 4,
    lost_node_s: 3600,
    unfinished: 0,
    levels: [{ level: 'NORMAL', tasks: 12, wait_p50_s: 60, wait_p90_s: 600, interruptions: 4 }],
    groups: [],
    ...given
  };
}

const TRIAL: ITrial = {
  since: '2026-11-18T00:00:00Z',
  until: '2026-11-21T04:00:00Z',
  tasks: 12,
  measured: aSide({ occupancy: null }),
  old: aSide(),
  new: aSide({ useful: 0.85, interruptions: 1, lost_node_s: 1800 }),
  assumptions: [
    { name: 'users', sentence: 'Users would have submitted the same tasks.', count: null, length_s: null }
  ]
};

async function page(given: { policy?: IPolicy; query?: Record<string, string> } = {}) {
  const policy = vi.fn(async () => given.policy ?? aPolicy());
  const putPolicy = vi.fn();
  const streams: { stream: FakeStream; asked: unknown; signal: AbortSignal }[] = [];
  const tryPolicy = (asked: unknown, signal: AbortSignal): FakeStream => {
    streams.push({ stream: new FakeStream(), asked, signal });
    return streams.at(-1)!.stream;
  };
  const shown = showPage(<PolicyPage />, {
    api: { policy },
    admin: { putPolicy, tryPolicy },
    query: given.query ?? {}
  });
  await screen.findByTestId('hai-policy');
  return { ...shown, policy, putPolicy, streams };
}

const field = (name: string): HTMLInputElement => screen.getByLabelText(`${name} in force`);
const type = (name: string, value: string): unknown => fireEvent.change(field(name), { target: { value } });

describe('the policy numbers', () => {
  const scrolled = vi.fn();
  beforeAll(() => {
    // jsdom has none.
    Element.prototype.scrollIntoView = scrolled;
  });
  beforeEach(() => void scrolled.mockClear());
  afterAll(() => {
    delete (Element.prototype as Partial<Element>).scrollIntoView;
  });

  it('say what they do, their default, the value in force and where it comes from', async () => {
    await page({ policy: aPolicy({ slice: setSlice('1h') }) });
    const row = screen.getByRole('row', { name: /^slice interruptions among equals \(P2\)/ });
    const cells = within(row)
      .getAllByRole('cell')
      .map(cell => cell.textContent);
    expect(cells).toEqual([
      'What slice does.',
      '30m',
      '',
      expect.stringMatching(/^bob, for all node groups, /),
      'gold: 2h',
      'Reset'
    ]);
    expect(field('slice').value).toBe('1h');
  });

  it('are chosen where only some words are allowed, each with what it does', async () => {
    const snapshots: IPolicyNumber = {
      ...aNumber('snapshots', 'choice', 'offered'),
      choices: [
        { word: 'off', meaning: 'none does' },
        { word: 'offered', meaning: 'users choose' }
      ]
    };
    const { putPolicy } = await page({ policy: aPolicy({ slice: snapshots }) });
    putPolicy.mockResolvedValue(aPolicy());
    const choice = screen.getByRole<HTMLSelectElement>('combobox', { name: 'snapshots in force' });
    expect([...choice.options].map(option => option.label)).toEqual([
      'off (none does)',
      'offered (users choose)'
    ]);
    expect(choice.value).toBe('offered');
    fireEvent.change(choice, { target: { value: 'off' } });
    fireEvent.click(screen.getByText('Save'));
    await waitFor(() => expect(putPolicy).toHaveBeenCalledOnce());
    expect(putPolicy.mock.calls[0]![0]).toEqual({ group: null, set: { snapshots: 'off' }, unset: [] });
  });

  it('show those of a node group, and are changed in it alone', async () => {
    const { putPolicy } = await page({
      policy: aPolicy({ slice: setSlice('1h') }),
      query: { group: 'gold' }
    });
    putPolicy.mockResolvedValue(aPolicy());
    expect(field('slice').value).toBe('2h');
    type('slice_growth', '3');
    fireEvent.click(screen.getByText('Save'));
    await waitFor(() => expect(putPolicy).toHaveBeenCalledOnce());
    expect(putPolicy.mock.calls[0]).toEqual([{ group: 'gold', set: { slice_growth: 3 }, unset: [] }, 'v1']);
  });

  it('say that a node group is not there', async () => {
    showPage(<PolicyPage />, { api: { policy: async () => aPolicy() }, query: { group: 'silver' } });
    expect((await screen.findByRole('alert')).textContent).toMatch('No node group is called “silver”.');
  });

  it('are saved together, over the version that was shown when the change began', async () => {
    const { putPolicy, policy, stream, host } = await page();
    putPolicy.mockResolvedValue(aPolicy({ version: 'v3' }));
    type('slice', '1h');
    type('weights', 'ann=2');
    policy.mockResolvedValue({ ...aPolicy({ version: 'v2' }), warnings: ['Read again.'] });
    stream.send('policy.changed', anEvent(2, 'policy.changed'));
    await screen.findByText('Read again.');
    expect(screen.getByText('Your changes: slice=1h, weights=ann=2')).toBeTruthy();
    fireEvent.click(screen.getByText('Save'));
    await waitFor(() => expect(host.notify).toHaveBeenCalledOnce());
    const change = { group: null, set: { slice: '1h', weights: { ann: 2 } }, unset: [] };
    expect(putPolicy.mock.calls).toEqual([[change, 'v1']]);
    expect(screen.getByText('You have changed nothing.')).toBeTruthy();
  });

  it('tell a collision with both values, and are written over it only on demand', async () => {
    const { putPolicy } = await page();
    const current = aPolicy({ slice: setSlice('45m'), version: 'v2' });
    putPolicy.mockRejectedValueOnce(
      new ApiError({ status: 409, code: 'conflict', detail: 'It was changed.', current })
    );
    putPolicy.mockResolvedValueOnce(aPolicy({ version: 'v3' }));
    type('slice', '1h');
    fireEvent.click(screen.getByText('Save'));
    expect(await screen.findByText(/There now: slice=45m\. Yours: slice=1h\./)).toBeTruthy();
    expect(putPolicy).toHaveBeenCalledOnce();
    fireEvent.click(screen.getByText('Write mine over it'));
    await waitFor(() => expect(putPolicy).toHaveBeenCalledTimes(2));
    expect(putPolicy.mock.calls[1]).toEqual([{ group: null, set: { slice: '1h' }, unset: [] }, 'v2']);
  });

  it('show a refusal in the words of the service and keep what was typed', async () => {
    const { putPolicy } = await page();
    const errors = [{ field: 'set.slice', value: 'soon', message: 'Write a length of time such as 30m.' }];
    putPolicy.mockRejectedValueOnce(
      new ApiError({ status: 400, code: 'invalid', detail: 'A value is wrong.', errors })
    );
    type('slice', 'soon');
    fireEvent.click(screen.getByText('Save'));
    expect((await screen.findByRole('alert')).textContent).toMatch(
      'set.slice, value "soon": Write a length of time such as 30m.'
    );
    expect(field('slice').value).toBe('soon');
  });

  it('are reset where an admin has set them', async () => {
    const { putPolicy } = await page({ policy: aPolicy({ slice: setSlice('1h') }) });
    putPolicy.mockResolvedValue(aPolicy());
    fireEvent.click(screen.getByLabelText('Reset slice'));
    expect(field('slice').disabled).toBe(true);
    fireEvent.click(screen.getByLabelText('Keep slice'));
    expect(screen.getByText('You have changed nothing.')).toBeTruthy();
    fireEvent.click(screen.getByLabelText('Reset slice'));
    fireEvent.click(screen.getByText('Save'));
    await waitFor(() => expect(putPolicy).toHaveBeenCalledOnce());
    expect(putPolicy.mock.calls[0]?.[0]).toEqual({ group: null, set: {}, unset: ['slice'] });
  });

  it('can be tried: the progress, then the three sides and what cannot be known', async () => {
    const { streams } = await page();
    type('slice', '1h');
    fireEvent.change(screen.getByLabelText('Days to try'), { target: { value: '7' } });
    fireEvent.click(screen.getByText('Try it'));
    expect(streams[0]?.asked).toEqual({ group: null, set: { slice: '1h' }, unset: [], days: 7 });
    await act(async () => streams[0]?.stream.send('progress', { done: 0.4 }));
    expect(await screen.findByText('40 %')).toBeTruthy();
    await act(async () => streams[0]?.stream.send('result', TRIAL));
    const row = await screen.findByRole('row', { name: /^Interruptions/ });
    expect(row.textContent).toBe('Interruptions441−3');
    expect(screen.getByText('Users would have submitted the same tasks.')).toBeTruthy();
    expect(screen.queryByText(/other ones than those that were tried/)).toBeNull();
    type('slice', '2h');
    expect(screen.getByText(/other ones than those that were tried/)).toBeTruthy();
  });

  it('end a trial that is cancelled', async () => {
    const { streams } = await page();
    type('slice', '1h');
    fireEvent.click(screen.getByText('Try it'));
    fireEvent.click(await screen.findByText('Cancel'));
    expect(streams[0]?.signal.aborted).toBe(true);
    expect(screen.getByText(/You have cancelled the trial/)).toBeTruthy();
  });
});

describe('a trial in words', () => {
  it('has a row for each figure, with what is not known as such, and the difference with its sign', () => {
    const words = trialRows(TRIAL).map(row => [row.title, row.values[0], differenceText(row)]);
    expect(words.slice(0, 5)).toEqual([
      ['Node time that was held', null, 'same'],
      ['Node time that was useful', 0.8, '+5 percentage points'],
      ['Node time whose work was lost', 3600, '−30 min'],
      ['Turns', 10, 'same'],
      ['Interruptions', 4, '−3']
    ]);
    expect(words).toContainEqual(['Normal: 90 of 100 wait at most', 600, 'same']);
  });
});

describe('a difference of a trial', () => {
  const row = (old: number, tried: number, text: (value: number) => string): string =>
    differenceText({ title: '', values: [null, old, tried], text });

  it('is the same where less than a second is between two figures', () => {
    expect(row(59.6, 59.4, duration)).toBe('same');
    expect(row(59.4, 60.4, duration)).toBe('+1 s');
    expect(row(7500, 7510, duration)).toBe('same');
  });
});

describe('a draft', () => {
  it('leaves out what is as in force, and keeps what is no number for the service to refuse', () => {
    const draft = { slice: '30m', slice_growth: 'two', weights: '' };
    expect(changeOf(draft, aPolicy(), null)).toEqual({
      group: null,
      set: { slice_growth: 'two' },
      unset: []
    });
  });

  it('can reset only what an admin has set in that place', () => {
    const slice = setSlice('1h');
    expect([resettable(slice, null), resettable(slice, 'training'), resettable(slice, 'gold')]).toEqual([
      true,
      false,
      false
    ]);
    expect(othersWords(slice)).toBe('gold: 2h');
  });
});
