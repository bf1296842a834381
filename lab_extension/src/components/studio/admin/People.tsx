/** The users with their tasks and quota; with `user` in the address one of them. */

import { useState, type JSX } from 'react';
import type { IPeopleQuery } from '../../../api/admin';
import type { ILevelCount, IUser, IUserQuota } from '../../../api/types';
import { relative } from '../../../text/format';
import { count, numberText, priorityLabel } from '../../../text/words';
import { trans } from '../../../text/translate';
import { Select } from '../../Select';
import { useHost } from '../../host';
import { Notice, useNow } from '../../react';
import { Table, type ITableColumn } from '../../Table';
import { useRead } from '../context';
import { changeQuery, Link, useRouter, type Query } from '../router';
import { Person, PersonQuota } from './Person';
import { FilterText } from './Refused';

const ORDERS = ['name', 'seen', 'running', 'waiting'] as const;

/** What an address asks for. */
export function peopleQuery(query: Query): IPeopleQuery {
  const { name, group, archived, cursor } = query;
  const order = ORDERS.find(each => each === query.order);
  return {
    ...(name === undefined ? {} : { name }),
    ...(group === undefined ? {} : { group }),
    ...(archived === 'true' || archived === 'false' ? { archived } : {}),
    ...(order === undefined ? {} : { order }),
    ...(cursor === undefined ? {} : { cursor })
  };
}

export function PeoplePage(): JSX.Element {
  const { query } = useRouter().route;
  return query.user === undefined ? <People /> : <Person key={query.user} name={query.user} />;
}

function People(): JSX.Element {
  const router = useRouter();
  const host = useHost();
  const { query } = router.route;
  const model = useRead(
    'people',
    ['task.', 'quota.', 'user.'],
    (api, query: IPeopleQuery) => api.admin.users(query),
    peopleQuery(query)
  );
  const page = model.value;
  // Another filter has other pages.
  const filter = (words: Query): void => changeQuery(router, { ...words, cursor: '' });
  const { cursor, ...others } = query;
  return (
    <>
      <header className="hai-Studio-head">
        <h1>{trans.__('People')}</h1>
        <span className="hai-Soft" role="status">
          {page ? trans._n('%1 user', '%1 users', page.total) : trans.__('Loading…')}
        </span>
        {host.hubAdmin !== undefined && <a href={host.hubAdmin}>{trans.__('Create users at the Hub')}</a>}
      </header>
      {model.error !== null && <Notice kind="error">{model.error}</Notice>}
      <Filters query={query} onChange={filter} />
      {page?.items.length === 0 && <p className="hai-Empty">{trans.__('No user matches these filters.')}</p>}
      {page && page.items.length > 0 && <Users items={page.items} onOrder={order => filter({ order })} />}
      <p className="hai-Pager">
        {cursor !== undefined && <Link to={{ page: 'people', query: others }}>{trans.__('First page')}</Link>}{' '}
        {page?.next_cursor && (
          <Link to={{ page: 'people', query: { ...query, cursor: page.next_cursor } }}>
            {trans.__('Next page')}
          </Link>
        )}
      </p>
    </>
  );
}

function Filters(props: { query: Query; onChange: (words: Query) => void }): JSX.Element {
  const { query, onChange } = props;
  const orders: Record<(typeof ORDERS)[number], string> = {
    name: trans.__('By name'),
    seen: trans.__('Last seen first'),
    running: trans.__('Most nodes held first'),
    waiting: trans.__('Most nodes waited for first')
  };
  return (
    <div className="hai-Filters" role="search">
      <FilterText
        label={trans.__('Name')}
        placeholder={trans.__('A part of the name')}
        value={query.name ?? ''}
        onChange={name => onChange({ name })}
      />
      <FilterText
        label={trans.__('User group')}
        placeholder={trans.__('User group')}
        value={query.group ?? ''}
        onChange={group => onChange({ group })}
      />
      <Select
        className="hai-mod-small"
        aria-label={trans.__('Archived or not')}
        value={query.archived ?? ''}
        onChange={event => onChange({ archived: event.target.value })}
        options={[
          { value: '', label: trans.__('All users') },
          { value: 'false', label: trans.__('Not archived') },
          { value: 'true', label: trans.__('Archived') }
        ]}
      />
      <Select
        className="hai-mod-small"
        aria-label={trans.__('Order')}
        value={query.order ?? 'name'}
        onChange={event => onChange({ order: event.target.value })}
        options={ORDERS.map(value => ({ value, label: orders[value] }))}
      />
    </div>
  );
}

/** `High: 2 tasks on 8 nodes`, or `for 8 nodes` of those that wait; one for each priority. */
export function levelsText(levels: readonly ILevelCount[], of: 'running' | 'waiting'): string {
  return levels
    .flatMap(level => {
      const [tasks, nodes] =
        of === 'running'
          ? [level.running_tasks, level.running_nodes]
          : [level.waiting_tasks, level.waiting_nodes];
      const words = [priorityLabel(level.priority), count(tasks, 'task'), count(nodes, 'node')] as const;
      if (tasks === 0) {
        return [];
      }
      return [of === 'running' ? trans.__('%1: %2 on %3', ...words) : trans.__('%1: %2 for %3', ...words)];
    })
    .join(', ');
}

/** What is held of each limit, and that there is none else: `training High: 3 of 4; otherwise no limit`. */
export function limitsText(quota: readonly IUserQuota[]): string {
  const limited = quota.flatMap(each =>
    each.limit === null
      ? []
      : [
          trans.__(
            '%1 %2: %3 of %4',
            each.group,
            priorityLabel(each.priority),
            numberText(each.used),
            numberText(each.limit)
          )
        ]
  );
  if (limited.length === 0) {
    return quota.length === 0 ? '–' : trans.__('no limit');
  }
  const words = limited.join(', ');
  return limited.length === quota.length ? words : trans.__('%1; otherwise no limit', words);
}

function Users(props: { items: readonly IUser[]; onOrder: (order: string) => void }): JSX.Element {
  const now = useNow(30_000);
  const [open, setOpen] = useState<string | null>(null);
  const { route } = useRouter();
  const sorted = (
    order: (typeof ORDERS)[number],
    title: string
  ): Pick<ITableColumn<IUser>, 'title' | 'sorted'> => {
    const shown = (route.query.order ?? 'name') === order;
    return {
      title: (
        <button className="hai-Virtual-sort" onClick={() => props.onOrder(order)}>
          {title}
          <span aria-hidden="true">{shown ? (order === 'name' ? ' ▴' : ' ▾') : ''}</span>
        </button>
      ),
      sorted: shown ? (order === 'name' ? 'ascending' : 'descending') : undefined
    };
  };
  return (
    <Table
      region={trans.__('People')}
      testId="hai-people"
      items={props.items}
      keyOf={user => user.name}
      below={user => (open === user.name ? <PersonQuota name={user.name} /> : null)}
      columns={[
        {
          ...sorted('name', trans.__('User')),
          head: true,
          cell: user => (
            <>
              <Link className="hai-Table-name" to={{ page: 'people', query: { user: user.name } }}>
                {user.name}
              </Link>
              {user.admin && <span className="hai-Tag">{trans.__('admin')}</span>}
              {user.archived && <span className="hai-Tag">{trans.__('archived')}</span>}
            </>
          )
        },
        { title: trans.__('User groups'), cell: user => user.groups.join(', ') || '–' },
        {
          ...sorted('running', trans.__('Running')),
          cell: user => levelsText(user.levels, 'running') || '–'
        },
        {
          ...sorted('waiting', trans.__('Waiting')),
          cell: user => levelsText(user.levels, 'waiting') || '–'
        },
        {
          title: trans.__('Quota: held of limit'),
          className: 'hai-Admin-help',
          cell: user => limitsText(user.quota)
        },
        {
          ...sorted('seen', trans.__('Last seen')),
          cell: user => (user.seen_at === null ? trans.__('never') : relative(user.seen_at, now))
        },
        {
          title: trans.__('Change'),
          cell: ({ name }) => (
            <button
              className="hai-Link"
              aria-expanded={open === name}
              aria-label={trans.__('Quota of %1', name)}
              onClick={() => setOpen(open === name ? null : name)}
            >
              {trans.__('Quota')}
            </button>
          )
        }
      ]}
    />
  );
}
