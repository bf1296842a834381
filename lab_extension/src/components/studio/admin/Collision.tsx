/** Changes of what has a version: made only over the version that was seen, and what to do when somebody else was faster. */

import { useState, type JSX } from 'react';
import { ApiError } from '../../../api/request';
import { trans } from '../../../text/translate';
import { Notice } from '../../react';
import { currentOf, Refused, useChange } from './Refused';

/** What was wanted of it. */
type Wish = 'write' | 'remove';

export interface IVersioned<T> {
  busy: boolean;
  /** Why the last change was refused; null: it was not. */
  error: unknown;
  /** What was seen when it was opened, or taken over after a collision; null: there was none. */
  seen: T | null;
  /** What is there now, after a collision; undefined: there was no collision. */
  there: T | null | undefined;
  wish: Wish;
  /** Write over what was seen, or over what is given. Says whether it was made. */
  write: (send: (version: string | null) => Promise<unknown>, over?: T | null) => Promise<boolean>;
  /** The same for removing. `gone`: somebody else has removed it already. */
  remove: (
    send: (version: string) => Promise<unknown>,
    over?: T | null
  ) => Promise<'done' | 'gone' | 'refused'>;
  /** Go on from something else than what was seen, such as from what is there now. */
  take: (value: T | null) => void;
}

/** Changes of one thing, over the version that was seen first. */
export function useVersioned<T extends { version: string }>(first: T | null): IVersioned<T> {
  const change = useChange();
  const [seen, setSeen] = useState(first);
  const [wish, setWish] = useState<Wish>('write');
  const write = (
    send: (version: string | null) => Promise<unknown>,
    over: T | null = seen
  ): Promise<boolean> => {
    setWish('write');
    setSeen(over);
    return change.run(() => send(over?.version ?? null));
  };
  const remove = async (
    send: (version: string) => Promise<unknown>,
    over: T | null = seen
  ): Promise<'done' | 'gone' | 'refused'> => {
    setWish('remove');
    setSeen(over);
    let gone = over === null;
    const made = await change.run(async () => {
      try {
        await (over === null ? null : send(over.version));
      } catch (error) {
        gone = currentOf(error) === null || (error instanceof ApiError && error.status === 404);
        if (!gone) {
          throw error;
        }
      }
    });
    return !made ? 'refused' : gone ? 'gone' : 'done';
  };
  return {
    busy: change.busy,
    error: change.error,
    seen,
    there: currentOf(change.error) as T | null | undefined,
    wish,
    write,
    remove,
    take: value => {
      setSeen(value);
      change.forget();
    }
  };
}

/** Why the last change was refused; after a collision both values, and three ways on: the third is the form's own Cancel. */
export function RefusedChange<T>(props: {
  edit: IVersioned<T>;
  /** What is there now, in words. */
  words: (there: T | null) => string;
  /** What the form would write, in words. */
  mine: string;
  onTake: (there: T | null) => void;
  /** Do again what was wanted, over what is there now. */
  onAgain: (wish: Wish, there: T | null) => void;
}): JSX.Element {
  const { edit, onAgain } = props;
  const { there, wish } = edit;
  return (
    <>
      {edit.error !== null && <Refused error={edit.error} />}
      {there !== undefined && (
        <Notice kind="warning">
          <p>
            {trans.__('There now: %1.', props.words(there))}{' '}
            {wish === 'write'
              ? trans.__('Yours: %1. Nothing was changed.', props.mine)
              : trans.__('You wanted to remove it. Nothing was changed.')}
          </p>
          <button className="hai-Button" type="button" onClick={() => props.onTake(there)}>
            {trans.__('Take what is there')}
          </button>{' '}
          <button
            className={`hai-Button ${wish === 'remove' ? 'hai-mod-danger' : ''}`}
            type="button"
            disabled={edit.busy}
            onClick={() => onAgain(wish, there)}
          >
            {wish === 'write' ? trans.__('Write mine over it') : trans.__('Remove it all the same')}
          </button>
        </Notice>
      )}
    </>
  );
}
