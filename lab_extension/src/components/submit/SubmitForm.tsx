/** The form itself: fields with what is wrong beside them. */

import { Fragment, useState, type JSX } from 'react';
import { PRIORITIES, PROFILES } from '../../api/constants';
import type { IOwnQuota, PriorityChoice, ProfileName } from '../../api/types';
import type { AskedName } from '../../text/asked';
import type { IAskedField } from '../../text/askedField';
import { ASKED_FIELDS } from '../../text/askedFields';
import { duration } from '../../text/format';
import { priorityLabel } from '../../text/words';
import { SelectField, TextField, type ITextOptions } from '../fields';
import { Notice } from '../react';
import {
  policyLength,
  snapshotMode,
  type FieldName,
  type FormErrors,
  type IFormContext,
  type IFormValues
} from './form';
import { trans } from '../../text/translate';

const PROFILE_WORDS: Record<ProfileName, () => string> = {
  auto: () => trans.__('By what it does (default)'),
  sigterm: () => trans.__('SIGTERM'),
  cooperative: () => trans.__('The job asks by itself'),
  slurm: () => trans.__('As Slurm: SIGUSR1, requeue'),
  kill: () => trans.__('Not at all: it is killed')
};

/** Whether a field stands above the fold. */
function isAbove(field: IAskedField): boolean {
  return field.name === 'retries';
}

export interface ISubmitFormProps {
  values: IFormValues;
  errors: FormErrors;
  context: IFormContext;
  /** Free nodes by group, for the hint. */
  free: Record<string, number>;
  busy: boolean;
  onChange: (values: IFormValues) => void;
  onSubmit: () => void;
}

export function SubmitForm(props: ISubmitFormProps): JSX.Element {
  const { values, errors, context, busy, free } = props;
  const [more, setMore] = useState(false);
  const set = <K extends FieldName>(name: K, value: IFormValues[K]): void =>
    props.onChange({ ...values, [name]: value });
  const text = (name: FieldName, label: string, options: ITextOptions = {}): JSX.Element => (
    <TextField
      name={name}
      label={label}
      value={String(values[name])}
      {...(errors[name] === undefined ? {} : { error: errors[name] })}
      onChange={value => set(name, value as never)}
      {...options}
    />
  );
  const asked = (field: IAskedField): JSX.Element => {
    const name = field.name as AskedName;
    const common = { name, label: field.label(), hint: field.help() };
    if (field.kind === 'flag') {
      return (
        <label key={name} className="hai-Check">
          <input
            type="checkbox"
            name={name}
            checked={values[name] !== ''}
            onChange={event => set(name, event.target.checked ? 'on' : '')}
          />
          {`${field.label()}: ${field.help()}`}
        </label>
      );
    }
    return field.kind === 'word' ? (
      <SelectField
        key={name}
        {...common}
        value={values[name]}
        error={errors[name]}
        options={['', ...field.words].map(word => ({ value: word, label: word }))}
        onChange={value => set(name, value)}
      />
    ) : (
      <Fragment key={name}>
        {text(name, field.label(), {
          ...(field.kind === 'number' ? { inputMode: 'numeric' } : {}),
          placeholder: typeof field.default === 'string' ? field.default : trans.__('none'),
          hint: field.help()
        })}
      </Fragment>
    );
  };
  const groups = context.policy?.groups ?? [values.group];
  const hasMoreErrors = (
    [
      ...ASKED_FIELDS.filter(field => !isAbove(field)).map(field => field.name),
      'environment',
      'env',
      'secrets',
      'cwd',
      'profile',
      'ranks_per_node',
      'signal',
      'watch',
      'snapshot',
      'hold',
      'grace_s'
    ] as const
  ).some(name => errors[name]);
  const grace = policyLength(context.policy, 'default_grace', values.group);
  const longest = policyLength(context.policy, 'max_grace', values.group);
  const mode = snapshotMode(context.policy, values.group);
  const freeHere = free[values.group];
  return (
    <form
      className="hai-SubmitForm"
      data-testid="hai-submit-form"
      aria-busy={busy}
      noValidate
      onSubmit={event => {
        event.preventDefault();
        props.onSubmit();
      }}
    >
      {errors.form !== undefined && <Notice kind="error">{errors.form}</Notice>}
      {text('name', trans.__('Name'))}
      {text('command', trans.__('Command'), {
        rows: 2,
        hint: trans.__('Runs on every node of the task; arguments may be quoted as in a shell.')
      })}
      <div className="hai-SubmitForm-row">
        {text('nodes', trans.__('Nodes'), {
          inputMode: 'numeric',
          ...(freeHere === undefined ? {} : { hint: trans.__('%1 free in %2 now', freeHere, values.group) })
        })}
        {text('gpus', trans.__('GPUs on each node'), {
          inputMode: 'numeric',
          placeholder: trans.__('all'),
          hint: trans.__('Fewer than all: it shares its nodes.')
        })}
      </div>
      <div className="hai-SubmitForm-row">
        <SelectField
          name="priority"
          label={trans.__('Priority')}
          value={values.priority}
          error={errors.priority}
          options={(['AUTO', ...PRIORITIES] as const).map(priority => ({
            value: priority,
            label: priorityOption(priority, values.group, context.quota)
          }))}
          onChange={value => set('priority', value as PriorityChoice)}
        />
        <SelectField
          name="group"
          label={trans.__('Node group')}
          value={values.group}
          error={errors.group}
          options={groups.map(group => ({ value: group, label: group }))}
          onChange={value => set('group', value)}
        />
      </div>
      <div className="hai-SubmitForm-row">
        {text('time_limit_s', trans.__('Time limit'), {
          placeholder: trans.__('none'),
          hint: trans.__('Such as 90m or 12h; it is stopped then.')
        })}
        {ASKED_FIELDS.filter(isAbove).map(asked)}
      </div>
      <details
        className="hai-SubmitForm-more"
        open={more || hasMoreErrors}
        onToggle={event => setMore(event.currentTarget.open)}
      >
        <summary>{trans.__('More: saving, environment, folder')}</summary>
        <div className="hai-SubmitForm-row">
          {text('grace_s', trans.__('Grace'), {
            placeholder: grace === null ? trans.__('default') : duration(grace),
            hint:
              longest === null
                ? ''
                : trans.__('Time to save when told to leave, up to %1.', duration(longest))
          })}
          <SelectField
            name="profile"
            label={trans.__('How it is told to leave')}
            value={values.profile}
            error={errors.profile}
            options={PROFILES.map(profile => ({ value: profile, label: PROFILE_WORDS[profile]() }))}
            onChange={value => set('profile', value as ProfileName)}
          />
        </div>
        <div className="hai-SubmitForm-row">
          {text('signal', trans.__('Signal'), {
            placeholder: trans.__('as above'),
            hint: trans.__('USR1, USR2, TERM or INT; USR1@60 is 60 s before the deadline.')
          })}
          {text('watch', trans.__('It also saves in'), {
            rows: 2,
            placeholder: trans.__('one path a line'),
            hint: trans.__('What changes there is a checkpoint.')
          })}
        </div>
        {text('ranks_per_node', trans.__('Processes on each node'), {
          placeholder: '1',
          hint: trans.__('Starts the command so often on each node, with LOCAL_RANK; gpu: once for each GPU.')
        })}
        <SelectField
          name="environment"
          label={trans.__('Environment')}
          value={values.environment}
          error={errors.environment}
          options={environmentOptions(values.environment, context)}
          hint={trans.__('The task keeps the generation of this moment over all its turns.')}
          onChange={value => set('environment', value)}
        />
        {(context.drafts ?? []).includes(values.environment) && (
          <label className="hai-Check">
            <input
              type="checkbox"
              name="freeze"
              checked={values.freeze}
              onChange={event => set('freeze', event.target.checked)}
            />
            {trans.__('With what is in the draft: it becomes a new generation')}
          </label>
        )}
        {text('env', trans.__('Variables'), { rows: 3, placeholder: trans.__('KEY=value, one a line') })}
        {text('secrets', trans.__('Secrets'), {
          rows: 2,
          placeholder: trans.__('NAME, VARIABLE=NAME or ~/FILE=NAME, one a line'),
          hint:
            (context.secrets ?? []).length === 0
              ? trans.__('Set one in a terminal: hai secret set NAME')
              : trans.__('Yours: %1', (context.secrets ?? []).join(', '))
        })}
        {text('cwd', trans.__('Folder'))}
        {mode !== 'off' && (
          <label className="hai-Check">
            <input
              type="checkbox"
              name="snapshot"
              checked={mode === 'required' || values.snapshot}
              disabled={mode === 'required'}
              onChange={event => set('snapshot', event.target.checked)}
            />
            {trans.__('Start in the folder as it is now, over all turns')}
          </label>
        )}
        {errors.snapshot !== undefined && <Notice kind="error">{errors.snapshot}</Notice>}
        {ASKED_FIELDS.filter(field => !isAbove(field)).map(asked)}
        <label className="hai-Check">
          <input
            type="checkbox"
            name="hold"
            checked={values.hold}
            onChange={event => set('hold', event.target.checked)}
          />
          {trans.__('Hold it: do not start before I resume it')}
        </label>
      </details>
    </form>
  );
}

/** The environments that can be chosen, the chosen one too where it is in no list. */
function environmentOptions(chosen: string, context: IFormContext): { value: string; label: string }[] {
  const names = context.environments ?? [];
  const kept = chosen === '' || names.includes(chosen) ? [] : [chosen];
  return [
    { value: '', label: trans.__('Default: yours, else the platform’s own') },
    ...[...kept, ...names].map(name => ({ value: name, label: name }))
  ];
}

/** `High (2 of 8 held)`. */
export function priorityOption(priority: PriorityChoice, group: string, quota: readonly IOwnQuota[]): string {
  if (priority === 'AUTO') {
    return trans.__('Auto: the highest with quota left');
  }
  const row = quota.find(each => each.group === group && each.priority === priority);
  if (!row) {
    return priorityLabel(priority);
  }
  return row.limit === null
    ? trans.__('%1 (no limit)', priorityLabel(priority))
    : trans.__('%1 (%2 of %3 held)', priorityLabel(priority), row.used, row.limit);
}
