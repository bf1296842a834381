/** The policy numbers: what each does, its value, and where that comes from; changed together, and tried before. */

import { useRef, useState, type JSX } from 'react';
import type { IPolicy, IPolicyNumber } from '../../../api/types';
import { choiceText, meaningText } from '../../../text/policyNumbers';
import { rulesText } from '../../../text/rules';
import { trans } from '../../../text/translate';
import { useHost } from '../../host';
import { Notice, Reading } from '../../react';
import { Select } from '../../Select';
import { Table } from '../../Table';
import { useRead, useStudio } from '../context';
import { changeQuery, useRouter } from '../router';
import { RefusedChange, useVersioned } from './Collision';
import {
  changedOnly,
  changeOf,
  differenceWords,
  draftWords,
  inForce,
  othersWords,
  resettable,
  sourceWords,
  textOf,
  type PolicyDraft
} from './policy';
import { TrialView, useTrial } from './Trial';
import { valueText } from './values';

export function PolicyPage(): JSX.Element {
  const { query } = useRouter().route;
  const model = useRead('policy', ['policy.'], api => api.policy(), null);
  const policy = model.value;
  const group = query.group ?? null;
  return (
    <>
      <h1>{trans.__('Policy')}</h1>
      <Reading error={model.error} ready={policy !== null} />
      {policy && (
        <>
          {policy.trouble !== null && <Notice kind="error">{policy.trouble}</Notice>}
          {policy.warnings.map(warning => (
            <Notice key={warning} kind="warning">
              {warning}
            </Notice>
          ))}
          {group !== null && !policy.groups.includes(group) ? (
            <NoGroup group={group} />
          ) : (
            <PolicyForm key={group ?? ''} policy={policy} group={group} onSaved={saved => model.put(saved)} />
          )}
        </>
      )}
    </>
  );
}

function NoGroup({ group }: { group: string }): JSX.Element {
  const router = useRouter();
  return (
    <Notice kind="error">
      {trans.__('No node group is called “%1”.', group)}{' '}
      <button className="hai-Link" onClick={() => changeQuery(router, { group: '' })}>
        {trans.__('Show all node groups')}
      </button>
    </Notice>
  );
}

/** The days that a trial looks back over, at first. */
const DAYS = '3';

function PolicyForm(props: {
  policy: IPolicy;
  group: string | null;
  onSaved: (policy: IPolicy) => void;
}): JSX.Element {
  const { policy, group } = props;
  const { api } = useStudio();
  const host = useHost();
  const router = useRouter();
  const edit = useVersioned<IPolicy>(policy);
  const trial = useTrial();
  const shown = useRef<HTMLElement>(null);
  const [draft, setDraft] = useState<PolicyDraft>({});
  const [days, setDays] = useState(DAYS);
  // What is drafted was drafted over the values that were shown at the first keystroke; without a draft the newest ones count.
  const base = Object.keys(draft).length === 0 ? policy : (edit.seen ?? policy);
  const changed = changedOnly(draft, base, group);
  const any = Object.keys(changed).length > 0;
  const draftOne = (name: string, text: string | null): void => {
    if (Object.keys(draft).length === 0) {
      edit.take(policy);
    }
    setDraft(changedOnly({ ...draft, [name]: text }, base, group));
  };
  const discard = (): void => {
    setDraft({});
    edit.take(policy);
  };
  const save = async (over?: IPolicy | null): Promise<void> => {
    const change = changeOf(draft, base, group);
    const answer: { saved?: IPolicy } = {};
    const made = await edit.write(async version => {
      answer.saved = await api.admin.putPolicy(change, version ?? '');
    }, over);
    if (made && answer.saved) {
      props.onSaved(answer.saved);
      setDraft({});
      host.notify('info', trans.__('Saved: %1. It counts from the next tick on.', draftWords(changed)));
    }
  };
  const attempt = (): void => {
    const asked = Number(days);
    void trial.run({ ...changeOf(draft, base, group), days: Number.isNaN(asked) ? (days as never) : asked });
    shown.current?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <>
      <div className="hai-Filters">
        <Select
          className="hai-mod-small"
          aria-label={trans.__('Node group')}
          value={group ?? ''}
          disabled={any}
          onChange={event => changeQuery(router, { group: event.target.value })}
          options={[
            { value: '', label: trans.__('All node groups') },
            ...policy.groups.map(name => ({ value: name, label: name }))
          ]}
        />
        <span className="hai-Soft">
          {any
            ? trans.__('Save or discard your changes before you look at another node group.')
            : group === null
              ? trans.__('These values count in node groups that have none of their own.')
              : trans.__('What you change here counts in %1 alone.', group)}
        </span>
      </div>
      <Numbers policy={base} group={group} draft={changed} onDraft={draftOne} />
      <section className="hai-Admin-bar" aria-label={trans.__('Your changes')}>
        <b role="status">
          {any ? trans.__('Your changes: %1', draftWords(changed)) : trans.__('You have changed nothing.')}
        </b>
        <label>
          {trans.__('Days to try')}{' '}
          <input
            className="jp-mod-styled hai-Admin-days"
            inputMode="numeric"
            value={days}
            onChange={event => setDays(event.target.value)}
          />
        </label>
        <button className="hai-Button" disabled={!any || trial.status === 'running'} onClick={attempt}>
          {trans.__('Try it')}
        </button>
        <button
          className="hai-Button hai-mod-primary"
          disabled={!any || edit.busy}
          onClick={() => void save()}
        >
          {trans.__('Save')}
        </button>
        {any && (
          <button className="hai-Link" onClick={discard}>
            {trans.__('Discard')}
          </button>
        )}
        <RefusedChange
          edit={edit}
          words={there =>
            there === null ? trans.__('no value') : differenceWords(edit.seen, there, changed, group)
          }
          mine={draftWords(changed)}
          onTake={there => {
            if (there !== null) {
              props.onSaved(there);
            }
            setDraft({});
            edit.take(there);
          }}
          onAgain={(_, there) => void save(there)}
        />
      </section>
      <section ref={shown} aria-label={trans.__('Trial')}>
        <TrialView
          trial={trial}
          outdated={any && JSON.stringify(changeOf(draft, base, group)) !== askedWords(trial.asked)}
        />
      </section>
    </>
  );
}

/** A question for a trial without its days, to be compared. */
function askedWords(asked: object | null): string {
  return JSON.stringify({ ...asked, days: undefined });
}

function Numbers(props: {
  policy: IPolicy;
  group: string | null;
  draft: PolicyDraft;
  onDraft: (name: string, text: string | null) => void;
}): JSX.Element {
  const { policy, group, draft, onDraft } = props;
  return (
    <Table
      region={trans.__('Policy numbers')}
      testId="hai-policy"
      items={policy.numbers}
      keyOf={number => number.name}
      columns={[
        {
          title: trans.__('Number'),
          head: true,
          cell: number => <NumberName number={number} text={draft[number.name]} />
        },
        { title: trans.__('Meaning'), className: 'hai-Admin-help', cell: meaningText },
        { title: trans.__('Default'), cell: number => valueText(number.default) },
        {
          title: trans.__('In force'),
          cell: number => (
            <Value
              number={number}
              group={group}
              text={draft[number.name]}
              onDraft={text => onDraft(number.name, text)}
            />
          )
        },
        { title: trans.__('Comes from'), cell: number => sourceWords(inForce(number, group)) },
        ...(group === null
          ? [
              {
                title: trans.__('Node groups with another value'),
                className: 'hai-Admin-help',
                cell: (number: IPolicyNumber) => othersWords(number) || '–'
              }
            ]
          : []),
        {
          title: trans.__('Reset'),
          cell: number => {
            const { name } = number;
            const reset = draft[name] === null;
            return (
              resettable(number, group) && (
                <button
                  className="hai-Link"
                  aria-label={reset ? trans.__('Keep %1', name) : trans.__('Reset %1', name)}
                  onClick={() => onDraft(name, reset ? textOf(number, group) : null)}
                >
                  {reset ? trans.__('Keep') : trans.__('Reset')}
                </button>
              )
            );
          }
        }
      ]}
    />
  );
}

/** `text`: what is drafted for it; null: its reset; undefined: nothing. */
interface IDrafted {
  number: IPolicyNumber;
  text: string | null | undefined;
}

function NumberName({ number, text }: IDrafted): JSX.Element {
  return (
    <>
      <code>{number.name}</code>
      <div className="hai-Soft">{rulesText(number.rule)}</div>
      {text !== undefined && (
        <span className="hai-Tag">{text === null ? trans.__('reset') : trans.__('changed')}</span>
      )}
    </>
  );
}

function Value(props: IDrafted & { group: string | null; onDraft: (text: string) => void }): JSX.Element {
  const { number, text, group, onDraft } = props;
  const word = text === undefined ? textOf(number, group) : text;
  const weights = number.kind === 'weights';
  return number.choices.length > 0 ? (
    <Choice number={number} word={word} onDraft={onDraft} />
  ) : (
    <input
      className={`jp-mod-styled hai-Admin-value ${weights ? 'hai-mod-wide' : ''}`}
      aria-label={trans.__('%1 in force', number.name)}
      spellCheck={false}
      value={word ?? ''}
      placeholder={word === null ? trans.__('reset') : weights ? 'alice=2, bob=1' : ''}
      disabled={word === null}
      onChange={event => onDraft(event.target.value)}
    />
  );
}

/** A number that is one of a few words, each with what it does; `word` null: it is to be reset. */
function Choice(props: {
  number: IPolicyNumber;
  word: string | null;
  onDraft: (text: string) => void;
}): JSX.Element {
  const { number, word } = props;
  return (
    <Select
      className="hai-mod-small"
      aria-label={trans.__('%1 in force', number.name)}
      value={word ?? ''}
      disabled={word === null}
      onChange={event => props.onDraft(event.target.value)}
      options={[
        ...(word === null ? [{ value: '', label: trans.__('reset') }] : []),
        ...number.choices.map(choice => ({ value: choice.word, label: choiceText(number, choice) }))
      ]}
    />
  );
}
