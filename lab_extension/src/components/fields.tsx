/** Fields of forms: a label, what is wrong, and a hint. */

import { useId, type JSX, type ReactNode } from 'react';
import { Select } from './Select';

export interface ITextOptions {
  rows?: number;
  hint?: string;
  placeholder?: string;
  inputMode?: 'numeric';
}

/** A line of text, or several with `rows`. */
export function TextField(
  props: ITextOptions & {
    name: string;
    label: string;
    value: string;
    error?: string;
    onChange: (value: string) => void;
  }
): JSX.Element {
  const id = useId();
  const common = {
    id,
    name: props.name,
    value: props.value,
    placeholder: props.placeholder,
    spellCheck: false,
    autoComplete: 'off',
    'aria-invalid': props.error !== undefined,
    'aria-describedby': `${id}-help`,
    className: `jp-mod-styled ${props.error === undefined ? '' : 'hai-mod-invalid'}`
  };
  return (
    <Field id={id} label={props.label} error={props.error} hint={props.hint}>
      {props.rows === undefined ? (
        <input
          type="text"
          inputMode={props.inputMode}
          {...common}
          onChange={event => props.onChange(event.target.value)}
        />
      ) : (
        <textarea rows={props.rows} {...common} onChange={event => props.onChange(event.target.value)} />
      )}
    </Field>
  );
}

/** A choice. */
export function SelectField(props: {
  name: string;
  label: string;
  value: string;
  error: string | undefined;
  options: { value: string; label: string }[];
  hint?: string;
  onChange: (value: string) => void;
}): JSX.Element {
  const id = useId();
  return (
    <Field id={id} label={props.label} error={props.error} hint={props.hint}>
      <Select
        id={id}
        name={props.name}
        value={props.value}
        className="hai-Select"
        aria-describedby={`${id}-help`}
        options={props.options}
        onChange={event => props.onChange(event.target.value)}
      />
    </Field>
  );
}

/** A label over something to fill in. */
export function Field(props: {
  id: string;
  label: string;
  error: string | undefined;
  hint: string | undefined;
  children: ReactNode;
}): JSX.Element {
  return (
    <div className="hai-Field">
      <label htmlFor={props.id}>{props.label}</label>
      {props.children}
      <div id={`${props.id}-help`}>
        {props.error !== undefined ? (
          <span className="hai-Field-error" role="alert">
            {props.error}
          </span>
        ) : (
          props.hint && <span className="hai-Field-hint">{props.hint}</span>
        )}
      </div>
    </div>
  );
}
