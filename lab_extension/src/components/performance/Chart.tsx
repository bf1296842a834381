/** One chart: title, what it shows, curves with the turns below them, legend, and a table. */

import { memo, useEffect, useId, useRef, useState, type JSX, type KeyboardEvent } from 'react';
import type { IRun } from '../../api/types';
import { toggled } from '../../models/choice';
import { moment } from '../../text/format';
import { ENDING_WORDS } from '../task/Timeline';
import type { IChart, ILine } from './charts';
import { lastOf, sentenceOf } from './figures';
import { marksOf, type IMark } from './marks';
import { colourOf, dashOf, LEFT, Plot, RIGHT, type IAxisNames } from './plot';
import { valueText } from './units';
import { trans } from '../../text/translate';
import { Table } from '../Table';

/** Rows of a table. */
const ROWS = 60;

export interface IChartProps {
  chart: IChart;
  /** From when to when, Unix times in seconds. */
  window: readonly [number, number];
  /** The turns of the task that it is about; none: it is about no task. */
  runs?: readonly IRun[];
  /** The length of the spans in seconds. */
  step: number;
  /** Charts of the same name show the same moment. */
  sync: string;
  /** Another theme has another number. */
  theme: number;
  /** How places of the time axis are written, where these are no Unix times: the seconds since something. */
  clock?: (at: number) => string;
  /** What the axes are called; none: a task's own charts have words enough. */
  names?: IAxisNames;
  /** Another part of the time axis is to be shown, null: all of it; none: it cannot be chosen. */
  onZoom?: (part: readonly [number, number] | null) => void;
}

/** How a chart writes its times. */
type Clock = (at: number) => string;

function ofDay(at: number): string {
  return moment(at * 1000);
}

/** A chart whose lines stay the same: give it a `key` of them. */
export const Chart = memo(function Chart(props: IChartProps): JSX.Element {
  const { chart, window, step, sync, theme, clock = ofDay } = props;
  const host = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const first = useRef({
    chart,
    window,
    ...(props.clock ? { clock: props.clock } : {}),
    ...(props.names ? { names: props.names } : {}),
    ...(props.onZoom ? { onZoom: props.onZoom } : {})
  });
  const [index, setIndex] = useState<number | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const title = useId();

  useEffect(() => {
    if (!host.current) {
      return undefined;
    }
    const made = new Plot({ host: host.current, ...first.current, sync, onMoment: setIndex });
    const observer = new ResizeObserver(([entry]) => made.resize(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(host.current);
    plot.current = made;
    return () => {
      observer.disconnect();
      made.dispose();
      plot.current = null;
    };
  }, [sync]);
  useEffect(() => plot.current?.update(chart, window), [chart, window]);
  useEffect(() => plot.current?.restyle(), [theme]);

  const toggle = (line: ILine, place: number): void => {
    const now = toggled(hidden, line.key);
    setHidden(now);
    plot.current?.setShown(place, !now.has(line.key));
  };
  const move = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') {
      event.preventDefault();
      plot.current?.step(event.key === 'ArrowLeft' ? -1 : 1);
    } else if (event.key === 'Escape') {
      plot.current?.leave();
    } else if (props.onZoom && plot.current && /^[-+=0]$/.test(event.key)) {
      event.preventDefault();
      const { moment } = plot.current;
      props.onZoom(event.key === '0' ? null : zoomed(window, moment, event.key === '-' ? 2 : 0.5));
    }
  };
  const at = index === null ? null : (chart.x[index] ?? null);
  return (
    <figure className="hai-Chart" aria-labelledby={title} data-testid={`hai-chart-${chart.id}`}>
      <figcaption>
        <h4 id={title}>{chart.title}</h4>
        <p>
          {chart.what}
          {chart.lines.length === 1 &&
            chart.lines[0]?.least &&
            ` ${trans.__('The band is from the least to the greatest value of each %1 s.', step)}`}
        </p>
        <p className="hai-Chart-sentence">{sentenceOf(chart, clock)}</p>
      </figcaption>
      <div
        ref={host}
        className="hai-Chart-plot"
        role="slider"
        tabIndex={0}
        aria-label={trans.__('%1: arrow keys show the values of a moment', chart.title)}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, chart.x.length - 1)}
        aria-valuenow={index ?? Math.max(0, chart.x.length - 1)}
        aria-valuetext={momentText(chart, index, clock)}
        onKeyDown={move}
        onBlur={() => plot.current?.leave()}
      />
      {props.runs && <Marks runs={props.runs} window={window} />}
      <ul className="hai-Chart-legend" aria-label={trans.__('Lines of %1', chart.title)}>
        {chart.lines.map((line, place) => (
          <li key={line.key}>
            <button
              aria-pressed={!hidden.has(line.key)}
              title={hidden.has(line.key) ? trans.__('Show this line') : trans.__('Hide this line')}
              onClick={() => toggle(line, place)}
              onMouseEnter={() => plot.current?.emphasise(place)}
              onMouseLeave={() => plot.current?.emphasise(null)}
              onFocus={() => plot.current?.emphasise(place)}
              onBlur={() => plot.current?.emphasise(null)}
            >
              <Sample look={line.look ?? place} /> {line.label}
              <b>{shownValue(chart, line, index)}</b>
            </button>
          </li>
        ))}
        <li className="hai-Soft">{at === null ? trans.__('newest values') : clock(at)}</li>
      </ul>
      <Values chart={chart} clock={clock} />
    </figure>
  );
});

/** A part of the time axis around a moment, `by` times as long. */
function zoomed(
  [from, to]: readonly [number, number],
  moment: number,
  by: number
): readonly [number, number] {
  return [moment - (moment - from) * by, moment + (to - moment) * by];
}

function shownValue(chart: IChart, line: ILine, index: number | null): string {
  const value = index === null ? lastOf(line) : line.values[index];
  return typeof value === 'number' ? valueText(value, chart.unit) : '–';
}

function momentText(chart: IChart, index: number | null, clock: Clock): string {
  const values = chart.lines.map(line => `${line.label} ${shownValue(chart, line, index)}`).join(', ');
  const at = index === null ? null : chart.x[index];
  return trans.__('%1: %2', at === null || at === undefined ? trans.__('newest') : clock(at), values);
}

/** A piece of a line, as it is drawn. */
export function Sample({ look }: { look: number }): JSX.Element {
  return (
    <svg className="hai-Chart-sample" width="28" height="8" aria-hidden="true">
      <line
        x1="0"
        y1="4"
        x2="28"
        y2="4"
        strokeDasharray={dashOf(look).join(' ')}
        style={{ stroke: `var(${colourOf(look)})` }}
      />
    </svg>
  );
}

/** The turns of the task, and the times between them, on the time axis of the curves. */
function Marks(props: { runs: readonly IRun[]; window: readonly [number, number] }): JSX.Element {
  const marks = marksOf(props.runs, props.window);
  const words = (mark: IMark): string => trans.__('run %1, %2', mark.run, ENDING_WORDS[mark.ending]());
  const label =
    marks.length === 0
      ? trans.__('No turn in this time')
      : trans.__('Turns in this time: %1', marks.map(words).join('; '));
  return (
    <div
      className="hai-Marks"
      role="img"
      aria-label={label}
      style={{ marginLeft: `${LEFT}px`, marginRight: `${RIGHT}px` }}
    >
      {marks.map(mark => (
        <span
          key={mark.run}
          className={`hai-Marks-turn hai-mod-${mark.ending}`}
          title={words(mark)}
          style={{ left: `${mark.left}%`, width: `${mark.width}%` }}
        >
          {mark.width > 5 ? trans.__('run %1', mark.run) : ''}
        </span>
      ))}
    </div>
  );
}

/** The newest values as a table, made only while it is open. */
function Values({ chart, clock }: { chart: IChart; clock: Clock }): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <details className="hai-Runs" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{trans.__('As a table')}</summary>
      {open && (
        <Table
          around="hai-Runs-scroll"
          className=""
          items={rowsOf(chart)}
          keyOf={row => row}
          columns={[
            { title: trans.__('Time'), head: true, cell: row => clock(chart.x[row] ?? 0) },
            ...chart.lines.map(line => ({
              title: line.label,
              cell: (row: number) => shownValue(chart, line, row)
            }))
          ]}
        />
      )}
    </details>
  );
}

/** The places of the newest points, the latest first. */
function rowsOf(chart: IChart): number[] {
  const rows: number[] = [];
  for (let index = chart.x.length - 1; index >= 0 && rows.length < ROWS; index -= 1) {
    if (chart.lines.some(line => typeof line.values[index] === 'number')) {
      rows.push(index);
    }
  }
  return rows;
}
