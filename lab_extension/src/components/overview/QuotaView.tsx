/** What the user may hold at once, by priority. */

import type { JSX } from 'react';
import type { IOwnQuota, ITaskSummary } from '../../api/types';
import { count, priorityLabel } from '../../text/words';
import { Bar } from '../react';
import { trans } from '../../text/translate';

/** A level of a node group, as a word. */
type Level = string;

const levelOf = (row: Pick<IOwnQuota, 'group' | 'priority'>): Level => `${row.group} ${row.priority}`;

/** The levels at which a task waits for quota. */
export function waitingForQuota(tasks: readonly Pick<ITaskSummary, 'short'>[]): ReadonlySet<Level> {
  const found = tasks.flatMap(({ short }) =>
    short?.id === 'quota' ? [`${String(short.data.group)} ${String(short.data.level)}`] : []
  );
  return new Set(found);
}

/** Rows that limit the user: a limit of which something is held, or for which a task waits. */
export function limitingRows(quota: readonly IOwnQuota[], waiting: ReadonlySet<Level>): IOwnQuota[] {
  return quota.filter(row => row.limit !== null && (row.used > 0 || waiting.has(levelOf(row))));
}

/** Limits of which nothing is held, in a sentence; a limit of 0 says only that there is no quota. */
export function unusedRows(quota: readonly IOwnQuota[], waiting: ReadonlySet<Level>): IOwnQuota[] {
  return quota.filter(
    row => row.limit !== null && row.limit > 0 && row.used === 0 && !waiting.has(levelOf(row))
  );
}

/** Levels without a limit, in a sentence. */
export function freeRows(quota: readonly IOwnQuota[]): IOwnQuota[] {
  return quota.filter(row => row.limit === null);
}

/** What limits the user as bars; the rest in a sentence. */
export function QuotaView(props: {
  quota: readonly IOwnQuota[];
  /** The levels at which a task waits for quota. */
  /** Levels that tasks in the same view wait for. */
  waiting?: ReadonlySet<Level>;
}): JSX.Element {
  const { quota, waiting = new Set<Level>() } = props;
  const [rows, unused, free] = [limitingRows(quota, waiting), unusedRows(quota, waiting), freeRows(quota)];
  const groups = [...new Set([...rows, ...unused, ...free].map(row => row.group))];
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
              <QuotaRow key={row.priority} row={row} waited={waiting.has(levelOf(row))} />
            ))}
          <Unused rows={unused.filter(row => row.group === group)} />
          <Free rows={free.filter(row => row.group === group)} />
        </div>
      ))}
    </div>
  );
}

function Unused({ rows }: { rows: readonly IOwnQuota[] }): JSX.Element | null {
  const names = rows.map(row =>
    trans.__('%1 (%2)', priorityLabel(row.priority), count(row.limit ?? 0, 'node'))
  );
  return names.length === 0 ? null : (
    <p className="hai-Quota-free">{trans.__('Nothing held, limits: %1', names.join(', '))}</p>
  );
}

function Free({ rows }: { rows: readonly IOwnQuota[] }): JSX.Element | null {
  const names = rows.map(row =>
    row.used === 0
      ? priorityLabel(row.priority)
      : trans.__('%1 (%2 held)', priorityLabel(row.priority), count(usedOf(row), 'node'))
  );
  return names.length === 0 ? null : (
    <p className="hai-Quota-free">{trans.__('No limit: %1', names.join(', '))}</p>
  );
}

/** Tasks that share nodes hold parts of them. */
function usedOf(row: IOwnQuota): number {
  return Math.round(row.used * 100) / 100;
}

function QuotaRow({ row, waited }: { row: IOwnQuota; waited: boolean }): JSX.Element {
  const used = usedOf(row);
  const limit = row.limit ?? 0;
  const label = trans.__(
    '%1: %2 held, limit %3 (%4)',
    priorityLabel(row.priority),
    count(used, 'node'),
    limit,
    row.source
  );
  return (
    <>
      <div className="hai-Quota-row">
        <span className="hai-Quota-name">{priorityLabel(row.priority)}</span>
        <Bar
          label={label}
          total={limit}
          parts={[{ className: row.used >= limit ? 'hai-mod-full' : 'hai-mod-held', value: row.used }]}
        />
        <span className="hai-Quota-number">
          <b>{used}</b> {trans.__('of %1', limit)}
        </span>
      </div>
      {waited && (
        <p className="hai-Quota-free">
          {trans.__('A task of yours waits for quota at %1.', priorityLabel(row.priority))}
        </p>
      )}
    </>
  );
}
