/** The mount rules: which folders containers and tasks see, and what one user sees by them. */

import { useState, type JSX } from 'react';
import type { IMountRule, IResolvedMounts } from '../../../api/types';
import { trans } from '../../../text/translate';
import { Notice, useSignal } from '../../react';
import { Select } from '../../Select';
import { Table } from '../../Table';
import { useRead, useStudio } from '../context';
import { changeQuery, useRouter, type Query } from '../router';
import { MountForm } from './MountForm';
import { accessWords, sourceWords } from './mounts';
import { FilterText } from './Refused';

/** The group of the nodes on which development containers run: the service's default. */
const JUPYTER = 'jupyter';

interface IQuestion {
  user?: string;
  node_group?: string;
}

/** What an address asks for. */
export function mountsQuery(query: Query): IQuestion {
  const { user, node_group } = query;
  return user === undefined ? {} : { user, ...(node_group === undefined ? {} : { node_group }) };
}

export function StoragePage(): JSX.Element {
  const { cluster } = useStudio();
  const router = useRouter();
  useSignal(cluster.changed);
  const { query } = router.route;
  const model = useRead(
    'mounts',
    ['mount.'],
    (api, query: IQuestion) => api.admin.mounts(query),
    mountsQuery(query)
  );
  const [isNew, setNew] = useState(false);
  const groups = [
    ...new Set([
      JUPYTER,
      ...(cluster.cluster?.groups.map(group => group.group) ?? []),
      query.node_group ?? JUPYTER
    ])
  ];
  const list = model.value;
  return (
    <>
      <header className="hai-Studio-head">
        <h1>{trans.__('Storage')}</h1>
        <button className="hai-Button" disabled={isNew} onClick={() => setNew(true)}>
          {trans.__('New mount rule')}
        </button>
      </header>
      {model.error !== null && <Notice kind="error">{model.error}</Notice>}
      {isNew && (
        <section className="hai-Card">
          <MountForm
            rule={null}
            groups={groups}
            onDone={changed => {
              setNew(false);
              if (changed) {
                void model.refresh();
              }
            }}
          />
        </section>
      )}
      {list === null ? (
        model.error === null && <p className="hai-Empty">{trans.__('Loading…')}</p>
      ) : (
        <Rules items={list.items} groups={groups} onChanged={() => void model.refresh()} />
      )}
      <section className="hai-Card" aria-label={trans.__('What a user sees')}>
        <h2>{trans.__('What a user sees')}</h2>
        <div className="hai-Filters" role="search">
          <FilterText
            label={trans.__('User')}
            placeholder={trans.__('Name of a user')}
            value={query.user ?? ''}
            onChange={user => changeQuery(router, { user })}
          />
          <Select
            className="hai-mod-small"
            aria-label={trans.__('On nodes of')}
            value={query.node_group ?? JUPYTER}
            onChange={event =>
              changeQuery(router, { node_group: event.target.value === JUPYTER ? '' : event.target.value })
            }
            options={groups.map(group => ({
              value: group,
              label: group === JUPYTER ? trans.__('%1 (development containers)', group) : group
            }))}
          />
        </div>
        {list?.resolved && <Seen seen={list.resolved} />}
      </section>
    </>
  );
}

function Rules(props: {
  items: readonly IMountRule[];
  groups: readonly string[];
  onChanged: () => void;
}): JSX.Element {
  const [open, setOpen] = useState<string | null>(null);
  if (props.items.length === 0) {
    return <p className="hai-Empty">{trans.__('There is no mount rule.')}</p>;
  }
  return (
    <Table
      region={trans.__('Mount rules')}
      testId="hai-mounts"
      items={props.items}
      keyOf={rule => rule.name}
      below={rule =>
        open === rule.name ? (
          <MountForm
            rule={rule}
            groups={props.groups}
            onDone={changed => {
              setOpen(null);
              if (changed) {
                props.onChanged();
              }
            }}
          />
        ) : null
      }
      columns={[
        { title: trans.__('Rule'), head: true, cell: rule => rule.name },
        { title: trans.__('For'), cell: rule => rule.subject },
        { title: trans.__('Mount path'), cell: rule => rule.mount_path },
        { title: trans.__('What is mounted'), cell: sourceWords },
        {
          title: trans.__('Access'),
          cell: rule => (rule.action === 'remove' ? '–' : accessWords(rule.read_only))
        },
        { title: trans.__('Priority'), number: true, cell: rule => rule.priority },
        { title: trans.__('Nodes'), cell: rule => rule.node_group ?? trans.__('all nodes') },
        {
          title: trans.__('Description'),
          className: 'hai-Admin-help',
          cell: rule => rule.description || '–'
        },
        {
          title: trans.__('Change'),
          cell: ({ name }) => (
            <button
              className="hai-Link"
              aria-expanded={open === name}
              aria-label={trans.__('Edit mount rule %1', name)}
              onClick={() => setOpen(open === name ? null : name)}
            >
              {trans.__('Edit')}
            </button>
          )
        }
      ]}
    />
  );
}

function Seen({ seen }: { seen: IResolvedMounts }): JSX.Element {
  return (
    <>
      <p>
        {trans.__(
          'What %1 sees on nodes of %2; the user groups that count: %3.',
          seen.user,
          seen.node_group,
          seen.groups.join(', ') || '–'
        )}
      </p>
      {seen.warnings.map(warning => (
        <Notice key={warning} kind="warning">
          {warning}
        </Notice>
      ))}
      {seen.mounts.length === 0 ? (
        <p className="hai-Empty">{trans.__('No rule mounts a folder for this user.')}</p>
      ) : (
        <Table
          label={trans.__('Folders of %1', seen.user)}
          testId="hai-seen"
          items={seen.mounts}
          keyOf={mount => mount.mount_path}
          columns={[
            { title: trans.__('Mount path'), head: true, cell: mount => mount.mount_path },
            {
              title: trans.__('What is mounted'),
              cell: ({ kind, source, sub_path }) =>
                sourceWords({
                  action: 'add',
                  kind,
                  source: [source, sub_path].filter(part => part !== '').join('/')
                })
            },
            { title: trans.__('Access'), cell: mount => accessWords(mount.read_only) },
            { title: trans.__('By rule'), cell: mount => mount.rule }
          ]}
        />
      )}
      {seen.left_out.length > 0 && (
        <>
          <h2>{trans.__('Rules that do not count here')}</h2>
          <ul>
            {seen.left_out.map(rule => (
              <li key={`${rule.rule} ${rule.mount_path}`}>
                {trans.__('%1 for %2: %3', rule.rule, rule.mount_path, rule.why)}
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
