/** What pages for admins say when the service has refused a change, and how they make one. */

import { useEffect, useRef, useState, type JSX } from 'react';
import { ApiError, sentenceOf } from '../../../api/request';
import { trans } from '../../../text/translate';
import { Notice } from '../../react';

/** The words of the service: its sentence, and each wrong field with its value and the remedy. */
export function Refused(props: { error: unknown }): JSX.Element {
  const { error } = props;
  const errors = error instanceof ApiError ? error.errors : [];
  return (
    <Notice kind="error">
      {sentenceOf(error)}
      {errors.length > 0 && (
        <ul className="hai-Admin-errors">
          {errors.map(each => (
            <li key={each.field}>
              {trans.__('%1, value %2: %3', each.field, JSON.stringify(each.value ?? null), each.message)}
            </li>
          ))}
        </ul>
      )}
    </Notice>
  );
}

export interface IChange {
  busy: boolean;
  /** Why the last one was refused; null: it was not. */
  error: unknown;
  /** Make one. Says whether it was made. */
  run: (change: () => Promise<unknown>) => Promise<boolean>;
  forget: () => void;
}

/** One change at a time, with the reason of the last refusal. */
export function useChange(): IChange {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async (change: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true);
    setError(null);
    try {
      await change();
      return true;
    } catch (reason) {
      setError(reason);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, run, forget: () => setError(null) };
}

/** What is there now, if somebody else has changed it in the meantime; undefined: nobody has. */
export function currentOf(error: unknown): unknown {
  return error instanceof ApiError && error.collided ? error.current : undefined;
}

/** Time without a keystroke after which a text is asked for, in ms. */
const PAUSE = 300;

/** A text that filters what the service lists: it is asked for when the user pauses. */
export function FilterText(props: {
  label: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
}): JSX.Element {
  const { value, onChange } = props;
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      className="hai-Filters-text jp-mod-styled"
      type="search"
      aria-label={props.label}
      placeholder={props.placeholder}
      value={text}
      onChange={event => {
        const next = event.target.value;
        setText(next);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => onChange(next), PAUSE);
      }}
    />
  );
}
