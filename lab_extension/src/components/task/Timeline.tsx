/** The runs of a task as bars over time. */

import { useState, type JSX } from 'react';
import type { IRun, ITaskDetail } from '../../api/types';
import { between, duration, endingOf, moment, nodeList, type RunEnding } from '../../text/format';
import { count, priorityLabel, numberText } from '../../text/words';
import { layOut, type IRunBar } from './timeline';
import { useNarrow } from '../react';
import { Table } from '../Table';
import { trans } from '../../text/translate';

export const ENDING_WORDS: Record<RunEnding, () => string> = {
  running: () => trans.__('running'),
  leaving: () => trans.__('told to leave'),
  succeeded: () => trans.__('succeeded'),
  saved: () => trans.__('left, its work saved'),
  unknown: () => trans.__('left, saving unknown'),
  ended: () => trans.__('ended before it had saved'),
  failed: () => trans.__('failed')
};

/** Latest runs that the table shows. */
const ROWS = 50;

/** A run in a sentence. */
export function runSentence(run: IRun, now: number): string {
  const length = duration(between(run.started_at, run.ended_at ?? now));
  const parts = [
    trans.__('Run %1, %2, %3 on %4', run.number, priorityLabel(run.priority), length, nodeList(run.nodes)),
    ENDING_WORDS[endingOf(run)]()
  ];
  if (run.because !== null && run.reason !== 'succeeded') {
    parts.push(run.because);
  }
  if (run.lost_s) {
    parts.push(trans.__('%1 of node time lost', duration(run.lost_s)));
  }
  if (run.haienv) {
    parts.push(trans.__('with %1@%2', run.haienv.name, run.haienv.generation));
  }
  return `${parts.join('; ')}.`;
}

export function Timeline(props: { task: ITaskDetail; now: number }): JSX.Element {
  const { task, now } = props;
  const [hovered, setHovered] = useState<number | null>(null);
  const narrow = useNarrow();
  const timeline = layOut(task, now, narrow ? 3 : 7);
  const shown = timeline.bars.find(bar => bar.run.number === hovered);
  const endings = [...new Set(timeline.bars.map(bar => bar.ending))];
  return (
    <section className="hai-Timeline" aria-label={trans.__('Runs')}>
      <header className="hai-Timeline-header">
        <h3>{trans.__('Runs')}</h3>
        <span className="hai-Timeline-sum">
          {task.runs.length === 0
            ? trans.__('It has not run yet.')
            : `${count(task.runs.length, 'run')} · ${count(task.suspensions, 'suspension')}`}
        </span>
        <span className="hai-Spacer" />
        <span className="hai-Legend">
          <span className="hai-Legend-item">
            <i className="hai-Swatch hai-mod-waiting" /> {trans.__('waiting')}
          </span>
          {endings.map(ending => (
            <span key={ending} className="hai-Legend-item">
              <i className={`hai-Swatch hai-mod-${ending}`} /> {ENDING_WORDS[ending]()}
            </span>
          ))}
        </span>
      </header>
      <div className="hai-Timeline-plot">
        <div className="hai-Timeline-lane">
          {timeline.bars.map(bar => (
            <RunBar key={bar.run.number} bar={bar} now={now} onHover={setHovered} />
          ))}
        </div>
        <div className="hai-Timeline-axis" aria-hidden="true">
          {timeline.ticks.map(tick => (
            <span
              key={tick.at}
              className={`hai-Timeline-tick ${tick.left > 94 ? 'hai-mod-last' : ''}`}
              style={{ left: `${tick.left}%` }}
            >
              {axisLabel(tick.at, timeline.end - timeline.start)}
            </span>
          ))}
        </div>
        {shown && <RunTip bar={shown} now={now} />}
      </div>
      {task.runs.length > 0 && <RunTable runs={task.runs} now={now} />}
    </section>
  );
}

function axisLabel(at: number, span: number): string {
  const date = new Date(at);
  if (span > 3 * 86_400_000) {
    return date.toLocaleDateString([], { day: 'numeric', month: 'short' });
  }
  return date.toLocaleTimeString([], {
    hour: '2-digit',
    minute: '2-digit',
    hour12: false,
    ...(span < 600_000 ? { second: '2-digit' } : {})
  });
}

function RunBar(props: { bar: IRunBar; now: number; onHover: (run: number | null) => void }): JSX.Element {
  const { bar, now, onHover } = props;
  const { run } = bar;
  return (
    <div
      className={`hai-RunBar hai-mod-${bar.ending}`}
      data-testid={`hai-run-${run.number}`}
      role="img"
      tabIndex={0}
      aria-label={runSentence(run, now)}
      style={{ left: `${bar.left}%`, width: `${bar.width}%` }}
      onMouseEnter={() => onHover(run.number)}
      onMouseLeave={() => onHover(null)}
      onFocus={() => onHover(run.number)}
      onBlur={() => onHover(null)}
    >
      {bar.leaving && (
        <span
          className="hai-RunBar-leaving"
          style={{ left: `${bar.leaving.left}%`, width: `${bar.leaving.width}%` }}
        />
      )}
      {bar.saved !== null && <span className="hai-RunBar-saved" style={{ left: `${bar.saved}%` }} />}
      {bar.width > 4 && <span className="hai-RunBar-number">{run.number}</span>}
    </div>
  );
}

function RunTip(props: { bar: IRunBar; now: number }): JSX.Element {
  const { bar, now } = props;
  const { run } = bar;
  const middle = bar.left + bar.width / 2;
  return (
    <div
      className={`hai-RunTip ${middle > 60 ? 'hai-mod-left' : ''}`}
      role="tooltip"
      style={middle > 60 ? { right: `${100 - middle}%` } : { left: `${middle}%` }}
    >
      <b>{trans.__('Run %1', run.number)}</b> · {priorityLabel(run.priority)} · {ENDING_WORDS[bar.ending]()}
      <dl>
        <dt>{trans.__('Nodes')}</dt>
        <dd>{nodeList(run.nodes, 8)}</dd>
        <dt>{trans.__('Time')}</dt>
        <dd>
          {moment(run.started_at, now)} –{' '}
          {run.ended_at === null ? trans.__('now') : moment(run.ended_at, now)} (
          {duration(between(run.started_at, run.ended_at ?? now))})
        </dd>
        {run.because !== null && (
          <>
            <dt>{run.state === 'ended' ? trans.__('Ended') : trans.__('Told')}</dt>
            <dd>{run.because}</dd>
          </>
        )}
        {run.checkpoint && (
          <>
            <dt>{trans.__('Saved')}</dt>
            <dd>
              {moment(run.checkpoint.at, now)}
              {run.checkpoint.step === null
                ? ''
                : `, ${trans.__('step %1', numberText(run.checkpoint.step))}`}
            </dd>
          </>
        )}
        {run.lost_s ? (
          <>
            <dt>{trans.__('Lost')}</dt>
            <dd>{trans.__('%1 of node time', duration(run.lost_s))}</dd>
          </>
        ) : null}
      </dl>
    </div>
  );
}

function RunTable(props: { runs: readonly IRun[]; now: number }): JSX.Element {
  const { now } = props;
  const runs = [...props.runs].reverse().slice(0, ROWS);
  return (
    <details className="hai-Runs">
      <summary>
        {props.runs.length > ROWS ? trans.__('Latest %1 runs as a table', ROWS) : trans.__('As a table')}
      </summary>
      <Table
        around="hai-Runs-scroll"
        className=""
        items={runs}
        keyOf={run => run.number}
        columns={[
          { title: trans.__('Run'), head: true, cell: run => run.number },
          { title: trans.__('Started'), cell: run => moment(run.started_at, now) },
          {
            title: trans.__('Took'),
            cell: run => duration(between(run.started_at, run.ended_at ?? now))
          },
          { title: trans.__('Priority'), cell: run => priorityLabel(run.priority) },
          {
            title: trans.__('Nodes'),
            cell: run => <span title={run.nodes.join(', ')}>{nodeList(run.nodes)}</span>
          },
          {
            title: trans.__('Ended'),
            cell: run => (
              <>
                <i className={`hai-Swatch hai-mod-${endingOf(run)}`} /> {ENDING_WORDS[endingOf(run)]()}
              </>
            )
          },
          { title: trans.__('Because'), cell: run => (run.reason === null ? '' : run.because) },
          {
            title: trans.__('Saved'),
            cell: ({ checkpoint }) =>
              checkpoint &&
              (checkpoint.step === null
                ? moment(checkpoint.at, now)
                : trans.__('step %1', numberText(checkpoint.step)))
          }
        ]}
      />
    </details>
  );
}
