/** What a job reports of itself: how far it has come, and small curves of its numbers. */

import { useState, type JSX } from 'react';
import type { ITaskDetail } from '../../api/types';
import { progressText } from '../../text/format';
import type { ICurve } from '../../models/curves';
import { trans } from '../../text/translate';
import { short } from '../performance/units';

/** Curves that are shown until the reader asks for all. */
const FEW = 6;
const WIDTH = 160;
const HEIGHT = 36;

export function Reported(props: { task: ITaskDetail; curves: readonly ICurve[] }): JSX.Element | null {
  const { task, curves } = props;
  const [all, setAll] = useState(false);
  const { progress } = task;
  if (progress === null) {
    return null;
  }
  const shown = all ? curves : curves.slice(0, FEW);
  return (
    <section className="hai-Reported" aria-label={trans.__('Progress')} data-testid="hai-task-progress">
      {progress.total !== null && progress.total > 0 && (
        <progress
          max={progress.total}
          value={Math.min(progress.step, progress.total)}
          aria-label={progressText(progress)}
        />
      )}
      <span>{progressText(progress)}</span>
      {shown.length > 0 && (
        <ul className="hai-Curves">
          {shown.map(curve => (
            <li key={curve.name}>
              <Curve curve={curve} />
            </li>
          ))}
        </ul>
      )}
      {curves.length > shown.length && (
        <button className="hai-Button hai-mod-small" onClick={() => setAll(true)}>
          {trans.__('Show all %1 numbers', curves.length)}
        </button>
      )}
    </section>
  );
}

function Curve({ curve }: { curve: ICurve }): JSX.Element {
  const { name, last, least, greatest } = curve;
  return (
    <figure className="hai-Curve" title={trans.__('%1: from %2 to %3', name, short(least), short(greatest))}>
      <figcaption>
        <span className="hai-Curve-name">{name}</span> <b>{short(last)}</b>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={trans.__(
          '%1: last %2, least %3, greatest %4',
          name,
          short(last),
          short(least),
          short(greatest)
        )}
      >
        {lines(curve).map((points, run) => (
          <polyline key={run} points={points} />
        ))}
      </svg>
    </figure>
  );
}

/** The lines of a curve, one for each run; a run of one point is a short dash. */
export function lines(curve: ICurve): readonly string[] {
  const times = curve.runs.flat().map(([at]) => at);
  const begin = Math.min(...times);
  const span = Math.max(...times) - begin || 1;
  const height = curve.greatest - curve.least;
  const x = (at: number): number => ((at - begin) / span) * (WIDTH - 3) + 1;
  const y = (value: number): number =>
    height > 0 ? HEIGHT - 2 - ((value - curve.least) / height) * (HEIGHT - 4) : HEIGHT / 2;
  return curve.runs.map(points => {
    const drawn = points.map(([at, value]) => `${round(x(at))},${round(y(value))}`);
    const [first] = points;
    return drawn.length > 1 || !first
      ? drawn.join(' ')
      : `${drawn[0]} ${round(x(first[0]) + 1)},${round(y(first[1]))}`;
  });
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
