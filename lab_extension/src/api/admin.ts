/** What only admins may ask for and change. The service refuses all others. */

import { Calls } from './request';
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

const user = (name: string): string => `api/users/${encodeURIComponent(name)}`;
const mount = (name: string): string => `api/mounts/${encodeURIComponent(name)}`;

/** The header that makes a change fail if somebody else has been faster. */
function unchanged(version: string | null): Record<string, string> {
  return version === null ? { 'If-None-Match': '*' } : { 'If-Match': `"${version}"` };
}

/** A `version` of null writes only what does not exist yet. */
export class AdminApi extends Calls {
  users = (query: IPeopleQuery) => this.ask<IUserList>('api/users', { query });
  user = (name: string) => this.ask<IUserDetail>(user(name));
  archive = (name: string, note: string) =>
    this.ask<IArchive>(`${user(name)}/archive`, { method: 'POST', body: { note } });
  restore = (name: string) => this.ask<undefined>(`${user(name)}/restore`, { method: 'POST' });
  putQuota = (key: QuotaKey, value: QuotaValue, version: string | null) =>
    this.ask<IQuota>('api/quotas', {
      method: 'PUT',
      body: { ...key, ...value },
      headers: unchanged(version)
    });
  deleteQuota = (key: QuotaKey, version: string) =>
    this.ask<undefined>('api/quotas', { method: 'DELETE', body: key, headers: unchanged(version) });
  putPolicy = (change: IPolicyChange, version: string) =>
    this.ask<IPolicy>('api/policy', { method: 'PUT', body: change, headers: unchanged(version) });
  /** The progress and the result of a trial. Ending the signal ends the computation. */
  tryPolicy = (trial: IPolicyTrial, signal: AbortSignal) =>
    this.stream('api/policy/try', { method: 'POST', body: trial, signal });
  health = () => this.ask<IPlatformHealth>('api/health/details');
  audit = (query: IAuditQuery) => this.ask<IAuditPage>('api/audit', { query });
  mounts = (query: { user?: string; node_group?: string }) =>
    this.ask<IMountRuleList>('api/mounts', { query });
  putMount = (name: string, body: MountValue, version: string | null) =>
    this.ask<IMountRule>(mount(name), { method: 'PUT', body, headers: unchanged(version) });
  deleteMount = (name: string, version: string) =>
    this.ask<undefined>(mount(name), { method: 'DELETE', headers: unchanged(version) });
}

/** What the pages for admins need; tests give their own. */
export type IAdminApi = Pick<AdminApi, keyof AdminApi>;
