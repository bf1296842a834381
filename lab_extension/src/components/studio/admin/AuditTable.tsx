/** Changes by admins, with what was there before and after. */

import type { JSX } from 'react';
import type { IAuditEntry } from '../../../api/types';
import { trans } from '../../../text/translate';
import { Table } from '../../Table';
import { moment, valueText } from './values';

/** What differs: a field, its value before, and after. */
export function differencesOf(entry: IAuditEntry): [string, string, string][] {
  const { before, after } = entry;
  return [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
    .map((field): [string, string, string] => [field, textOf(before?.[field]), textOf(after?.[field])])
    .filter(([, one, other]) => one !== other);
}

/** An empty text is as good as none: else nothing would stand behind the arrow. */
function textOf(value: unknown): string {
  return valueText(value) || '–';
}

export function AuditTable({ items }: { items: readonly IAuditEntry[] }): JSX.Element {
  return items.length === 0 ? (
    <p className="hai-Empty">{trans.__('Nothing was changed.')}</p>
  ) : (
    <Table
      region={trans.__('Changes')}
      testId="hai-audit"
      className="hai-Table hai-Audit"
      items={items}
      keyOf={entry => entry.number}
      columns={[
        { title: trans.__('Time'), cell: entry => moment(entry.at) },
        { title: trans.__('By'), head: true, cell: entry => entry.actor },
        { title: trans.__('Action'), cell: entry => entry.action },
        { title: trans.__('Subject'), cell: entry => entry.subject },
        {
          title: trans.__('Before → after'),
          cell: entry =>
            differencesOf(entry).map(([field, before, after]) => (
              <div key={field}>{`${field}: ${before} → ${after}`}</div>
            ))
        },
        { title: trans.__('Address'), cell: entry => entry.address ?? '–' }
      ]}
    />
  );
}
