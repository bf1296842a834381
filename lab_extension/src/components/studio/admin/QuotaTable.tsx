/** The quota of a user by node group and priority, edited in place. */

import { useState, type JSX } from 'react';
import type { QuotaKey } from '../../../api/admin';
import type { IQuota, IUserDetail, IUserQuota, PriorityName } from '../../../api/types';
import { numberText, priorityLabel } from '../../../text/words';
import { trans } from '../../../text/translate';
import { Select } from '../../Select';
import { useHost } from '../../host';
import { Notice } from '../../react';
import { useStudio } from '../context';
import { draftOf, quotaWords, valueOf, type IQuotaDraft } from './quota';
import { currentOf, Refused, useChange } from './Refused';
import { moment } from './values';

const LEVELS: readonly PriorityName[] = [
  'EXTREME_HIGH',
  'VERY_HIGH',
  'HIGH',
  'ABOVE_NORMAL',
  'NORMAL',
  'BELOW_NORMAL',
  'LOW'
];

type Level = Pick<QuotaKey, 'group' | 'priority'>;
const idOf = (level: Level): string => `${level.group} ${level.priority}`;

export function QuotaTable(props: { user: IUserDetail; onChanged: () => void }): JSX.Element {
  const { user } = props;
  const [edited, setEdited] = useState<Level | null>(null);
  const rowOf = (level: Level): IQuota | null =>
    user.rows.find(row => row.subject === `user:${user.name}` && idOf(row) === idOf(level)) ?? null;
  return (
    <>
      <div className="hai-Table-scroll">
        <table className="hai-Table" aria-label={trans.__('Quota of %1', user.name)}>
          <thead>
            <tr>
              <th scope="col">{trans.__('Node group')}</th>
              <th scope="col">{trans.__('Priority')}</th>
              <th scope="col" className="hai-mod-number">
                {trans.__('Held')}
              </th>
              <th scope="col" className="hai-mod-number">
                {trans.__('Limit')}
              </th>
              <th scope="col" className="hai-mod-number">
                {trans.__('Ceiling')}
              </th>
              <th scope="col">{trans.__('Expires')}</th>
              <th scope="col">{trans.__('Given by the row')}</th>
              <th scope="col">{trans.__('Change')}</th>
            </tr>
          </thead>
          <tbody>
            {user.quota.map(quota => (
              <QuotaLine key={idOf(quota)} quota={quota} onEdit={() => setEdited(quota)} />
            ))}
          </tbody>
        </table>
      </div>
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

function QuotaLine({ quota, onEdit }: { quota: IUserQuota; onEdit: () => void }): JSX.Element {
  const label = priorityLabel(quota.priority);
  return (
    <tr>
      <td>{quota.group}</td>
      <th scope="row">{label}</th>
      <td className="hai-mod-number">{numberText(quota.used)}</td>
      <td className="hai-mod-number">{quota.limit ?? trans.__('no limit')}</td>
      <td className="hai-mod-number">{quota.ceiling ?? '–'}</td>
      <td>{quota.expires_at === null ? trans.__('never') : moment(quota.expires_at)}</td>
      <td>{quota.source}</td>
      <td>
        <button
          className="hai-Link"
          onClick={onEdit}
          aria-label={trans.__('Edit the quota for %1 in %2', label, quota.group)}
        >
          {trans.__('Edit')}
        </button>
      </td>
    </tr>
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
  const levels = groups.flatMap(group => LEVELS.map(priority => ({ group, priority })));
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
  const change = useChange();
  const [seen, setSeen] = useState(props.row);
  const [draft, setDraft] = useState<IQuotaDraft>(() => draftOf(props.row));
  const key: QuotaKey = { subject: `user:${user}`, group: level.group, priority: level.priority };
  const current = currentOf(change.error) as IQuota | null | undefined;
  const save = async (version: string | null): Promise<void> => {
    const answer: { row?: IQuota } = {};
    const made = await change.run(async () => {
      answer.row = await api.admin.putQuota(key, valueOf(draft), version);
    });
    if (made) {
      const warning = answer.row?.warning ?? null;
      host.notify(warning === null ? 'info' : 'warning', warning ?? trans.__('Quota of %1 saved.', user));
      props.onDone(true);
    }
  };
  const remove = async (version: string): Promise<void> => {
    if (await change.run(() => api.admin.deleteQuota(key, version))) {
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
        void save(seen?.version ?? null);
      }}
    >
      <b>{`user:${user} · ${level.group} · ${priorityLabel(level.priority)}`}</b>
      {field('limit', trans.__('Limit in nodes (empty: no limit)'))}
      {field('ceiling', trans.__('Ceiling (empty: none)'))}
      {field('expires', trans.__('Expires (empty: never)'), 'datetime-local')}
      <button className="hai-Button hai-mod-primary" disabled={change.busy} type="submit">
        {trans.__('Save')}
      </button>
      {seen !== null && (
        <button
          className="hai-Button hai-mod-danger"
          disabled={change.busy}
          type="button"
          onClick={() => void remove(seen.version)}
        >
          {trans.__('Remove the row')}
        </button>
      )}
      <button className="hai-Link" type="button" onClick={() => props.onDone(false)}>
        {trans.__('Cancel')}
      </button>
      {change.error !== null && <Refused error={change.error} />}
      {current !== undefined && (
        <Notice kind="warning">
          <p>
            {trans.__('There now: %1.', current === null ? trans.__('no row') : quotaWords(current))}{' '}
            {trans.__('Yours: %1. Nothing was changed.', quotaWords(valueOf(draft)))}
          </p>
          <button
            className="hai-Button"
            type="button"
            onClick={() => {
              setSeen(current);
              setDraft(draftOf(current));
              change.forget();
            }}
          >
            {trans.__('Take what is there')}
          </button>{' '}
          <button
            className="hai-Button"
            type="button"
            disabled={change.busy}
            onClick={() => {
              setSeen(current);
              void save(current?.version ?? null);
            }}
          >
            {trans.__('Write mine over it')}
          </button>
        </Notice>
      )}
    </form>
  );
}
