/** The one place that talks to the server: a JSON request and an event stream, with one kind of error. */

import { EventParser, type IServerEvent } from './sse';
import type { ICollisionProblem, IFieldError, IProblem } from './types';
import { language, trans } from '../text/translate';
import type { ITransport } from './transport';

/** An answer that is an error, or no answer at all (status 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly errors: IFieldError[];
  /** How long the platform asks to wait before the next try, in ms; 0: it says nothing. */
  readonly retryAfter: number;
  /** What is there now, where somebody else has changed it in the meantime; undefined: that is not why. */
  readonly current: unknown;

  constructor(
    problem: Pick<IProblem, 'status' | 'code' | 'detail'> & {
      errors?: IFieldError[];
      retryAfter?: number;
      current?: unknown;
    }
  ) {
    super(problem.detail);
    this.name = 'ApiError';
    this.status = problem.status;
    this.code = problem.code;
    this.errors = problem.errors ?? [];
    this.retryAfter = problem.retryAfter ?? 0;
    this.current = problem.current;
  }

  /** Whether somebody else has changed it in the meantime; `current` then has what is there, null for nothing. */
  get collided(): boolean {
    return this.status === 409 && this.current !== undefined;
  }

  /** Whether trying again later can help. */
  get passing(): boolean {
    return [0, 429, 502, 503, 504].includes(this.status);
  }

  /** Whether the platform has refused the request unread, because its user asks for too much at once. */
  get busy(): boolean {
    return this.status === 429;
  }

  /** Whether the platform restarts and has not seen the request. */
  get unseen(): boolean {
    return this.code === 'restarting';
  }
}

/** Waits between the tries of a request that the platform has not seen because it restarts, in ms. */
const RETRIES = [500, 1000, 2000, 4000, 8000];

/** The longest of these waits that the platform may ask for, in ms. */
const LONGEST_WAIT = 30_000;

/** A sentence for any thrown value. */
export function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export interface IRequest {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Words that are undefined are left out. */
  query?: object;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/** Send a request and read its JSON answer. Throws ApiError. */
export async function requestJson<T>(
  transport: ITransport,
  path: string,
  request: IRequest = {}
): Promise<T> {
  const response = await sendOverRestart(transport, path, request);
  const text = await response.text();
  return (text === '' ? null : JSON.parse(text)) as T;
}

/**
 * Send what changes something again while the platform restarts; what is only read is read again by its model. What is
 * refused because it is too much at once is sent again in any case, when the platform says.
 */
async function sendOverRestart(transport: ITransport, path: string, request: IRequest): Promise<Response> {
  const changes = (request.method ?? 'GET') !== 'GET';
  const once = request.headers?.['Idempotency-Key'] !== undefined;
  for (const wait of RETRIES) {
    let asked = 0;
    try {
      return await send(transport, path, request);
    } catch (error) {
      const again =
        error instanceof ApiError && (error.busy || (changes && (error.unseen || (once && error.passing))));
      if (!again || request.signal?.aborted) {
        throw error;
      }
      asked = error.busy ? Math.min(error.retryAfter, LONGEST_WAIT) : 0;
    }
    await new Promise(resolve => setTimeout(resolve, Math.max(wait, asked)));
  }
  return send(transport, path, request);
}

/** Open an event stream; ends when the server ends it. Throws ApiError; an abort just ends it. */
export async function* requestEvents(
  transport: ITransport,
  path: string,
  request: IRequest = {}
): AsyncGenerator<IServerEvent> {
  const response = await send(transport, path, {
    ...request,
    headers: { ...request.headers, Accept: 'text/event-stream' }
  });
  const reader = response.body?.getReader();
  if (!reader) {
    return;
  }
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        if (event.event === 'problem') {
          // The answer has begun, so what ends it can no longer be its status.
          throw new ApiError(JSON.parse(event.data) as IProblem);
        }
        yield event;
      }
    }
  } catch (error) {
    if (!request.signal?.aborted) {
      throw error instanceof ApiError ? error : lost(transport, error);
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** Requests over a transport; the interfaces of the platform are made of them. */
export class Calls {
  constructor(protected readonly transport: ITransport) {}

  protected ask<T>(path: string, request?: IRequest): Promise<T> {
    return requestJson<T>(this.transport, path, request);
  }

  protected stream(path: string, request?: IRequest): AsyncIterable<IServerEvent> {
    return requestEvents(this.transport, path, request);
  }
}

async function send(transport: ITransport, path: string, request: IRequest): Promise<Response> {
  const query = Object.entries(request.query ?? {}).filter(
    ([, value]: [string, unknown]) => value !== undefined
  );
  const search = new URLSearchParams(query.map(([name, value]) => [name, String(value)])).toString();
  const url = transport.url(path) + (search === '' ? '' : `?${search}`);
  const init: RequestInit = { method: request.method ?? 'GET' };
  // JupyterLab names a type only for its own API; without one a browser says text/plain.
  const type = request.body === undefined ? {} : { 'Content-Type': 'application/json' };
  // The service speaks the language of the interface, which may be another one than the browser's.
  init.headers = { 'Accept-Language': language(), ...type, ...request.headers };
  if (request.signal) {
    init.signal = request.signal;
  }
  if (request.body !== undefined) {
    init.body = JSON.stringify(request.body);
  }
  let response: Response;
  try {
    response = await transport.fetch(url, init);
  } catch (error) {
    throw lost(transport, error);
  }
  transport.heard?.(response.headers);
  if (!response.ok) {
    throw await problemOf(response);
  }
  return response;
}

function lost(transport: ITransport, error: unknown): ApiError {
  return new ApiError({
    status: 0,
    code: 'unavailable',
    detail: trans.__('%1 does not answer (%2).', transport.peer, sentenceOf(error))
  });
}

async function problemOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => null)) as
    (Partial<ICollisionProblem> & { message?: string }) | null;
  return new ApiError({
    status: response.status,
    code: body?.code ?? 'unavailable',
    detail:
      body?.detail ??
      body?.message ??
      trans.__('The server answered %1 without saying why.', response.status),
    errors: body?.errors ?? [],
    current: body?.current,
    retryAfter: 1000 * (Number(response.headers.get('Retry-After')) || 0)
  });
}
