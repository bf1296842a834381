/** What the user may hold at once, by priority. */

import type { JSX } from 'react';
import type { IOwnQuota } from '../../api/types';
import { count, priorityLabel } from '../../text/words';
import { Bar } from '../react';
import { trans } from '../../text/translate';

/** Rows that say something: a limit above zero, or something held. */
export function tellingRows(quota: readonly IOwnQuota[]): IOwnQuota[] {
  return quota.filter(row => row.used > 0 || (row.limit !== null && row.limit > 0));
}

/** Priorities without a limit at which nothing is held, by node group: one sentence is enough for them. */
export function freeRows(quota: readonly IOwnQuota[]): IOwnQuota[] {
  return quota.filter(row => row.limit === null && row.used === 0);
}

export function QuotaView(props: { quota: readonly IOwnQuota[] }): JSX.Element {
  const rows = tellingRows(props.quota);
  const free = freeRows(props.quota);
  const groups = [...new Set([...rows, ...free].map(row => row.group))];
  return (
    <div data-testid="hai-quota">
      {groups.length === 0 && (
        <p className="hai-Empty">
          {trans.__('You have no quota yet, so your tasks cannot start. Ask an administrator.')}
        </p>
      )}
      {groups.map(group => (
        <div key={group}>
          {groups.length > 1 && <h4 className="hai-Quota-group">{group}</h4>}
          {rows
            .filter(row => row.group === group)
            .map(row => (
              <QuotaRow key={row.priority} row={row} />
            ))}
          <FreeRows rows={free.filter(row => row.group === group)} />
        </div>
      ))}
    </div>
  );
}

function FreeRows({ rows }: { rows: readonly IOwnQuota[] }): JSX.Element | null {
  if (rows.length === 0) {
    return null;
  }
  const names = rows.map(row => priorityLabel(row.priority)).join(', ');
  return <p className="hai-Quota-free">{trans.__('No limit, nothing held: %1', names)}</p>;
}

function QuotaRow({ row }: { row: IOwnQuota }): JSX.Element {
  // Tasks that share nodes hold parts of them.
  const used = Math.round(row.used * 100) / 100;
  const of = row.limit === null ? trans.__('no limit') : trans.__('of %1', row.limit);
  const label = trans.__(
    '%1: %2 held, %3 (%4)',
    priorityLabel(row.priority),
    count(used, 'node'),
    row.limit === null ? trans.__('no limit') : trans.__('limit %1', row.limit),
    row.source
  );
  const full = row.limit !== null && row.used >= row.limit;
  return (
    <div className="hai-Quota-row">
      <span className="hai-Quota-name">{priorityLabel(row.priority)}</span>
      <Bar
        label={label}
        total={row.limit ?? Math.max(row.used, 1) * 4}
        parts={[{ className: full ? 'hai-mod-full' : 'hai-mod-held', value: row.used }]}
      />
      <span className="hai-Quota-number">
        <b>{used}</b> {of}
      </span>
    </div>
  );
}
