/** Changes by admins, with what was there before and after. */

import type { JSX } from 'react';
import type { IAuditEntry } from '../../../api/types';
import { trans } from '../../../text/translate';
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
    <div className="hai-Table-scroll" tabIndex={0} role="region" aria-label={trans.__('Changes')}>
      <table className="hai-Table hai-Audit" data-testid="hai-audit">
        <thead>
          <tr>
            <th scope="col">{trans.__('Time')}</th>
            <th scope="col">{trans.__('By')}</th>
            <th scope="col">{trans.__('Action')}</th>
            <th scope="col">{trans.__('Subject')}</th>
            <th scope="col">{trans.__('Before → after')}</th>
            <th scope="col">{trans.__('Address')}</th>
          </tr>
        </thead>
        <tbody>
          {items.map(entry => (
            <tr key={entry.number}>
              <td>{moment(entry.at)}</td>
              <th scope="row">{entry.actor}</th>
              <td>{entry.action}</td>
              <td>{entry.subject}</td>
              <td>
                {differencesOf(entry).map(([field, before, after]) => (
                  <div key={field}>{`${field}: ${before} → ${after}`}</div>
                ))}
              </td>
              <td>{entry.address ?? '–'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
