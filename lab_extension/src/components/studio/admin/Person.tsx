/** One user: tasks, quota, the latest changes, and archiving. */

import { useState, type JSX } from 'react';
import type { IUserDetail } from '../../../api/types';
import type { AdminModel } from '../../../models/admin';
import { trans } from '../../../text/translate';
import { count } from '../../../text/words';
import { useHost } from '../../host';
import { Reading } from '../../react';
import { useRead, useStudio } from '../context';
import { Link } from '../router';
import { AuditTable } from './AuditTable';
import { QuotaTable } from './QuotaTable';
import { Refused, useChange } from './Refused';
import { moment } from './values';

function usePerson(name: string): AdminModel<string, IUserDetail> {
  return useRead('person', ['task.', 'quota.', 'user.'], (api, user: string) => api.admin.user(user), name);
}

/** The quota of a user within the table of users. */
export function PersonQuota({ name }: { name: string }): JSX.Element {
  const model = usePerson(name);
  return (
    <>
      <Reading error={model.error} ready={model.value !== null} />
      {model.value && <QuotaTable user={model.value} onChanged={() => void model.refresh()} />}
    </>
  );
}

export function Person({ name }: { name: string }): JSX.Element {
  const model = usePerson(name);
  const user = model.value;
  return (
    <>
      <p className="hai-Crumbs">
        <Link to={{ page: 'people' }}>{trans.__('People')}</Link> / {name}
      </p>
      <h1>{name}</h1>
      <Reading error={model.error} ready={user !== null} />
      {user && (
        <>
          <section className="hai-Card" aria-label={trans.__('User')}>
            <p className="hai-Line">
              {trans.__(
                '%1; user groups: %2; last seen: %3.',
                user.admin ? trans.__('Admin') : trans.__('User'),
                user.groups.join(', ') || '–',
                user.seen_at === null ? trans.__('never') : moment(user.seen_at)
              )}
            </p>
            <p className="hai-Line">
              {trans.__(
                'Running: %1 on %2. Waiting: %3 for %4.',
                count(user.running_tasks, 'task'),
                count(user.running_nodes, 'node'),
                count(user.waiting_tasks, 'task'),
                count(user.waiting_nodes, 'node')
              )}{' '}
              <Link to={{ page: 'tasks', query: { whose: 'all', q: user.name } }}>{trans.__('Tasks')}</Link>
            </p>
            <Archiving user={user} onChanged={() => void model.refresh()} />
          </section>
          <section className="hai-Card" aria-label={trans.__('Quota')}>
            <h2>{trans.__('Quota')}</h2>
            <QuotaTable user={user} onChanged={() => void model.refresh()} />
          </section>
          <section className="hai-Card" aria-label={trans.__('Latest changes')}>
            <h2>{trans.__('Latest changes')}</h2>
            <AuditTable items={user.audit} />
          </section>
        </>
      )}
    </>
  );
}

function Archiving(props: { user: IUserDetail; onChanged: () => void }): JSX.Element {
  const { user } = props;
  const { api } = useStudio();
  const host = useHost();
  const change = useChange();
  const [note, setNote] = useState('');
  const archive = async (): Promise<void> => {
    const sure = await host.confirm({
      title: trans.__('Archive %1?', user.name),
      body: trans.__(
        'Tasks that are told to save, and are stopped: %1. Servers of %2 are stopped within seconds, and %2 cannot log in. Files, quota and history stay.',
        user.running_tasks + user.waiting_tasks,
        user.name
      ),
      accept: trans.__('Archive'),
      keep: trans.__('Cancel')
    });
    if (sure && (await change.run(() => api.admin.archive(user.name, note)))) {
      props.onChanged();
    }
  };
  const restore = async (): Promise<void> => {
    const sure = await host.confirm({
      title: trans.__('Restore %1?', user.name),
      body: trans.__('%1 may use the platform again. Tasks that were stopped stay stopped.', user.name),
      accept: trans.__('Restore'),
      keep: trans.__('Cancel')
    });
    if (sure && (await change.run(() => api.admin.restore(user.name)))) {
      props.onChanged();
    }
  };
  return (
    <div className="hai-Admin-form">
      {user.archived ? (
        <>
          <span>
            {trans.__('Archived %1 by %2.', moment(user.archived.at), user.archived.by)} {user.archived.note}
          </span>
          <button className="hai-Button" disabled={change.busy} onClick={() => void restore()}>
            {trans.__('Restore…')}
          </button>
        </>
      ) : (
        <>
          <label>
            {trans.__('Why, for other admins')}{' '}
            <input
              className="jp-mod-styled"
              value={note}
              maxLength={1000}
              onChange={event => setNote(event.target.value)}
            />
          </label>
          <button className="hai-Button hai-mod-danger" disabled={change.busy} onClick={() => void archive()}>
            {trans.__('Archive…')}
          </button>
        </>
      )}
      {change.error !== null && <Refused error={change.error} />}
    </div>
  );
}
