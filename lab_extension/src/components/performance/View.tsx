/** What the ranks of a task use: charts over a range of time, and means and peaks by run. */

import { useMemo, useState, type JSX } from 'react';
import type { ITaskDetail, ITaskSeries } from '../../api/types';
import { between, duration, moment } from '../../text/format';
import { MOST_RANKS, RANGES, type PerformanceModel, type RangeName } from '../../models/performance';
import type { RecordingsModel } from '../../models/recordings';
import { newestOf } from '../../models/series';
import { Notice, useNow, useSignal, useTheme } from '../react';
import { Chart } from './Chart';
import { chartsOf, hasGpus } from './charts';
import { ByRun } from './ByRun';
import { Recordings } from './Recordings';
import { parseRanks, ranksText } from './ranks';
import { trans } from '../../text/translate';

const RANGE_NAMES = Object.keys(RANGES) as RangeName[];

export interface IPerformanceProps {
  model: PerformanceModel;
  recordings: RecordingsModel;
  task: ITaskDetail;
}

export function PerformanceView(props: IPerformanceProps): JSX.Element {
  const { model, task } = props;
  useSignal(model.changed);
  const theme = useTheme();
  const { series, window } = model;
  const charts = useMemo(
    () => (series === null ? [] : chartsOf(series, window[1])),
    // A window that moves by itself changes no line.
    // eslint-disable-next-line react-hooks/exhaustive-deps
    [series]
  );
  const empty = series !== null && charts.length === 0;
  return (
    <section className="hai-Performance" aria-label={trans.__('Performance')} data-testid="hai-performance">
      <div className="hai-Performance-bar">
        <Ranges model={model} />
        {task.nodes > 1 && <Ranks model={model} ranks={task.nodes} />}
        <span className="hai-Spacer" />
        <Newest task={task} series={series} loading={model.loading} />
      </div>
      {model.error !== null && <Notice kind="warning">{model.error}</Notice>}
      {task.runs.length === 0 && <p className="hai-Empty">{nothingText(task, model.window, Date.now())}</p>}
      {task.runs.length > 0 && series === null && model.error === null && (
        <p className="hai-Empty">{trans.__('Loading…')}</p>
      )}
      {task.runs.length > 0 && empty && (
        <p className="hai-Empty">{nothingText(task, model.window, Date.now())}</p>
      )}
      {series !== null && charts.length > 0 && (
        <>
          <div className="hai-Performance-charts">
            {charts.map(chart => (
              <Chart
                key={`${chart.id} ${chart.lines.map(line => line.key).join(' ')}`}
                chart={chart}
                window={window}
                runs={task.runs}
                step={series.step}
                sync={`hai-task-${task.id}`}
                theme={theme}
              />
            ))}
          </div>
          <Missing series={series} />
          <ByRun series={series} runs={task.runs} />
        </>
      )}
      {task.runs.length > 0 && (
        <Recordings model={props.recordings} running={task.runs.some(run => run.state === 'running')} />
      )}
    </section>
  );
}

function Ranges({ model }: { model: PerformanceModel }): JSX.Element {
  const labels: Record<RangeName, string> = {
    '15m': trans.__('15 min'),
    '1h': trans.__('1 h'),
    '24h': trans.__('24 h'),
    all: trans.__('All')
  };
  return (
    <fieldset className="hai-Choice">
      <legend>{trans.__('Time')}</legend>
      {RANGE_NAMES.map(name => (
        <label key={name}>
          <input
            type="radio"
            name={`hai-range-${model.id}`}
            value={name}
            checked={model.range === name}
            onChange={() => model.setRange(name)}
          />
          {labels[name]}
        </label>
      ))}
    </fieldset>
  );
}

/** Boxes to tick for a few ranks, a text for many. */
function Ranks(props: { model: PerformanceModel; ranks: number }): JSX.Element {
  const { model, ranks } = props;
  if (ranks > MOST_RANKS) {
    return <RankText model={model} ranks={ranks} />;
  }
  const toggle = (rank: number): void => {
    const others = model.ranks.filter(each => each !== rank);
    const chosen = others.length < model.ranks.length ? others : [...others, rank];
    // At least one stays: a view of no rank says nothing.
    model.setRanks(chosen.length === 0 ? [rank] : chosen);
  };
  return (
    <fieldset className="hai-Choice">
      <legend>{trans.__('Ranks')}</legend>
      {Array.from({ length: ranks }, (_, rank) => (
        <label key={rank}>
          <input type="checkbox" checked={model.ranks.includes(rank)} onChange={() => toggle(rank)} />
          {rank}
        </label>
      ))}
    </fieldset>
  );
}

function RankText(props: { model: PerformanceModel; ranks: number }): JSX.Element {
  const { model, ranks } = props;
  const [text, setText] = useState(() => ranksText(model.ranks));
  const [error, setError] = useState<string | null>(null);
  const choose = (): void => {
    try {
      model.setRanks(parseRanks(text, ranks));
      setError(null);
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
    }
  };
  return (
    <form
      className="hai-Choice"
      onSubmit={event => {
        event.preventDefault();
        choose();
      }}
    >
      <label>
        {trans.__('Ranks')}{' '}
        <input
          className="hai-Input hai-mod-small"
          data-testid="hai-performance-ranks"
          value={text}
          placeholder="0-3, 7"
          title={trans.__('Up to %1 of the ranks 0 to %2, such as 0-3, 7', MOST_RANKS, ranks - 1)}
          aria-invalid={error !== null}
          onChange={event => setText(event.target.value)}
          onBlur={choose}
        />
      </label>
      {error !== null && (
        <span className="hai-Choice-error" role="alert">
          {error}
        </span>
      )}
    </form>
  );
}

/** How old the newest point is. */
function Newest(props: { task: ITaskDetail; series: ITaskSeries | null; loading: boolean }): JSX.Element {
  const { task, series, loading } = props;
  const running = task.runs.some(run => run.ended_at === null);
  const now = useNow(1_000, running);
  const newest = series === null ? null : newestOf(series);
  let text = '';
  if (loading) {
    text = trans.__('Reading…');
  } else if (newest !== null) {
    text = running
      ? trans.__('Newest point %1 ago', duration(Math.max(0, now / 1000 - newest)))
      : trans.__('It does not run now; its newest point is of %1', moment(newest * 1000, now));
  }
  return <span className="hai-Soft">{text}</span>;
}

/** What could not be measured, and why. */
function Missing({ series }: { series: ITaskSeries }): JSX.Element | null {
  const texts = [];
  if (!hasGpus(series)) {
    texts.push(
      trans.__(
        'No GPU was measured: the node has none that this task may use, or its driver does not answer.'
      )
    );
  }
  if (!('net_received' in series.units)) {
    texts.push(
      trans.__('Network is measured in pods only: on a node without containers it is that of all tasks.')
    );
  }
  return texts.length === 0 ? null : <p className="hai-Empty">{texts.join(' ')}</p>;
}

/** Why there is no curve; sentences. */
export function nothingText(task: ITaskDetail, [from]: readonly [number, number], now: number): string {
  const last = task.runs.at(-1);
  if (!last) {
    return trans.__('It has not run yet: what it uses is measured from its first start on.');
  }
  if (last.ended_at === null && between(last.started_at, now) < 45) {
    return trans.__('The first numbers come about 20 s after the start.');
  }
  if (Date.parse(task.runs[0]?.started_at ?? '') / 1000 < from) {
    return trans.__('Nothing was measured in this time. Choose a longer one to see earlier turns.');
  }
  return trans.__(
    'Nothing was measured: a command of less than a second is not measured, and points are kept for a year at most.'
  );
}
