/** A translated text with values that are drawn in their own way. */

import { Fragment, type JSX, type ReactNode } from 'react';

/**
 * Puts what is given into the places %1, %2 of a text: `<Sentence text={trans.__('%1 of %2 free')} values={[<b>3</b>, 8]} />`.
 * A translation may name the places in another order.
 */
export function Sentence(props: { text: string; values: readonly ReactNode[] }): JSX.Element {
  const parts = props.text.split(/%(\d+)/);
  return (
    <>
      {parts.map((part, at) => (
        // Texts and places take turns, and a text does not change its parts.
        <Fragment key={at}>{at % 2 === 0 ? part : props.values[Number(part) - 1]}</Fragment>
      ))}
    </>
  );
}
