/** What the server extension does with haienv, as functions. */

import type {
  EnvironmentChange,
  IBuild,
  IEnvironmentDetail,
  IEnvironments,
  IFrozen,
  IPackageChange
} from './extension';
import { requestEvents, requestJson } from './request';
import type { IServerEvent } from './sse';
import type { ITransport } from './transport';

/** What the view needs of the server; tests give their own. */
export interface IEnvironmentsApi {
  list(): Promise<IEnvironments>;
  show(name: string): Promise<IEnvironmentDetail>;
  diff(before: string, after: string): Promise<IPackageChange[]>;
  begin(change: EnvironmentChange): Promise<IBuild>;
  /** Make a generation of the changes in the user's draft of an environment, if there are any. */
  freeze(name: string): Promise<IFrozen>;
  stop(id: number): Promise<IBuild>;
  /** The lines of a build behind the number `after`, and `end`. */
  log(id: number, after: number, signal: AbortSignal): AsyncIterable<IServerEvent>;
  /** An event at once, and whenever an environment is published. */
  watch(signal: AbortSignal): AsyncIterable<IServerEvent>;
}

/** The real one. */
export class EnvironmentsApi implements IEnvironmentsApi {
  constructor(private readonly transport: ITransport) {}

  list(): Promise<IEnvironments> {
    return requestJson(this.transport, 'environments');
  }

  show(name: string): Promise<IEnvironmentDetail> {
    return requestJson(this.transport, 'environments/show', { query: { name } });
  }

  async diff(before: string, after: string): Promise<IPackageChange[]> {
    const found = await requestJson<{ changes: IPackageChange[] }>(this.transport, 'environments/diff', {
      query: { before, after }
    });
    return found.changes;
  }

  begin(change: EnvironmentChange): Promise<IBuild> {
    return requestJson(this.transport, 'environments/builds', { method: 'POST', body: change });
  }

  freeze(name: string): Promise<IFrozen> {
    return requestJson(this.transport, 'environments/freeze', { method: 'POST', body: { name } });
  }

  stop(id: number): Promise<IBuild> {
    return requestJson(this.transport, `environments/builds/${id}/stop`, { method: 'POST' });
  }

  log(id: number, after: number, signal: AbortSignal): AsyncIterable<IServerEvent> {
    return requestEvents(this.transport, `environments/builds/${id}/log`, {
      signal,
      headers: { 'Last-Event-ID': String(after) }
    });
  }

  watch(signal: AbortSignal): AsyncIterable<IServerEvent> {
    return requestEvents(this.transport, 'environments/watch', { signal });
  }
}
