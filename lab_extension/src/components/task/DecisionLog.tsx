/** The decisions on a task, and why: the latest first, read only while the log is open. */

import { useState, type JSX } from 'react';
import type { IDecision } from '../../api/types';
import { localTimes, moment } from '../../text/format';
import { trans } from '../../text/translate';

/** Lines that are shown at once. */
const SHOWN = 100;

export interface IDecisionLogProps {
  /** The oldest first. */
  decisions: readonly IDecision[];
  now: number;
  /** It is opened or closed. */
  onShow: (on: boolean) => void;
}

export function DecisionLog(props: IDecisionLogProps): JSX.Element {
  const { decisions, now } = props;
  const [open, setOpen] = useState(false);
  const [most, setMost] = useState(SHOWN);
  const lines = decisions.slice(-most).reverse();
  return (
    <details
      className="hai-Runs hai-Decisions"
      data-testid="hai-decisions"
      onToggle={event => {
        setOpen(event.currentTarget.open);
        props.onShow(event.currentTarget.open);
      }}
    >
      <summary>{trans.__('Decisions on it')}</summary>
      {open && (
        <div className="hai-Runs-scroll">
          {lines.length === 0 ? (
            <p className="hai-Empty">{trans.__('Nothing was decided on it yet.')}</p>
          ) : (
            <ol>
              {lines.map(each => (
                <li key={each.seq} className={`hai-mod-${each.kind.replace('.', '-')}`}>
                  <time dateTime={each.at}>{moment(each.at, now)}</time>
                  <span>{localTimes(each.sentence, Date.parse(each.at))}</span>
                </li>
              ))}
            </ol>
          )}
          {decisions.length > most && (
            <button className="hai-Link" onClick={() => setMost(most + SHOWN)}>
              {trans.__('Show earlier decisions')}
            </button>
          )}
        </div>
      )}
    </details>
  );
}
