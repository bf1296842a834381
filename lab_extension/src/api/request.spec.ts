import { ServerConnection } from '@jupyterlab/services';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LabTransport } from '../lab/transport';
import { Api } from './client';
import { ApiError, requestJson } from './request';
import type { ITransport } from './transport';

function settingsWith(answer: (request: Request) => Response | Promise<Response>): {
  settings: ITransport;
  requests: Request[];
} {
  const requests: Request[] = [];
  const settings = new LabTransport(
    ServerConnection.makeSettings({
      baseUrl: 'http://localhost/user/alice/',
      init: {},
      fetch: async request => {
        requests.push(request as Request);
        return answer(request as Request);
      }
    })
  );
  return { settings, requests };
}

describe('requests', () => {
  it('go to the server extension with their query and body', async () => {
    const { settings, requests } = settingsWith(() => Response.json({ id: 1 }, { status: 201 }));
    const api = new Api(settings);
    await api.tasks({ state: 'live', limit: 200 });
    await api.submit({ name: 'x' } as never, 'key-1');
    expect(requests.map(request => `${request.method} ${request.url}`)).toEqual([
      'GET http://localhost/user/alice/hai-lab/api/tasks?state=live&limit=200',
      'POST http://localhost/user/alice/hai-lab/api/tasks'
    ]);
    expect(requests[1]!.headers.get('Idempotency-Key')).toBe('key-1');
    expect(requests.map(request => request.headers.get('Accept-Language'))).toEqual(['en', 'en']);
    expect(await requests[1]!.json()).toEqual({ name: 'x' });
  });

  it('turn a problem document into an error with its fields', async () => {
    const problem = {
      title: 'Invalid',
      status: 400,
      detail: 'nodes is 0.',
      code: 'invalid',
      errors: [{ field: 'nodes', value: 0, message: 'Ask for 1 or more.' }]
    };
    const { settings } = settingsWith(() => Response.json(problem, { status: 400 }));
    const error = await requestJson(settings, 'api/tasks').catch((e: unknown) => e);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      message: 'nodes is 0.',
      code: 'invalid',
      status: 400,
      errors: problem.errors
    });
    expect((error as ApiError).passing).toBe(false);
  });

  it('say so when the server does not answer, or answers without words', async () => {
    const down = settingsWith(() => Promise.reject(new TypeError('fetch failed')));
    await expect(requestJson(down.settings, 'api/me')).rejects.toMatchObject({
      status: 0,
      message: expect.stringMatching(/does not answer/) as string
    });
    const mute = settingsWith(() => new Response('<html>', { status: 502 }));
    await expect(requestJson(mute.settings, 'api/me')).rejects.toMatchObject({
      status: 502,
      passing: true,
      message: expect.stringMatching(/502/) as string
    });
  });
});

/** Longer than any request waits, in ms. Not all timers: one of JupyterLab's, which a file before this has started, has no end. */
const LONG = 300_000;

describe('a restart of the platform', () => {
  const away = (code: string, status = 503): Response =>
    Response.json({ status, code, detail: 'HAI is restarting.' }, { status });

  function answering(answers: Response[]): { api: Api; requests: Request[] } {
    const { settings, requests } = settingsWith(() => answers.shift() ?? Response.json({ id: 7 }));
    return { api: new Api(settings), requests };
  }

  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is waited for by what the platform has not seen', async () => {
    const { api, requests } = answering([away('restarting'), away('restarting'), away('restarting')]);
    const stopped = api.act(7, 'stop');
    await vi.advanceTimersByTimeAsync(LONG);
    expect(await stopped).toEqual({ id: 7 });
    expect(requests).toHaveLength(4);
  });

  it('does not double a submission, whose key stays the same', async () => {
    const { api, requests } = answering([away('unavailable', 502), away('restarting')]);
    const submitted = api.submit({ name: 'x' } as never, 'key-1');
    await vi.advanceTimersByTimeAsync(LONG);
    expect(await submitted).toEqual({ id: 7 });
    expect(requests.map(request => request.headers.get('Idempotency-Key'))).toEqual([
      'key-1',
      'key-1',
      'key-1'
    ]);
  });

  it('does not repeat a change that may have been made, nor what is read again anyway', async () => {
    const changed = answering([away('unavailable', 502)]);
    await expect(changed.api.act(7, 'stop')).rejects.toMatchObject({ status: 502 });
    expect(changed.requests).toHaveLength(1);
    const read = answering([away('restarting')]);
    await expect(read.api.me()).rejects.toMatchObject({ status: 503, passing: true });
    expect(read.requests).toHaveLength(1);
  });

  it('is told in the end when it lasts', async () => {
    const { api, requests } = answering(Array.from({ length: 9 }, () => away('restarting')));
    const failed = expect(api.act(7, 'hold')).rejects.toMatchObject({ message: 'HAI is restarting.' });
    await vi.advanceTimersByTimeAsync(LONG);
    await failed;
    expect(requests).toHaveLength(6);
  });
});

describe('asking for too much at once', () => {
  const busy = (seconds: number): Response =>
    Response.json(
      { status: 429, code: 'too_many', detail: 'One client may send 30 requests a second.' },
      { status: 429, headers: { 'Retry-After': String(seconds) } }
    );

  function answering(answers: Response[]): { api: Api; requests: Request[] } {
    const { settings, requests } = settingsWith(() => answers.shift() ?? Response.json({ id: 7 }));
    return { api: new Api(settings), requests };
  }

  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('waits as long as the platform says, for reads and changes alike', async () => {
    for (const ask of [(api: Api) => api.me(), (api: Api) => api.act(7, 'stop')]) {
      const { api, requests } = answering([busy(3), busy(3600)]);
      const asked = ask(api);
      await vi.advanceTimersByTimeAsync(2999);
      expect(requests).toHaveLength(1);
      await vi.advanceTimersByTimeAsync(1);
      expect(requests).toHaveLength(2);
      await vi.advanceTimersByTimeAsync(30_000);
      expect(await asked).toEqual({ id: 7 });
      expect(requests).toHaveLength(3);
    }
  });

  it('is told in the end, as something that passes', async () => {
    const { api, requests } = answering(Array.from({ length: 9 }, () => busy(1)));
    const failed = expect(api.me()).rejects.toMatchObject({
      message: 'One client may send 30 requests a second.',
      passing: true,
      busy: true,
      retryAfter: 1000
    });
    await vi.advanceTimersByTimeAsync(LONG);
    await failed;
    expect(requests).toHaveLength(6);
  });
});

describe('streams', () => {
  it('give events as they come and resume after the last id', async () => {
    const encoder = new TextEncoder();
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(encoder.encode('id: 4\nevent: task.state\nda'));
        controller.enqueue(encoder.encode('ta: "ü"\n\n'));
        controller.close();
      }
    });
    const { settings, requests } = settingsWith(() => new Response(body));
    const events = [];
    for await (const event of new Api(settings).events('3', new AbortController().signal)) {
      events.push(event);
    }
    expect(events).toEqual([{ id: '4', event: 'task.state', data: '"ü"' }]);
    expect(requests[0]!.headers.get('Last-Event-ID')).toBe('3');
    expect(requests[0]!.headers.get('Accept')).toBe('text/event-stream');
  });

  it('end with what the platform says of the reason', async () => {
    const said = { status: 503, code: 'unavailable', detail: 'The state database does not answer.' };
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const text = `id: 4\ndata: {}\n\nevent: problem\ndata: ${JSON.stringify(said)}\n\n`;
        controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      }
    });
    const { settings } = settingsWith(() => new Response(body));
    const ids: string[] = [];
    const read = async () => {
      for await (const event of new Api(settings).events(null, new AbortController().signal)) {
        ids.push(event.id);
      }
    };
    await expect(read()).rejects.toMatchObject({ status: 503, message: said.detail });
    expect(ids).toEqual(['4']);
  });

  it('let go of the connection when the reader stops', async () => {
    const cancel = vi.fn();
    const body = new ReadableStream<Uint8Array>({
      start: controller => controller.enqueue(new TextEncoder().encode('data: 1\n\n')),
      cancel
    });
    const { settings } = settingsWith(() => new Response(body));
    for await (const event of new Api(settings).events(null, new AbortController().signal)) {
      expect(event.data).toBe('1');
      break;
    }
    expect(cancel).toHaveBeenCalledOnce();
  });
});
