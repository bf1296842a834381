import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError } from '../api/request';
import { aLine, FakeStream } from '../testing/fakes';
import { CHUNK, LogModel } from './log';

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
    logTail
      .mockReset()
      .mockResolvedValue({ lines: [aLine('one'), aLine('two')], next_cursor: '1:8', final: false });
    model = new LogModel(
      41,
      {
        logTail,
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
    logTail.mockResolvedValue({ lines: [], next_cursor: '1:0', final: true });
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
    expect(model.dropped).toBe(true);
    model.setHold(true);
    await send(200);
    expect(model.lineCount).toBeGreaterThan(300 + CHUNK);
    model.setHold(false);
    expect(model.lineCount).toBeLessThanOrEqual(300 + CHUNK);
    expect(texts().at(-1)).toBe('line 199');
  });

  it('leaves full chunks as they are, so that only the last is drawn again', async () => {
    logTail.mockResolvedValue({
      lines: Array.from({ length: CHUNK + 1 }, (_, i) => aLine(String(i))),
      next_cursor: '1:9',
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
