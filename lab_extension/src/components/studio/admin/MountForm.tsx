/** A mount rule in a form. It is written only over the version that the admin has seen when the form was opened. */

import { useState, type JSX } from 'react';
import type { IMountRule } from '../../../api/types';
import { trans } from '../../../text/translate';
import { useHost } from '../../host';
import { Select } from '../../Select';
import { useStudio } from '../context';
import { RefusedChange, useVersioned } from './Collision';
import { mountDraftOf, mountValueOf, mountWords, type IMountDraft } from './mounts';

/** `rule`: null for a new one, which has a name to fill in. */
export function MountForm(props: {
  rule: IMountRule | null;
  groups: readonly string[];
  onDone: (changed: boolean) => void;
}): JSX.Element {
  const { api } = useStudio();
  const host = useHost();
  const edit = useVersioned(props.rule);
  const [name, setName] = useState(props.rule?.name ?? '');
  const [draft, setDraft] = useState<IMountDraft>(() => mountDraftOf(props.rule));
  const put = (words: Partial<IMountDraft>): void => setDraft({ ...draft, ...words });
  const save = async (over?: IMountRule | null): Promise<void> => {
    const answer: { rule?: IMountRule } = {};
    const made = await edit.write(async version => {
      answer.rule = await api.admin.putMount(name.trim(), mountValueOf(draft), version);
    }, over);
    if (made) {
      const warnings = answer.rule?.warnings ?? [];
      host.notify(
        warnings.length === 0 ? 'info' : 'warning',
        [trans.__('Mount rule %1 saved.', name.trim()), ...warnings].join(' ')
      );
      props.onDone(true);
    }
  };
  const remove = async (over?: IMountRule | null): Promise<void> => {
    const sure = await host.confirm({
      title: trans.__('Remove mount rule %1?', name),
      body: trans.__('Containers and runs that start from now on do not have it. No file is deleted.'),
      accept: trans.__('Remove'),
      keep: trans.__('Cancel')
    });
    if (!sure) {
      return;
    }
    const removed = await edit.remove(version => api.admin.deleteMount(name, version), over);
    if (removed === 'gone') {
      host.notify('info', trans.__('Somebody else has removed it already.'));
    }
    if (removed !== 'refused') {
      props.onDone(true);
    }
  };
  const field = (key: 'subject' | 'mountPath' | 'priority' | 'description', label: string): JSX.Element => (
    <label>
      {label}{' '}
      <input
        className="jp-mod-styled"
        spellCheck={false}
        inputMode={key === 'priority' ? 'numeric' : undefined}
        value={draft[key]}
        onChange={event => put({ [key]: event.target.value })}
      />
    </label>
  );
  const removes = draft.what === 'remove';
  return (
    <form
      className="hai-Admin-form"
      aria-label={props.rule === null ? trans.__('New mount rule') : trans.__('Mount rule %1', name)}
      onSubmit={event => {
        event.preventDefault();
        void save();
      }}
    >
      {props.rule === null ? (
        <label>
          {trans.__('Name')}{' '}
          <input
            className="jp-mod-styled"
            spellCheck={false}
            autoFocus
            value={name}
            onChange={event => setName(event.target.value)}
          />
        </label>
      ) : (
        <b>{name}</b>
      )}
      {field('subject', trans.__('Whom it is for (user:NAME, group:NAME or public)'))}
      {field('mountPath', trans.__('Mount path'))}
      <label>
        {trans.__('What is mounted')}{' '}
        <Select
          className="hai-mod-small"
          value={draft.what}
          onChange={event => put({ what: event.target.value as IMountDraft['what'] })}
          options={[
            { value: 'host_path', label: trans.__('A folder of the node') },
            { value: 'pvc', label: trans.__('A claim, or a folder in it') },
            { value: 'remove', label: trans.__('Nothing, whatever weaker rules say') }
          ]}
        />
      </label>
      {!removes && (
        <>
          <label>
            {draft.what === 'pvc' ? trans.__('Claim/folder') : trans.__('Folder')}{' '}
            <input
              className="jp-mod-styled"
              spellCheck={false}
              value={draft.source}
              onChange={event => put({ source: event.target.value })}
            />
          </label>
          <label>
            <input
              type="checkbox"
              checked={draft.write}
              onChange={event => put({ write: event.target.checked })}
            />{' '}
            {trans.__('They may write')}
          </label>
        </>
      )}
      {field('priority', trans.__('Priority'))}
      <label>
        {trans.__('On')}{' '}
        <Select
          className="hai-mod-small"
          value={draft.nodeGroup}
          onChange={event => put({ nodeGroup: event.target.value })}
          options={[
            { value: '', label: trans.__('all nodes') },
            ...[...new Set([...props.groups, ...(draft.nodeGroup === '' ? [] : [draft.nodeGroup])])].map(
              group => ({ value: group, label: group })
            )
          ]}
        />
      </label>
      {field('description', trans.__('Description'))}
      <button className="hai-Button hai-mod-primary" disabled={edit.busy || name.trim() === ''} type="submit">
        {trans.__('Save')}
      </button>
      {props.rule !== null && (
        <button
          className="hai-Button hai-mod-danger"
          disabled={edit.busy}
          type="button"
          onClick={() => void remove()}
        >
          {trans.__('Remove…')}
        </button>
      )}
      <button className="hai-Link" type="button" onClick={() => props.onDone(false)}>
        {trans.__('Cancel')}
      </button>
      <RefusedChange
        edit={edit}
        words={there => (there === null ? trans.__('no rule of this name') : mountWords(there))}
        mine={mountWords(mountValueOf(draft))}
        onTake={there => {
          edit.take(there);
          setDraft(mountDraftOf(there));
        }}
        onAgain={(wish, there) => void (wish === 'write' ? save(there) : remove(there))}
      />
    </form>
  );
}
