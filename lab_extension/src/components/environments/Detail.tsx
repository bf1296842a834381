/** What an environment holds, and what can be done with it. */

import { useState, type JSX } from 'react';
import type {
  EnvironmentChange,
  IEnvironment,
  IEnvironmentDetail,
  IPackageChange
} from '../../api/extension';
import { count } from '../../text/format';
import { requirementsOf } from './words';
import { Select } from '../Select';

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
            The platform changes it, by a task
          </span>
        )}
        {owned && (
          <button
            className="hai-Button hai-mod-danger"
            title="Remove it with all its generations"
            onClick={() => props.onChange({ verb: 'remove', name })}
          >
            Remove
          </button>
        )}
      </header>
      <p className="hai-Soft">
        For a task: <code>hai submit --env {name} …</code>
        {environment.digest !== undefined && <> · {environment.digest.slice(0, 19)}</>}
        {environment.files !== undefined && <> · {count(environment.files, 'file')}</>}
        {typeof environment.cuda === 'string' && <> · CUDA {environment.cuda}</>}
        {environment.built_by !== undefined && <> · built by {environment.built_by}</>}
      </p>
      {owned && (
        <Install
          label={props.byPlatform ? 'Install by a task' : 'Install'}
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
        aria-label="Packages to install"
        placeholder="timm==1.0.20, numpy"
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
        aria-label="Share with"
        value={kind}
        options={[
          { value: 'group', label: 'a group' },
          { value: 'user', label: 'a user' },
          { value: 'all', label: 'all users' }
        ]}
        onChange={event => setKind(event.target.value as typeof kind)}
      />
      {kind !== 'all' && (
        <input
          className="jp-mod-styled"
          name="share"
          aria-label={kind === 'group' ? 'Group' : 'User'}
          placeholder={kind === 'group' ? 'name of the group' : 'name of the user'}
          autoComplete="off"
          spellCheck={false}
          value={who}
          onChange={event => setWho(event.target.value)}
        />
      )}
      <button className="hai-Button" disabled={!ready}>
        Share
      </button>
      <button type="button" className="hai-Button" disabled={!ready} onClick={() => change('unshare')}>
        Share no longer
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
    label: number === detail.current ? `${number} (current)` : String(number)
  }));
  return (
    <div className="hai-EnvironmentLine" data-testid="hai-environment-generations">
      <span>Generations</span>
      <Select
        className="hai-Select hai-mod-small"
        aria-label="Earlier generation"
        value={String(earlier)}
        options={options}
        onChange={event => setBefore(Number(event.target.value))}
      />
      <Select
        className="hai-Select hai-mod-small"
        aria-label="Later generation"
        value={String(later)}
        options={options}
        onChange={event => setAfter(Number(event.target.value))}
      />
      <button className="hai-Button" onClick={() => props.onCompare(earlier, later)}>
        Compare
      </button>
      {props.owned && (
        <button
          className="hai-Button"
          disabled={earlier === detail.current}
          title={`Make generation ${earlier} the current one; tasks that have begun keep theirs`}
          onClick={() => props.onChange({ verb: 'rollback', name: environment.name, generation: earlier })}
        >
          Roll back to {earlier}
        </button>
      )}
      {comparison !== null && <Changes {...comparison} />}
    </div>
  );
}

function Changes(props: { before: number; after: number; changes: IPackageChange[] }): JSX.Element {
  return (
    <ul className="hai-EnvironmentChanges" aria-label={`From ${props.before} to ${props.after}`}>
      {props.changes.length === 0 && <li>The packages are the same.</li>}
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
