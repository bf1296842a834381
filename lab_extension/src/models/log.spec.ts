import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../api/request';
import type { ILogPage } from '../api/types';
import { aLine, aStoredLog, FakeStream } from '../testing/fakes';
import { LogModel } from './log';
import { CHUNK } from './logWindow';

describe('the log model', () => {
  let streams: FakeStream[];
  let cursors: string[];
  let signals: AbortSignal[];
  let model: LogModel;
  const logTail = vi.fn<LogModel['api']['logTail']>();

  beforeEach(() => {
    vi.useFakeTimers();
    streams = [];
    cursors = [];
    signals = [];
    logTail.mockReset().mockResolvedValue({
      lines: [aLine('one'), aLine('two')],
      next_cursor: '1:8',
      prev_cursor: null,
      final: false
    });
    model = new LogModel(
      41,
      {
        logTail,
        logPage: vi.fn().mockRejectedValue(new Error('no page is asked for here')),
        logExtents: vi.fn().mockResolvedValue({ items: [] }),
        logDownloadUrl: vi.fn(),
        logSearch: vi.fn(),
        logFollow: (_id, _rank, cursor, signal) => {
          cursors.push(cursor);
          signals.push(signal);
          streams.push(new FakeStream());
          return streams.at(-1)!;
        }
      },
      300
    );
  });

  afterEach(() => {
    model.dispose();
    vi.useRealTimers();
  });

  const texts = (): string[] => model.chunks.flatMap(chunk => chunk.lines.map(line => line.text));
  const settle = (ms = 100): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

  it('shows the end of the log, then follows from there', async () => {
    model.open(1);
    await settle();
    expect(logTail).toHaveBeenCalledWith(41, 1, 300, expect.anything());
    expect(cursors).toEqual(['1:8']);
    streams[0]!.send('line', aLine('three'), '1:14');
    await settle();
    expect(texts()).toEqual(['one', 'two', 'three']);
    expect(model.status).toBe('live');
  });

  it('goes on after the last line when the connection is lost', async () => {
    model.open();
    await settle();
    streams[0]!.send('line', aLine('three'), '1:14');
    streams[0]!.end(new ApiError({ status: 503, code: 'unavailable', detail: 'It is away.' }));
    await settle();
    expect(model.status).toBe('lost');
    expect(model.error).toBe('It is away.');
    await settle(1_500);
    expect(cursors).toEqual(['1:8', '1:14']);
    streams[1]!.send('line', aLine('four'), '1:20');
    await settle();
    expect(texts()).toEqual(['one', 'two', 'three', 'four']);
  });

  it('is complete when the stream says so, or when there is nothing to come', async () => {
    model.open();
    await settle();
    streams[0]!.send('line', aLine('last'), '1:14');
    streams[0]!.send('end', {});
    await settle();
    expect(model.status).toBe('ended');
    expect(texts().at(-1)).toBe('last');
    logTail.mockResolvedValue({ lines: [], next_cursor: '1:0', prev_cursor: null, final: true });
    model.open();
    await settle();
    expect(model.status).toBe('ended');
    expect(streams).toHaveLength(1);
  });

  it('keeps a bounded number of lines, more while the reader looks back', async () => {
    model.open();
    await settle();
    const send = async (n: number): Promise<void> => {
      for (let i = 0; i < n; i++) {
        streams[0]!.send('line', aLine(`line ${i}`), `1:${i}`);
      }
      await settle();
    };
    await send(1000);
    expect(model.lineCount).toBeLessThanOrEqual(300 + CHUNK);
    expect(model.atStart).toBe(false);
    model.setHold(true);
    await send(200);
    expect(model.lineCount).toBeGreaterThan(300 + CHUNK);
    model.setHold(false);
    expect(model.lineCount).toBeLessThanOrEqual(300 + CHUNK);
    expect(texts().at(-1)).toBe('line 199');
  });

  it('stops at the lines that the reader looks at when too many come, and goes on when asked', async () => {
    model.open();
    await settle();
    model.setHold(true);
    for (let i = 0; i < 1000; i++) {
      streams[0]!.send('line', aLine(`line ${i}`), `1:${i}`);
    }
    await settle();
    expect(texts().slice(0, 3)).toEqual(['one', 'two', 'line 0']);
    expect(model.lineCount).toBeLessThanOrEqual(600 + CHUNK);
    expect([model.atEnd, model.status, signals[0]!.aborted]).toEqual([false, 'idle', true]);
  });

  it('shows the last state of a line that is written again', async () => {
    model.open();
    await settle();
    const state = (text: string): ReturnType<typeof aLine> => ({ ...aLine(text), rewritten: true });
    streams[0]!.send('line', state('10%'), '1:9');
    await settle();
    const [key] = model.chunks.flatMap(chunk => chunk.lines.map(line => line.key)).slice(-1);
    streams[0]!.send('line', state('20%'), '1:10');
    streams[0]!.send('line', aLine('100%'), '1:11');
    await settle();
    expect(texts()).toEqual(['one', 'two', '100%']);
    expect(model.chunks.at(-1)!.lines.at(-1)!.key).toBe(key);
    streams[0]!.send('line', state('next 1%'), '1:12');
    streams[0]!.send('line', aLine('run 1 ended', null), '1:13');
    await settle();
    expect(texts()).toEqual(['one', 'two', '100%', 'next 1%', 'run 1 ended']);
  });

  it('leaves full chunks as they are, so that only the last is drawn again', async () => {
    logTail.mockResolvedValue({
      lines: Array.from({ length: CHUNK + 1 }, (_, i) => aLine(String(i))),
      next_cursor: '1:9',
      prev_cursor: null,
      final: false
    });
    model.open();
    await settle();
    const [first, second] = model.chunks;
    streams[0]!.send('line', aLine('new'), '1:10');
    await settle();
    expect(model.chunks[0]).toBe(first);
    expect(model.chunks[1]).not.toBe(second);
  });

  it('shows nothing of the rank before when another is chosen', async () => {
    model.open(0);
    await settle();
    model.open(1);
    expect(signals[0]!.aborted).toBe(true);
    streams[0]!.send('line', aLine('late'), '1:14');
    await settle();
    expect(texts()).toEqual(['one', 'two']);
    expect(model.rank).toBe(1);
  });

  it('gives up on an error that will not pass', async () => {
    logTail.mockRejectedValue(
      new ApiError({ status: 404, code: 'not_found', detail: 'There is no task 41.' })
    );
    model.open();
    await settle(60_000);
    expect(logTail).toHaveBeenCalledOnce();
    expect(model.error).toBe('There is no task 41.');
  });
});

describe('a long log', () => {
  const LINES = 20_000;
  let log: ReturnType<typeof aStoredLog>;
  let model: LogModel;
  let streams: FakeStream[];

  beforeEach(() => {
    vi.useFakeTimers();
    streams = [];
    make(true);
  });

  afterEach(() => {
    model.dispose();
    vi.useRealTimers();
  });

  function make(final: boolean): void {
    log = aStoredLog(LINES, final);
    model = new LogModel(
      41,
      {
        ...log,
        logFollow: () => {
          streams.push(new FakeStream());
          return streams.at(-1)!;
        }
      },
      1_000
    );
  }

  const texts = (): string[] => model.chunks.flatMap(chunk => chunk.lines.map(line => line.text));
  const from = (first: number, until: number): string[] =>
    log.lines.slice(first, until).map(line => line.text);
  const settle = (ms = 100): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

  it('is read backwards to its first line with a bounded number of lines, and forwards again', async () => {
    model.open();
    await settle();
    let most = 0;
    while (!model.atStart) {
      await model.earlier();
      most = Math.max(most, model.lineCount);
    }
    expect(most).toBeLessThanOrEqual(1_000 + CHUNK);
    expect(texts()).toEqual(from(0, model.lineCount));
    expect(model.bytes).toEqual({
      before: 0,
      held: model.lineCount * 10,
      behind: (LINES - model.lineCount) * 10
    });
    const keys = model.chunks.map(chunk => chunk.key);
    await model.later();
    expect(texts()).toEqual(from(500, 500 + model.lineCount));
    // Lines that stay keep their keys, so that they keep their place.
    expect(keys).toContain(model.chunks[0]!.key);
    while (!model.atEnd) {
      await model.later();
    }
    expect(texts().at(-1)).toBe(`line ${LINES - 1}`);
    expect(model.status).toBe('ended');
  });

  it('shows a hit with the lines around it, and marks it', async () => {
    model.open();
    await settle();
    const hit = log.lines[12_345]!;
    await model.jump(hit.cursor);
    const lines = model.chunks.flatMap(chunk => [...chunk.lines]);
    expect(lines.find(line => line.key === model.target)!.text).toBe('line 12345');
    expect(texts()).toEqual(from(12_146, 12_546));
    expect(model.bytes.before + model.bytes.held + model.bytes.behind).toBe(LINES * 10);
  });

  it('shows what is at any part of its length', async () => {
    model.open();
    await settle();
    await model.jumpTo(0);
    expect([texts()[0], model.atStart]).toEqual(['line 0', true]);
    await model.jumpTo(LINES * 5 + 3);
    expect([texts()[0], model.atStart]).toEqual([`line ${LINES / 2 + 1}`, false]);
    expect(model.bytes.before).toBe(LINES * 5 + 10);
    await model.earlier();
    expect(texts().slice(0, 501)).toEqual(from(LINES / 2 - 499, LINES / 2 + 2));
  });

  it('of an ended task reads on after another tab was shown', async () => {
    model.open();
    await settle();
    model.close();
    expect(model.status).toBe('ended');
    const last = texts();
    await model.earlier();
    expect(texts()).not.toEqual(last);
    expect(texts()[0]).toBe(`line ${LINES - 1_500}`);
  });

  it('shows no lines that do not adjoin, when it goes on while lines before it are read', async () => {
    make(false);
    model.open();
    await settle();
    let answer: (page: ILogPage) => void = () => undefined;
    const page = await log.logPage(41, 0, { before: `1:${(LINES - 1_000) * 10}`, limit: 500 });
    log.logPage.mockReturnValueOnce(new Promise(resolve => (answer = resolve)));
    const reading = model.earlier();
    // The reader is at the end again, and the first lines are dropped meanwhile.
    for (let n = 1; n <= 200; n++) {
      streams.at(-1)!.send('line', { ...aLine(`line ${LINES - 1 + n}`), cursor: `1:${200_000 + n}` });
    }
    await settle();
    answer(page);
    await reading;
    const first = LINES + 200 - model.lineCount;
    expect(texts()[0]).toBe(`line ${first}`);
    expect(first).toBeGreaterThan(LINES - 1_000);
  });

  it('is at its end where nothing comes, though it is said to be longer', async () => {
    make(false);
    log.logExtents.mockResolvedValue({ items: [{ run: 1, start: 0, end: LINES * 10 + 7 }] });
    model.open();
    await settle();
    await model.jump(log.lines[LINES - 1]!.cursor);
    expect([model.atEnd, model.status]).toEqual([true, 'live']);
  });

  it('is followed again when the reader has come back to its end', async () => {
    make(false);
    model.open();
    await settle();
    expect(model.status).toBe('live');
    await model.jump(log.lines[LINES - 150]!.cursor);
    expect([model.atEnd, model.status]).toEqual([true, 'live']);
    await model.jump(log.lines[100]!.cursor);
    expect([model.atEnd, model.status]).toEqual([false, 'idle']);
    model.open();
    await settle();
    expect([model.atEnd, model.status]).toEqual([true, 'live']);
    streams.at(-1)!.send('line', { ...aLine('new'), cursor: '1:200010' }, '1:200010');
    await settle();
    expect(texts().at(-1)).toBe('new');
  });

  it('says why a part of it cannot be read, and keeps what it has', async () => {
    model.open();
    await settle();
    const shown = texts();
    log.logPage.mockRejectedValueOnce(new Error('It is away.'));
    await model.earlier();
    expect([model.error, texts()]).toEqual(['It is away.', shown]);
    await model.earlier();
    expect(model.error).toBeNull();
  });
});
