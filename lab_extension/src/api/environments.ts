/** What the server extension does with haienv, as functions. */

import type {
  EnvironmentChange,
  IBuild,
  IEnvironmentDetail,
  IEnvironments,
  IFrozen,
  IPackageChange
} from './extension';
import { Calls } from './request';

export class EnvironmentsApi extends Calls {
  list = () => this.ask<IEnvironments>('environments');
  show = (name: string) => this.ask<IEnvironmentDetail>('environments/show', { query: { name } });
  diff = async (before: string, after: string) =>
    (await this.ask<{ changes: IPackageChange[] }>('environments/diff', { query: { before, after } }))
      .changes;
  begin = (change: EnvironmentChange) =>
    this.ask<IBuild>('environments/builds', { method: 'POST', body: change });
  /** Make a generation of the changes in the user's draft of an environment, if there are any. */
  freeze = (name: string) => this.ask<IFrozen>('environments/freeze', { method: 'POST', body: { name } });
  stop = (id: number) => this.ask<IBuild>(`environments/builds/${id}/stop`, { method: 'POST' });
  /** The lines of a build behind the number `after`, and `end`. */
  log = (id: number, after: number, signal: AbortSignal) =>
    this.stream(`environments/builds/${id}/log`, { signal, headers: { 'Last-Event-ID': String(after) } });
  /** An event at once, and whenever an environment is published. */
  watch = (signal: AbortSignal) => this.stream('environments/watch', { signal });
}

/** What the view needs of the server; tests give their own. */
export type IEnvironmentsApi = Pick<EnvironmentsApi, keyof EnvironmentsApi>;
