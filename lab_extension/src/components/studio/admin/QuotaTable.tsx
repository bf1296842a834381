/** The quota of a user by node group and priority, edited in place. */

import { useState, type JSX } from 'react';
import type { QuotaKey } from '../../../api/admin';
import { PRIORITIES } from '../../../api/constants';
import type { IQuota, IUserDetail } from '../../../api/types';
import { numberText, priorityLabel } from '../../../text/words';
import { trans } from '../../../text/translate';
import { Select } from '../../Select';
import { Table } from '../../Table';
import { useHost } from '../../host';
import { useStudio } from '../context';
import { RefusedChange, useVersioned } from './Collision';
import { draftOf, quotaWords, valueOf, type IQuotaDraft } from './quota';
import { moment } from './values';

type Level = Pick<QuotaKey, 'group' | 'priority'>;
const idOf = (level: Level): string => `${level.group} ${level.priority}`;

export function QuotaTable(props: { user: IUserDetail; onChanged: () => void }): JSX.Element {
  const { user } = props;
  const [edited, setEdited] = useState<Level | null>(null);
  const rowOf = (level: Level): IQuota | null =>
    user.rows.find(row => row.subject === `user:${user.name}` && idOf(row) === idOf(level)) ?? null;
  return (
    <>
      <Table
        label={trans.__('Quota of %1', user.name)}
        items={user.quota}
        keyOf={idOf}
        columns={[
          { title: trans.__('Node group'), cell: quota => quota.group },
          { title: trans.__('Priority'), head: true, cell: quota => priorityLabel(quota.priority) },
          { title: trans.__('Held'), number: true, cell: quota => numberText(quota.used) },
          { title: trans.__('Limit'), number: true, cell: quota => quota.limit ?? trans.__('no limit') },
          { title: trans.__('Ceiling'), number: true, cell: quota => quota.ceiling ?? '–' },
          {
            title: trans.__('Expires'),
            cell: ({ expires_at }) => (expires_at === null ? trans.__('never') : moment(expires_at))
          },
          { title: trans.__('Given by the row'), cell: quota => quota.source },
          {
            title: trans.__('Change'),
            cell: quota => (
              <button
                className="hai-Link"
                onClick={() => setEdited(quota)}
                aria-label={trans.__(
                  'Edit the quota for %1 in %2',
                  priorityLabel(quota.priority),
                  quota.group
                )}
              >
                {trans.__('Edit')}
              </button>
            )
          }
        ]}
      />
      {user.quota.length === 0 && (
        <p className="hai-Empty">{trans.__('No row of quota counts for %1.', user.name)}</p>
      )}
      {edited === null ? (
        <AddLevel user={user} onAdd={setEdited} />
      ) : (
        <QuotaEditor
          key={idOf(edited)}
          level={edited}
          user={user.name}
          row={rowOf(edited)}
          onDone={changed => {
            setEdited(null);
            if (changed) {
              props.onChanged();
            }
          }}
        />
      )}
    </>
  );
}

/** A level that has no row yet. */
function AddLevel(props: { user: IUserDetail; onAdd: (level: Level) => void }): JSX.Element {
  const { cluster } = useStudio();
  const groups = [
    ...new Set([
      ...(cluster.cluster?.groups.map(group => group.group) ?? []),
      ...props.user.quota.map(quota => quota.group)
    ])
  ];
  const levels = groups.flatMap(group => PRIORITIES.map(priority => ({ group, priority })));
  const missing = levels.filter(level => props.user.quota.every(quota => idOf(quota) !== idOf(level)));
  return missing.length === 0 ? (
    <></>
  ) : (
    <Select
      className="hai-mod-small"
      aria-label={trans.__('Give quota at a further level')}
      value=""
      onChange={event => {
        const level = missing.find(each => idOf(each) === event.target.value);
        if (level) {
          props.onAdd(level);
        }
      }}
      options={[
        { value: '', label: trans.__('Give quota at a further level…') },
        ...missing.map(level => ({
          value: idOf(level),
          label: `${level.group} · ${priorityLabel(level.priority)}`
        }))
      ]}
    />
  );
}

/** The user's own row at a level. It is written only over the version that the admin has seen when the form was opened. */
function QuotaEditor(props: {
  level: Level;
  user: string;
  row: IQuota | null;
  onDone: (changed: boolean) => void;
}): JSX.Element {
  const { level, user } = props;
  const { api } = useStudio();
  const host = useHost();
  const edit = useVersioned(props.row);
  const [draft, setDraft] = useState<IQuotaDraft>(() => draftOf(props.row));
  const key: QuotaKey = { subject: `user:${user}`, group: level.group, priority: level.priority };
  const save = async (over?: IQuota | null): Promise<void> => {
    const answer: { row?: IQuota } = {};
    const made = await edit.write(async version => {
      answer.row = await api.admin.putQuota(key, valueOf(draft), version);
    }, over);
    if (made) {
      const warning = answer.row?.warning ?? null;
      host.notify(warning === null ? 'info' : 'warning', warning ?? trans.__('Quota of %1 saved.', user));
      props.onDone(true);
    }
  };
  const remove = async (over?: IQuota | null): Promise<void> => {
    const removed = await edit.remove(version => api.admin.deleteQuota(key, version), over);
    if (removed === 'gone') {
      host.notify('info', trans.__('Somebody else has removed it already.'));
    }
    if (removed !== 'refused') {
      props.onDone(true);
    }
  };
  const field = (name: keyof IQuotaDraft, label: string, type = 'text'): JSX.Element => (
    <label>
      {label}{' '}
      <input
        className="jp-mod-styled"
        type={type}
        value={draft[name]}
        inputMode={type === 'text' ? 'numeric' : undefined}
        onChange={event => setDraft({ ...draft, [name]: event.target.value })}
      />
    </label>
  );
  return (
    <form
      className="hai-Admin-form"
      aria-label={trans.__('Quota of %1 for %2 in %3', user, priorityLabel(level.priority), level.group)}
      onSubmit={event => {
        event.preventDefault();
        void save();
      }}
    >
      <b>{`user:${user} · ${level.group} · ${priorityLabel(level.priority)}`}</b>
      {field('limit', trans.__('Limit in nodes (empty: no limit)'))}
      {field('ceiling', trans.__('Ceiling (empty: none)'))}
      {field('expires', trans.__('Expires (empty: never)'), 'datetime-local')}
      <button className="hai-Button hai-mod-primary" disabled={edit.busy} type="submit">
        {trans.__('Save')}
      </button>
      {edit.seen !== null && (
        <button
          className="hai-Button hai-mod-danger"
          disabled={edit.busy}
          type="button"
          onClick={() => void remove()}
        >
          {trans.__('Remove the row')}
        </button>
      )}
      <button className="hai-Link" type="button" onClick={() => props.onDone(false)}>
        {trans.__('Cancel')}
      </button>
      <RefusedChange
        edit={edit}
        words={there => (there === null ? trans.__('no row') : quotaWords(there))}
        mine={quotaWords(valueOf(draft))}
        onTake={there => {
          edit.take(there);
          setDraft(draftOf(there));
        }}
        onAgain={(wish, there) => void (wish === 'write' ? save(there) : remove(there))}
      />
    </form>
  );
}
