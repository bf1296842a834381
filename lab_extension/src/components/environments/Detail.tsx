/** What an environment holds, and what can be done with it. */

import { useState, type JSX } from 'react';
import type {
  EnvironmentChange,
  IEnvironment,
  IEnvironmentDetail,
  IPackageChange
} from '../../api/extension';
import { count } from '../../text/words';
import { requirementsOf } from './words';
import { Select } from '../Select';
import { trans } from '../../text/translate';

export interface IDetailProps {
  environment: IEnvironment;
  /** null: it is not read yet. */
  detail: IEnvironmentDetail | null;
  comparison: { before: number; after: number; changes: IPackageChange[] } | null;
  /** Whether the user may change it. */
  owned: boolean;
  /** Whether the platform does it, by a task. */
  byPlatform: boolean;
  onChange: (change: EnvironmentChange) => void;
  onCompare: (before: number, after: number) => void;
}

export function Detail(props: IDetailProps): JSX.Element {
  const { environment, detail, owned } = props;
  const { name } = environment;
  return (
    <section className="hai-EnvironmentDetail" aria-label={name} data-testid="hai-environment-detail">
      <header className="hai-EnvironmentsView-header">
        <h3 className="hai-Ellipsis">
          {name}
          {environment.generation !== undefined && `@${environment.generation}`}
        </h3>
        <span className="hai-Spacer" />
        {owned && props.byPlatform && (
          <span className="hai-Soft" data-testid="hai-environment-by-platform">
            {trans.__('The platform changes it, by a task')}
          </span>
        )}
        {owned && (
          <button
            className="hai-Button hai-mod-danger"
            title={trans.__('Remove it with all its generations')}
            onClick={() => props.onChange({ verb: 'remove', name })}
          >
            {trans.__('Remove')}
          </button>
        )}
      </header>
      <p className="hai-Soft">
        {trans.__('For a task:')} <code>{trans.__('hai submit --env %1 …', name)}</code>
        {environment.digest !== undefined && <> · {environment.digest.slice(0, 19)}</>}
        {environment.files !== undefined && <> · {count(environment.files, 'file')}</>}
        {typeof environment.cuda === 'string' && ` · ${trans.__('CUDA %1', environment.cuda)}`}
        {environment.built_by !== undefined && ` · ${trans.__('built by %1', environment.built_by)}`}
      </p>
      {owned && (
        <Install
          label={props.byPlatform ? trans.__('Install by a task') : trans.__('Install')}
          onInstall={requirements => props.onChange({ verb: 'install', name, requirements })}
        />
      )}
      {owned && <Share name={name} onChange={props.onChange} />}
      {detail !== null && (
        <>
          <Generations key={detail.generation} {...props} detail={detail} />
          <details className="hai-Environment-packages">
            <summary>{count(Object.keys(detail.packages).length, 'package')}</summary>
            <ul>
              {Object.entries(detail.packages).map(([each, version]) => (
                <li key={each}>
                  {each} <span className="hai-Soft">{version}</span>
                </li>
              ))}
            </ul>
          </details>
        </>
      )}
    </section>
  );
}

function Install(props: { label: string; onInstall: (requirements: string[]) => void }): JSX.Element {
  const [text, setText] = useState('');
  return (
    <form
      className="hai-EnvironmentLine"
      onSubmit={event => {
        event.preventDefault();
        props.onInstall(requirementsOf(text.replaceAll(',', '\n')));
        setText('');
      }}
    >
      <input
        className="jp-mod-styled"
        name="install"
        aria-label={trans.__('Packages to install')}
        placeholder={trans.__('timm==1.0.20, numpy')}
        autoComplete="off"
        spellCheck={false}
        value={text}
        onChange={event => setText(event.target.value)}
      />
      <button className="hai-Button" disabled={text.trim() === ''} data-testid="hai-environment-install">
        {props.label}
      </button>
    </form>
  );
}

function Share(props: { name: string; onChange: (change: EnvironmentChange) => void }): JSX.Element {
  const [kind, setKind] = useState<'group' | 'user' | 'all'>('group');
  const [who, setWho] = useState('');
  const given = kind === 'all' ? { all: true as const } : { [kind]: who.trim() };
  const ready = kind === 'all' || who.trim() !== '';
  const change = (verb: 'share' | 'unshare'): void => props.onChange({ verb, name: props.name, ...given });
  return (
    <form
      className="hai-EnvironmentLine"
      onSubmit={event => {
        event.preventDefault();
        change('share');
      }}
    >
      <Select
        className="hai-Select hai-mod-small"
        aria-label={trans.__('Share with')}
        value={kind}
        options={[
          { value: 'group', label: trans.__('a group') },
          { value: 'user', label: trans.__('a user') },
          { value: 'all', label: trans.__('all users') }
        ]}
        onChange={event => setKind(event.target.value as typeof kind)}
      />
      {kind !== 'all' && (
        <input
          className="jp-mod-styled"
          name="share"
          aria-label={kind === 'group' ? trans.__('Group') : trans.__('User')}
          placeholder={kind === 'group' ? trans.__('name of the group') : trans.__('name of the user')}
          autoComplete="off"
          spellCheck={false}
          value={who}
          onChange={event => setWho(event.target.value)}
        />
      )}
      <button className="hai-Button" disabled={!ready}>
        {trans.__('Share')}
      </button>
      <button type="button" className="hai-Button" disabled={!ready} onClick={() => change('unshare')}>
        {trans.__('Share no longer')}
      </button>
    </form>
  );
}

function Generations(props: IDetailProps & { detail: IEnvironmentDetail }): JSX.Element | null {
  const { detail, comparison, environment } = props;
  const numbers = detail.generations;
  const [before, setBefore] = useState(numbers.at(-2) ?? numbers[0] ?? 0);
  const [after, setAfter] = useState(detail.generation);
  if (numbers.length < 2) {
    return null;
  }
  const earlier = numbers.includes(before) ? before : (numbers[0] ?? 0);
  const later = numbers.includes(after) ? after : detail.generation;
  const options = numbers.map(number => ({
    value: String(number),
    label: number === detail.current ? trans.__('%1 (current)', number) : String(number)
  }));
  return (
    <div className="hai-EnvironmentLine" data-testid="hai-environment-generations">
      <span>{trans.__('Generations')}</span>
      <Select
        className="hai-Select hai-mod-small"
        aria-label={trans.__('Earlier generation')}
        value={String(earlier)}
        options={options}
        onChange={event => setBefore(Number(event.target.value))}
      />
      <Select
        className="hai-Select hai-mod-small"
        aria-label={trans.__('Later generation')}
        value={String(later)}
        options={options}
        onChange={event => setAfter(Number(event.target.value))}
      />
      <button className="hai-Button" onClick={() => props.onCompare(earlier, later)}>
        {trans.__('Compare')}
      </button>
      {props.owned && (
        <button
          className="hai-Button"
          disabled={earlier === detail.current}
          title={trans.__('Make generation %1 the current one; tasks that have begun keep theirs', earlier)}
          onClick={() => props.onChange({ verb: 'rollback', name: environment.name, generation: earlier })}
        >
          {trans.__('Roll back to %1', earlier)}
        </button>
      )}
      {comparison !== null && <Changes {...comparison} />}
    </div>
  );
}

function Changes(props: { before: number; after: number; changes: IPackageChange[] }): JSX.Element {
  return (
    <ul className="hai-EnvironmentChanges" aria-label={trans.__('From %1 to %2', props.before, props.after)}>
      {props.changes.length === 0 && <li>{trans.__('The packages are the same.')}</li>}
      {props.changes.map(one => (
        <li key={one.package}>
          {one.before === null && `+ ${one.package} ${one.after}`}
          {one.after === null && `− ${one.package} ${one.before}`}
          {one.before !== null && one.after !== null && `${one.package} ${one.before} → ${one.after}`}
        </li>
      ))}
    </ul>
  );
}
