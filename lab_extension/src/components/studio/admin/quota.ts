/** A row of quota as it is written in a form, and in words. Pure functions. */

import type { QuotaValue } from '../../../api/admin';
import { moment, numberedOf } from './values';
import { trans } from '../../../text/translate';

/** The fields as texts; empty: no limit, no ceiling, no end. */
export interface IQuotaDraft {
  limit: string;
  ceiling: string;
  expires: string;
}

const text = (n: number | null): string => (n === null ? '' : String(n));

/** A row as a form has it; none is a row without a limit. */
export function draftOf(row: QuotaValue | null): IQuotaDraft {
  return {
    limit: text(row?.limit ?? null),
    ceiling: text(row?.ceiling ?? null),
    expires: row?.expires_at ? localInput(row.expires_at) : ''
  };
}

/** What a form says. What is no number goes to the service as it is, whose words say what is wrong. */
export function valueOf(draft: IQuotaDraft): QuotaValue {
  return {
    limit: numberedOf(draft.limit) as number | null,
    ceiling: numberedOf(draft.ceiling) as number | null,
    expires_at: draft.expires === '' ? null : new Date(draft.expires).toISOString()
  };
}

/** A moment as the field of a browser wants it, in the reader's time zone. */
export function localInput(at: string): string {
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** `limit 4, ceiling 8, never expires`. */
export function quotaWords(row: QuotaValue): string {
  return [
    row.limit === null ? trans.__('no limit') : trans.__('limit %1', row.limit),
    row.ceiling === null ? trans.__('no ceiling') : trans.__('ceiling %1', row.ceiling),
    row.expires_at === null ? trans.__('never expires') : trans.__('expires %1', moment(row.expires_at))
  ].join(', ');
}
