/** Who changed what, filtered by the address. */

import type { JSX } from 'react';
import type { IAuditQuery } from '../../../api/admin';
import { EventKind } from '../../../api/constants';
import { trans } from '../../../text/translate';
import { Reading } from '../../react';
import { useRead } from '../context';
import { changeQuery, Link, useRouter, type Query } from '../router';
import { AuditTable } from './AuditTable';
import { localInput } from './quota';
import { FilterText } from './Refused';

const WORDS = ['who', 'action', 'subject', 'since', 'until', 'cursor'] as const;

/** The beginnings of the kinds of events of changes by admins. What they do to tasks is read from time to time: its events are too many. */
const KINDS = [
  'quota.',
  'policy.',
  'mount.',
  'node.',
  'user.',
  'environment.',
  'cluster.',
  'rate.',
  EventKind.BUDGET_PUT,
  EventKind.BUDGET_DELETED,
  'ledger.'
];

/** What an address asks for. */
export function auditQuery(query: Query): IAuditQuery {
  return Object.fromEntries(WORDS.filter(word => query[word] !== undefined).map(word => [word, query[word]]));
}

export function AuditPage(): JSX.Element {
  const router = useRouter();
  const { query } = router.route;
  const model = useRead(
    'audit',
    KINDS,
    (api, query: IAuditQuery) => api.admin.audit(query),
    auditQuery(query)
  );
  const change = (words: Query): void => changeQuery(router, { ...words, cursor: '' });
  const text = (word: (typeof WORDS)[number], label: string, example: string): JSX.Element => (
    <FilterText
      label={label}
      placeholder={example}
      value={query[word] ?? ''}
      onChange={value => change({ [word]: value })}
    />
  );
  const time = (word: 'since' | 'until', label: string): JSX.Element => (
    <label>
      {label}{' '}
      <input
        className="jp-mod-styled"
        type="datetime-local"
        value={Number.isNaN(Date.parse(query[word] ?? '')) ? '' : localInput(query[word] ?? '')}
        onChange={event =>
          change({ [word]: event.target.value === '' ? '' : new Date(event.target.value).toISOString() })
        }
      />
    </label>
  );
  const page = model.value;
  const { cursor, ...others } = query;
  return (
    <>
      <h1>{trans.__('Audit')}</h1>
      <div className="hai-Filters" role="search">
        {text('who', trans.__('Who did it'), trans.__('Who did it: a user name'))}
        {text('action', trans.__('Action'), trans.__('Action: quota.put, quota…'))}
        {text('subject', trans.__('Subject'), trans.__('Subject: user:ann, node…'))}
        {time('since', trans.__('From'))}
        {time('until', trans.__('Until'))}
      </div>
      <Reading error={model.error} ready={page !== null} />
      {page && <AuditTable items={page.items} />}
      <p className="hai-Pager">
        {cursor !== undefined && (
          <Link to={{ page: 'audit', query: others }}>{trans.__('Newest changes')}</Link>
        )}{' '}
        {typeof page?.next_cursor === 'number' && (
          <Link to={{ page: 'audit', query: { ...query, cursor: String(page.next_cursor) } }}>
            {trans.__('Older changes')}
          </Link>
        )}
      </p>
    </>
  );
}
