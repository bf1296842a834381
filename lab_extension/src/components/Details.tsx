/** The lists below a question: what the answer should be made from. */

import type { JSX } from 'react';
import { trans } from '../text/translate';
import { numberText } from '../text/words';
import type { IQuestion } from './host';

/** Lines of a list that are shown: a dialog is no table. */
const LINES = 40;

export function Details({ of }: { of: IQuestion }): JSX.Element | null {
  const lists = (of.details ?? []).filter(list => list.lines.length > 0);
  return lists.length === 0 ? null : (
    // It can be longer than the dialog, and then the keyboard scrolls it.
    <div className="hai-Details" tabIndex={0} role="region" aria-label={of.title}>
      {lists.map(({ title, lines }) => (
        <section key={title}>
          <h3>{title}</h3>
          <ul>
            {lines.slice(0, LINES).map((line, at) => (
              // Two lines may say the same, and none changes its place while the dialog is open.
              <li key={at}>{line}</li>
            ))}
            {lines.length > LINES && <li>{trans.__('and %1 more', numberText(lines.length - LINES))}</li>}
          </ul>
        </section>
      ))}
    </div>
  );
}

/** The same with the question's own sentence before it, for dialogs that take one body. */
export function DetailedBody({ of }: { of: IQuestion }): JSX.Element {
  return (
    <div>
      <p>{of.body}</p>
      <Details of={of} />
    </div>
  );
}
