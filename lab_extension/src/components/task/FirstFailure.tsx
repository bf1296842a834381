/** Why a task has failed: the rank that failed first, and what it said last. */

import type { JSX } from 'react';
import type { IFailure } from '../../api/types';
import { plainText } from '../../text/format';
import { trans } from '../../text/translate';

export function FirstFailure(props: {
  failure: IFailure;
  onShow?: ((rank: number) => void) | undefined;
}): JSX.Element {
  const { failure, onShow } = props;
  const { rank, node, lines, worker } = failure;
  return (
    <section
      className="hai-FirstFailure"
      data-testid="hai-task-failure"
      aria-label={trans.__('First failure')}
    >
      <p>
        {trans.__('Rank %1 on %2 failed first', rank, node)}
        {howOf(failure)}
        {worker !== null && trans.__('; torchrun names %1', worker)}.{' '}
        {onShow && (
          <button className="hai-Link" onClick={() => onShow(rank)}>
            {trans.__('Show its log')}
          </button>
        )}
      </p>
      {lines.length > 0 && <pre>{lines.map(plainText).join('\n')}</pre>}
    </section>
  );
}

function howOf(failure: IFailure): string {
  if (failure.signal !== null) {
    return trans.__(', of signal %1', failure.signal);
  }
  return failure.exit_code === null ? '' : trans.__(', with status %1', failure.exit_code);
}
