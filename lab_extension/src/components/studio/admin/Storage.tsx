/** The mount rules: which folders containers and tasks see, and what one user sees by them. */

import { Fragment, useEffect, useState, type JSX } from 'react';
import type { IMountRule, IMountRuleList, IResolvedMounts } from '../../../api/types';
import { AdminModel } from '../../../models/admin';
import { trans } from '../../../text/translate';
import { Notice, useSignal } from '../../react';
import { Select } from '../../Select';
import { useModel, useStudio } from '../context';
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
  const { api, feed, cluster } = useStudio();
  const router = useRouter();
  useSignal(cluster.changed);
  const { query } = router.route;
  const asked = mountsQuery(query);
  const model = useModel(
    () =>
      new AdminModel<IQuestion, IMountRuleList>({
        feed,
        name: 'hai:mounts',
        kinds: ['mount.'],
        ask: question => api.admin.mounts(question),
        question: asked
      })
  );
  useEffect(() => model.look(asked));
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
    <div className="hai-Table-scroll" tabIndex={0} role="region" aria-label={trans.__('Mount rules')}>
      <table className="hai-Table" data-testid="hai-mounts">
        <thead>
          <tr>
            <th scope="col">{trans.__('Rule')}</th>
            <th scope="col">{trans.__('For')}</th>
            <th scope="col">{trans.__('Mount path')}</th>
            <th scope="col">{trans.__('What is mounted')}</th>
            <th scope="col">{trans.__('Access')}</th>
            <th scope="col" className="hai-mod-number">
              {trans.__('Priority')}
            </th>
            <th scope="col">{trans.__('Nodes')}</th>
            <th scope="col">{trans.__('Description')}</th>
            <th scope="col">{trans.__('Change')}</th>
          </tr>
        </thead>
        <tbody>
          {props.items.map(rule => (
            <Fragment key={rule.name}>
              <tr>
                <th scope="row">{rule.name}</th>
                <td>{rule.subject}</td>
                <td>{rule.mount_path}</td>
                <td>{sourceWords(rule)}</td>
                <td>{rule.action === 'remove' ? '–' : accessWords(rule.read_only)}</td>
                <td className="hai-mod-number">{rule.priority}</td>
                <td>{rule.node_group ?? trans.__('all nodes')}</td>
                <td className="hai-Admin-help">{rule.description || '–'}</td>
                <td>
                  <button
                    className="hai-Link"
                    aria-expanded={open === rule.name}
                    aria-label={trans.__('Edit mount rule %1', rule.name)}
                    onClick={() => setOpen(open === rule.name ? null : rule.name)}
                  >
                    {trans.__('Edit')}
                  </button>
                </td>
              </tr>
              {open === rule.name && (
                <tr>
                  <td colSpan={9} className="hai-Admin-inside">
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
        <div className="hai-Table-scroll">
          <table
            className="hai-Table"
            aria-label={trans.__('Folders of %1', seen.user)}
            data-testid="hai-seen"
          >
            <thead>
              <tr>
                <th scope="col">{trans.__('Mount path')}</th>
                <th scope="col">{trans.__('What is mounted')}</th>
                <th scope="col">{trans.__('Access')}</th>
                <th scope="col">{trans.__('By rule')}</th>
              </tr>
            </thead>
            <tbody>
              {seen.mounts.map(mount => (
                <tr key={mount.mount_path}>
                  <th scope="row">{mount.mount_path}</th>
                  <td>
                    {sourceWords({
                      action: 'add',
                      kind: mount.kind,
                      source: [mount.source, mount.sub_path].filter(part => part !== '').join('/')
                    })}
                  </td>
                  <td>{accessWords(mount.read_only)}</td>
                  <td>{mount.rule}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
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
