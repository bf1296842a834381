/** A word in the status bar of a spot container: that it is one, and how long it still has once it must leave. */

import type { JSX } from 'react';
import type { SpotModel } from '../../models/spot';
import { trans } from '../../text/translate';
import { useNow, useSignal } from '../react';
import { clock } from './Countdown';

/** Nothing, where the server is no spot container. */
export function TimeLeft({ model }: { model: SpotModel }): JSX.Element | null {
  useSignal(model.changed);
  const notice = model.status?.notice;
  const now = useNow(500, Boolean(notice) && !model.gone);
  if (model.status?.spot !== true) {
    return null;
  }
  const left = model.secondsLeft(now);
  return (
    <span
      className="hai-StatusItem"
      title={trans.__('This server is on an idle node; when a task needs the node, it ends after a notice')}
    >
      {left === null ? trans.__('Spot container') : trans.__('Spot container: %1 left', clock(left))}
    </span>
  );
}
