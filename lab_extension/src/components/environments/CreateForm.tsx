/** The form for a new environment. */

import { useState, type JSX } from 'react';
import type { EnvironmentChange, IEnvironment } from '../../api/extension';
import { Field, TextField } from '../fields';
import { levelOf, nameError, requirementsOf } from './words';
import { Select } from '../Select';
import { trans } from '../../text/translate';

export function CreateForm(props: {
  owners: readonly string[];
  /** Those of them for whom the platform makes it, by a task. */
  byPlatform: readonly string[];
  items: readonly IEnvironment[];
  onCreate: (change: EnvironmentChange) => void;
  onCancel: () => void;
}): JSX.Element {
  const [name, setName] = useState('');
  const [owner, setOwner] = useState(props.owners[0] ?? '');
  const [extend, setExtend] = useState('');
  const [python, setPython] = useState('');
  const [requirements, setRequirements] = useState('');
  const [kernel, setKernel] = useState(true);
  const [tried, setTried] = useState(false);
  const full = `${owner}/${name.trim()}`;
  const wrong = nameError(
    owner,
    name.trim(),
    props.items.map(one => one.name)
  );
  const submit = (): void => {
    setTried(true);
    if (wrong === null) {
      props.onCreate({
        verb: 'create',
        name: full,
        ...(extend === '' ? {} : { extend }),
        ...(python.trim() === '' ? {} : { python: python.trim() }),
        ...(kernel ? {} : { kernel }),
        requirements: requirementsOf(requirements)
      });
    }
  };
  return (
    <form
      className="hai-EnvironmentForm"
      data-testid="hai-environment-form"
      noValidate
      onSubmit={event => {
        event.preventDefault();
        submit();
      }}
    >
      <div className="hai-SubmitForm-row">
        <TextField
          name="name"
          label={trans.__('Name')}
          value={name}
          onChange={setName}
          {...(tried && wrong !== null ? { error: wrong } : {})}
        />
        <Field id="hai-environment-owner" label={trans.__('Whose')} error={undefined} hint={undefined}>
          <Select
            id="hai-environment-owner"
            name="owner"
            className="hai-Select"
            value={owner}
            options={props.owners.map(one => ({ value: one, label: levelOf(`${one}/x`, props.owners) }))}
            onChange={event => setOwner(event.target.value)}
          />
        </Field>
      </div>
      <div className="hai-SubmitForm-row">
        <Field
          id="hai-environment-extend"
          label={trans.__('Extends')}
          error={undefined}
          hint={trans.__('It has the packages of that one too, at the same versions.')}
        >
          <Select
            id="hai-environment-extend"
            name="extend"
            className="hai-Select"
            value={extend}
            options={[
              { value: '', label: trans.__('none') },
              ...props.items
                .filter(one => one.generation !== undefined)
                .map(one => ({ value: one.name, label: one.name }))
            ]}
            onChange={event => setExtend(event.target.value)}
          />
        </Field>
        <TextField
          name="python"
          label={trans.__('Python')}
          value={python}
          placeholder={extend === '' ? trans.__('the newest here') : trans.__('as it extends')}
          hint={trans.__('Such as 3.11.')}
          onChange={setPython}
        />
      </div>
      <TextField
        name="requirements"
        label={trans.__('Requirements')}
        rows={4}
        value={requirements}
        placeholder={trans.__('timm==1.0.20')}
        hint={trans.__('One a line, as in a requirements file.')}
        onChange={setRequirements}
      />
      <label className="hai-Check">
        <input
          type="checkbox"
          name="kernel"
          checked={kernel}
          onChange={event => setKernel(event.target.checked)}
        />
        {trans.__('A kernel for notebooks (adds ipykernel)')}
      </label>
      <div className="hai-EnvironmentForm-buttons">
        <button type="button" className="hai-Button" onClick={props.onCancel}>
          {trans.__('Cancel')}
        </button>
        <button className="hai-Button hai-mod-primary" data-testid="hai-environment-create">
          {props.byPlatform.includes(owner) ? trans.__('Create by a task') : trans.__('Create')}
        </button>
      </div>
    </form>
  );
}
