/** Why a task has failed: the rank that failed first, and what it said last. */

import type { JSX } from 'react';
import type { IFailure } from '../../api/types';
import { plainText } from '../../text/format';

export function FirstFailure(props: {
  failure: IFailure;
  onShow?: ((rank: number) => void) | undefined;
}): JSX.Element {
  const { failure, onShow } = props;
  const { rank, node, lines, worker } = failure;
  return (
    <section className="hai-FirstFailure" data-testid="hai-task-failure" aria-label="First failure">
      <p>
        Rank {rank} on {node} failed first{howOf(failure)}
        {worker !== null && `; torchrun names ${worker}`}.{' '}
        {onShow && (
          <button className="hai-Link" onClick={() => onShow(rank)}>
            Show its log
          </button>
        )}
      </p>
      {lines.length > 0 && <pre>{lines.map(plainText).join('\n')}</pre>}
    </section>
  );
}

function howOf(failure: IFailure): string {
  if (failure.signal !== null) {
    return `, of signal ${failure.signal}`;
  }
  return failure.exit_code === null ? '' : `, with status ${failure.exit_code}`;
}
