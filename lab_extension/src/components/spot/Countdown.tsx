/** The countdown at the top of the window. */

import { useState, type JSX } from 'react';
import { sentenceOf } from '../../api/request';
import { useNow, useSignal } from '../react';
import type { SpotModel } from '../../models/spot';
import { trans } from '../../text/translate';
import { Sentence } from '../Sentence';

/** `4:05`. */
export function clock(seconds: number): string {
  const whole = Math.ceil(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

/** Nothing, until the container must leave; then how long it has, and a way to leave before. */
export function Countdown(props: { model: SpotModel; onLeave: () => Promise<void> }): JSX.Element | null {
  const { model, onLeave } = props;
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  useSignal(model.changed);
  const notice = model.status?.notice;
  const now = useNow(500, Boolean(notice) && !model.gone);
  if (!notice) {
    return null;
  }
  const returns = notice.kind === 'suspend';
  if (model.gone) {
    return (
      <div className="hai-Countdown" role="alert">
        {returns
          ? trans.__('The node was given back. This server starts again when its task has its next turn.')
          : trans.__('This server was stopped.')}
      </div>
    );
  }
  const leave = async (): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      await onLeave();
    } catch (failure) {
      setError(sentenceOf(failure));
      setBusy(false);
    }
  };
  const leaving = busy || model.status?.leaving === true;
  return (
    <div className="hai-Countdown" role="status" title={notice.message}>
      <span>
        <span className="hai-Countdown-why">
          {returns ? trans.__('This node is needed') : trans.__('This server is being stopped')}
          {': '}
        </span>
        <Sentence
          text={trans.__('%1 to save')}
          values={[
            <strong role="timer" key="left">
              {clock(model.secondsLeft(now) ?? 0)}
            </strong>
          ]}
        />
      </span>
      <button
        className="jp-Dialog-button jp-mod-accept jp-mod-styled"
        disabled={leaving}
        onClick={() => void leave()}
      >
        {leaving ? trans.__('Leaving…') : trans.__('I have saved, leave now')}
      </button>
      {error !== null && <span className="hai-Countdown-error">{error}</span>}
    </div>
  );
}
