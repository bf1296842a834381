/** The *Environments* view: the list, a form for a new one, what one holds, and the output of a build. */

import { useState, type JSX, type KeyboardEvent, type MouseEvent } from 'react';
import type { EnvironmentChange, IEnvironment } from '../../api/extension';
import { moment } from '../../text/format';
import type { EnvironmentsModel } from '../../models/environments';
import { useHost, type IQuestion } from '../host';
import { Notice, Reading, SaidOnce, useSignal } from '../react';
import { BuildLog } from './BuildLog';
import { CreateForm } from './CreateForm';
import { Detail } from './Detail';
import { bytes, contentsOf, levelOf, shortName } from './words';
import { Icon } from '../icons';
import { trans } from '../../text/translate';

export function View({ model }: { model: EnvironmentsModel }): JSX.Element {
  return (
    <SaidOnce>
      <Environments model={model} />
    </SaidOnce>
  );
}

function Environments({ model }: { model: EnvironmentsModel }): JSX.Element {
  const host = useHost();
  useSignal(model.changed);
  const [creating, setCreating] = useState(false);
  const { items } = model.found;
  const owners = [...model.found.owners, ...model.platformOwners];
  const begin = async (change: EnvironmentChange): Promise<void> => {
    let asked = change;
    if (change.verb === 'remove') {
      const draft = items.find(one => one.name === change.name)?.draft === true;
      if (!(await host.confirm(removeQuestion(change.name, draft)))) {
        return;
      }
      asked = draft ? { ...change, with_draft: true } : change;
    }
    if (await model.begin(asked)) {
      setCreating(false);
    }
  };
  return (
    <div className="hai-EnvironmentsView" data-testid="hai-environments">
      <header className="hai-EnvironmentsView-header">
        <h2>{trans.__('Environments')}</h2>
        <span className="hai-Spacer" />
        <button
          className="hai-IconButton"
          aria-label={trans.__('Refresh')}
          title={trans.__('Refresh')}
          onClick={() => void model.refresh()}
        >
          <Icon name="refresh" />
        </button>
        <button
          className="hai-Button hai-mod-primary"
          data-testid="hai-environment-new"
          disabled={owners.length === 0}
          aria-expanded={creating}
          title={
            owners.length === 0
              ? trans.__('Your name cannot own environments')
              : trans.__('Make an environment')
          }
          onClick={() => setCreating(!creating)}
        >
          <Icon name="add" />
          {trans.__('New environment')}
        </button>
      </header>
      <Reading error={model.error} ready={model.ready} />
      {model.refusal !== null && <Notice kind="error">{model.refusal}</Notice>}
      {creating && (
        <CreateForm
          owners={owners}
          byPlatform={model.platformOwners}
          items={items}
          onCreate={change => void begin(change)}
          onCancel={() => setCreating(false)}
        />
      )}
      {model.ready && items.length === 0 && (
        <p className="hai-Empty">
          {trans.__(
            'There are no environments yet. Make one: its packages are then a kernel in the Launcher, and what your tasks run with.'
          )}
        </p>
      )}
      {items.length > 0 && (
        <List
          items={items}
          owners={owners}
          selected={model.selected}
          onSelect={name => void model.select(name === model.selected ? null : name)}
        />
      )}
      {model.shown !== null && (
        <Detail
          key={model.shown.name}
          environment={model.shown}
          detail={model.detail}
          comparison={model.comparison}
          owned={model.mayChange(model.shown.name) || model.builtByPlatform(model.shown.name)}
          byPlatform={model.builtByPlatform(model.shown.name)}
          onChange={change => void begin(change)}
          onCompare={(before, after) => void model.compare(before, after)}
        />
      )}
      {model.build !== null && <BuildLog model={model.build} onClose={() => model.closeBuild()} />}
    </div>
  );
}

/** A click anywhere in a row is one on its name, but for the end of a selection of text. */
function clicked(event: MouseEvent<HTMLTableRowElement>, select: () => void): void {
  const onName = event.target instanceof Element && event.target.closest('button') !== null;
  if (!onName && window.getSelection()?.isCollapsed !== false) {
    select();
  }
}

/** The arrow keys go from the name in one row to that in the next one. */
function moved(event: KeyboardEvent<HTMLTableRowElement>): void {
  const row = event.currentTarget;
  const other =
    event.key === 'ArrowDown'
      ? row.nextElementSibling
      : event.key === 'ArrowUp'
        ? row.previousElementSibling
        : null;
  const name = other?.querySelector('button');
  if (name) {
    event.preventDefault();
    name.focus();
  }
}

const COLUMNS = () => [
  trans.__('Name'),
  trans.__('Whose'),
  trans.__('Python'),
  trans.__('Asked for'),
  trans.__('Size'),
  trans.__('Generation'),
  trans.__('Built')
];

function List(props: {
  items: readonly IEnvironment[];
  owners: readonly string[];
  selected: string | null;
  onSelect: (name: string) => void;
}): JSX.Element {
  return (
    <div className="hai-Environments-scroll">
      <table className="hai-Environments" data-testid="hai-environment-list">
        <thead>
          <tr>
            {COLUMNS().map(title => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.items.map(one => (
            <tr
              key={one.name}
              className={one.name === props.selected ? 'hai-mod-selected' : ''}
              onClick={event => clicked(event, () => props.onSelect(one.name))}
              onKeyDown={moved}
            >
              <td>
                <button
                  className="hai-Link"
                  aria-expanded={one.name === props.selected}
                  title={one.name}
                  onClick={() => props.onSelect(one.name)}
                >
                  {shortName(one.name)}
                </button>
              </td>
              <td>{levelOf(one.name, props.owners)}</td>
              {one.generation === undefined ? (
                <td colSpan={5} className="hai-Soft">
                  {one.trouble}
                </td>
              ) : (
                <>
                  <td>{one.python}</td>
                  <td className="hai-Environments-contents" title={contentsOf(one)}>
                    {contentsOf(one)}
                  </td>
                  <td>{bytes(one.size ?? 0)}</td>
                  <td>{one.generation}</td>
                  <td title={one.built_by === undefined ? undefined : trans.__('by %1', one.built_by)}>
                    {moment(one.built_at ?? '')}
                  </td>
                </>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Asked before an environment is removed; `draft`: what is in its draft would be gone too. */
function removeQuestion(name: string, draft: boolean): IQuestion {
  return {
    title: trans.__('Remove %1?', name),
    body:
      trans.__('It is removed with all its generations. What live tasks use stays, and is named then.') +
      (draft
        ? ` ${trans.__('It has an open draft: what was changed there and not frozen is gone with it.')}`
        : ''),
    accept: trans.__('Remove it'),
    keep: trans.__('Keep it')
  };
}
