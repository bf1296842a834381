/** What only admins may ask for and change, as functions. The service refuses all others. */

import { requestEvents, requestJson, type IRequest } from './request';
import type { IServerEvent } from './sse';
import type {
  IArchive,
  IAuditPage,
  IMountRule,
  IMountRuleList,
  IPlatformHealth,
  IPolicy,
  IPolicyChange,
  IPolicyTrial,
  IQuota,
  IUserDetail,
  IUserList
} from './types';
import type { ITransport } from './transport';

/** Which users; what is left out is the service's default. */
export interface IPeopleQuery {
  name?: string;
  group?: string;
  archived?: 'true' | 'false';
  order?: string;
  cursor?: string;
}

/** Which changes of the audit. */
export interface IAuditQuery {
  who?: string;
  action?: string;
  subject?: string;
  /** RFC 3339. */
  since?: string;
  until?: string;
  cursor?: string;
}

/** Which row of quota. */
export type QuotaKey = Pick<IQuota, 'subject' | 'group' | 'priority'>;
/** A row of quota as it is written. */
export type QuotaValue = Pick<IQuota, 'limit' | 'ceiling' | 'expires_at'>;
/** A mount rule as it is written. */
export type MountValue = Omit<IMountRule, 'name' | 'version' | 'warnings'>;

/** What the pages for admins need; tests give their own. A `version` of null writes only what does not exist yet. */
export interface IAdminApi {
  users(query: IPeopleQuery): Promise<IUserList>;
  user(name: string): Promise<IUserDetail>;
  archive(name: string, note: string): Promise<IArchive>;
  restore(name: string): Promise<void>;
  putQuota(key: QuotaKey, value: QuotaValue, version: string | null): Promise<IQuota>;
  deleteQuota(key: QuotaKey, version: string): Promise<void>;
  putPolicy(change: IPolicyChange, version: string): Promise<IPolicy>;
  /** The progress and the result of a trial. Ending the signal ends the computation. */
  tryPolicy(trial: IPolicyTrial, signal: AbortSignal): AsyncIterable<IServerEvent>;
  health(): Promise<IPlatformHealth>;
  audit(query: IAuditQuery): Promise<IAuditPage>;
  mounts(query: { user?: string; node_group?: string }): Promise<IMountRuleList>;
  putMount(name: string, rule: MountValue, version: string | null): Promise<IMountRule>;
  deleteMount(name: string, version: string): Promise<void>;
}

/** The header that makes a change fail if somebody else has been faster. */
function unchanged(version: string | null): Record<string, string> {
  return version === null ? { 'If-None-Match': '*' } : { 'If-Match': `"${version}"` };
}

/** The real one. */
export class AdminApi implements IAdminApi {
  constructor(private readonly transport: ITransport) {}

  users(query: IPeopleQuery): Promise<IUserList> {
    return this.ask('api/users', { query: { ...query } });
  }

  user(name: string): Promise<IUserDetail> {
    return this.ask(`api/users/${encodeURIComponent(name)}`);
  }

  archive(name: string, note: string): Promise<IArchive> {
    return this.ask(`api/users/${encodeURIComponent(name)}/archive`, { method: 'POST', body: { note } });
  }

  restore(name: string): Promise<void> {
    return this.ask(`api/users/${encodeURIComponent(name)}/restore`, { method: 'POST' });
  }

  putQuota(key: QuotaKey, value: QuotaValue, version: string | null): Promise<IQuota> {
    const body = { ...key, ...value };
    return this.ask('api/quotas', { method: 'PUT', body, headers: unchanged(version) });
  }

  deleteQuota(key: QuotaKey, version: string): Promise<void> {
    return this.ask('api/quotas', { method: 'DELETE', body: key, headers: unchanged(version) });
  }

  putPolicy(change: IPolicyChange, version: string): Promise<IPolicy> {
    return this.ask('api/policy', { method: 'PUT', body: change, headers: unchanged(version) });
  }

  tryPolicy(trial: IPolicyTrial, signal: AbortSignal): AsyncIterable<IServerEvent> {
    return requestEvents(this.transport, 'api/policy/try', { method: 'POST', body: trial, signal });
  }

  health(): Promise<IPlatformHealth> {
    return this.ask('api/health/details');
  }

  audit(query: IAuditQuery): Promise<IAuditPage> {
    return this.ask('api/audit', { query: { ...query } });
  }

  mounts(query: { user?: string; node_group?: string }): Promise<IMountRuleList> {
    return this.ask('api/mounts', { query: { ...query } });
  }

  putMount(name: string, rule: MountValue, version: string | null): Promise<IMountRule> {
    const headers = unchanged(version);
    return this.ask(`api/mounts/${encodeURIComponent(name)}`, { method: 'PUT', body: rule, headers });
  }

  deleteMount(name: string, version: string): Promise<void> {
    return this.ask(`api/mounts/${encodeURIComponent(name)}`, {
      method: 'DELETE',
      headers: unchanged(version)
    });
  }

  private ask<T>(path: string, request: IRequest = {}): Promise<T> {
    return requestJson(this.transport, path, request);
  }
}
