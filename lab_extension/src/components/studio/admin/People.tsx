/** The users with their tasks and quota; with `user` in the address one of them. */

import { Fragment, useEffect, useState, type JSX } from 'react';
import type { IPeopleQuery } from '../../../api/admin';
import type { ILevelCount, IUser, IUserList } from '../../../api/types';
import { AdminModel } from '../../../models/admin';
import { relative } from '../../../text/format';
import { numberText, priorityLabel } from '../../../text/words';
import { trans } from '../../../text/translate';
import { Select } from '../../Select';
import { useHost } from '../../host';
import { Notice, useNow } from '../../react';
import { useModel, useStudio } from '../context';
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
  const { api, feed } = useStudio();
  const router = useRouter();
  const host = useHost();
  const { query } = router.route;
  const asked = peopleQuery(query);
  const model = useModel(
    () =>
      new AdminModel<IPeopleQuery, IUserList>({
        feed,
        name: 'hai:people',
        kinds: ['task.', 'quota.', 'user.'],
        ask: question => api.admin.users(question),
        question: asked
      })
  );
  useEffect(() => model.look(asked));
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

/** `High 2 (8 nodes)`, one for each priority. */
export function levelsText(levels: readonly ILevelCount[], of: 'running' | 'waiting'): string {
  return levels
    .map(level => ({
      label: priorityLabel(level.priority),
      tasks: of === 'running' ? level.running_tasks : level.waiting_tasks,
      nodes: of === 'running' ? level.running_nodes : level.waiting_nodes
    }))
    .filter(level => level.tasks > 0)
    .map(level => trans.__('%1: %2 on %3 nodes', level.label, level.tasks, numberText(level.nodes)))
    .join(', ');
}

function Users(props: { items: readonly IUser[]; onOrder: (order: string) => void }): JSX.Element {
  const now = useNow(30_000);
  const [open, setOpen] = useState<string | null>(null);
  const { route } = useRouter();
  const head = (order: (typeof ORDERS)[number], title: string): JSX.Element => {
    const sorted = (route.query.order ?? 'name') === order;
    return (
      <th
        scope="col"
        {...(sorted
          ? { 'aria-sort': order === 'name' ? ('ascending' as const) : ('descending' as const) }
          : {})}
      >
        <button className="hai-Virtual-sort" onClick={() => props.onOrder(order)}>
          {title}
          <span aria-hidden="true">{sorted ? (order === 'name' ? ' ▴' : ' ▾') : ''}</span>
        </button>
      </th>
    );
  };
  return (
    <div className="hai-Table-scroll" tabIndex={0} role="region" aria-label={trans.__('People')}>
      <table className="hai-Table" data-testid="hai-people">
        <thead>
          <tr>
            {head('name', trans.__('User'))}
            <th scope="col">{trans.__('User groups')}</th>
            {head('running', trans.__('Running'))}
            {head('waiting', trans.__('Waiting'))}
            <th scope="col">{trans.__('Quota: held of limit')}</th>
            {head('seen', trans.__('Last seen'))}
            <th scope="col">{trans.__('Change')}</th>
          </tr>
        </thead>
        <tbody>
          {props.items.map(user => (
            <Fragment key={user.name}>
              <tr>
                <th scope="row">
                  <Link className="hai-Table-name" to={{ page: 'people', query: { user: user.name } }}>
                    {user.name}
                  </Link>
                  {user.admin && <span className="hai-Tag">{trans.__('admin')}</span>}
                  {user.archived && <span className="hai-Tag">{trans.__('archived')}</span>}
                </th>
                <td>{user.groups.join(', ') || '–'}</td>
                <td>{levelsText(user.levels, 'running') || '–'}</td>
                <td>{levelsText(user.levels, 'waiting') || '–'}</td>
                <td>
                  {user.quota
                    .map(
                      each =>
                        `${each.group} ${priorityLabel(each.priority)}: ${numberText(each.used)}/${each.limit ?? '∞'}`
                    )
                    .join(', ') || '–'}
                </td>
                <td>{user.seen_at === null ? trans.__('never') : relative(user.seen_at, now)}</td>
                <td>
                  <button
                    className="hai-Link"
                    aria-expanded={open === user.name}
                    aria-label={trans.__('Quota of %1', user.name)}
                    onClick={() => setOpen(open === user.name ? null : user.name)}
                  >
                    {trans.__('Quota')}
                  </button>
                </td>
              </tr>
              {open === user.name && (
                <tr>
                  <td colSpan={7} className="hai-Admin-inside">
                    <PersonQuota name={user.name} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}
