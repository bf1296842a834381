/** A chart on a canvas, by uPlot. It has no words: title, legend and table are beside it. */

import uPlot from 'uplot';
import type { IChart, Value } from './charts';
import { tickSteps, tickText } from './units';

/** The height of a chart, its time axis included, and the room left and right of its curves; in pixels. */
const HEIGHT = 150;
export const LEFT = 76;
export const RIGHT = 26;
/** The room of an axis's name. */
const NAME = 18;

/** As many lines as these have colours of their own; `--hai-line-0` and so on in the style sheet. */
const COLOURS = 8;

/** Dashes of lines, so that no line is told by its colour alone. */
export const DASHES: readonly (readonly number[])[] = [
  [],
  [7, 3],
  [2, 2],
  [9, 3, 2, 3],
  [14, 4],
  [4, 2, 1, 2, 1, 2],
  [1, 4],
  [16, 3, 4, 3]
];

/** The dash of a line of this look. */
export function dashOf(look: number): number[] {
  return [...(DASHES[look % DASHES.length] ?? [])];
}

/** The name of the colour of a line of this look. */
export function colourOf(look: number): string {
  return `--hai-line-${look % COLOURS}`;
}

/** Distances of ticks on an axis of lengths of time, in seconds. */
const LENGTHS: readonly number[] = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map(minutes => 60 * minutes),
  ...[1, 2, 3, 6, 12].map(hours => 3_600 * hours),
  ...[1, 2, 5, 10, 20, 50, 100].map(days => 86_400 * days)
];

/** The words below a moment on the time axis: days where ticks are days apart, seconds where they are close. */
export function timeText(at: number, distance: number): string {
  const date = new Date(at * 1000);
  if (distance >= 86_400 || (date.getHours() === 0 && date.getMinutes() === 0 && distance >= 3_600)) {
    return date.toLocaleDateString([], { day: 'numeric', month: 'short' });
  }
  return date.toLocaleTimeString([], {
    hour: '2-digit',
    minute: '2-digit',
    hour12: false,
    ...(distance < 60 ? { second: '2-digit' } : {})
  });
}

/** What the axes are called. */
export interface IAxisNames {
  x: string;
  y: string;
}

/**
 * The values of a line in which it is broken all the way: uPlot leaves out only what is beside a null, and where the line has
 * no point of its own, others may have some.
 */
export function broken(values: readonly Value[]): Value[] {
  const whole = [...values];
  const spread = (at: number, by: 1 | -1): void => {
    if (whole[at] === null && at + by in whole && whole[at + by] === undefined) {
      whole[at + by] = null;
    }
  };
  whole.forEach((_, at) => spread(at, 1));
  whole.forEach((_, at) => spread(whole.length - 1 - at, -1));
  return whole;
}

export interface IPlotOptions {
  host: HTMLElement;
  chart: IChart;
  /** From when to when, Unix times in seconds. */
  window: readonly [number, number];
  /** Charts of the same name show the same moment. */
  sync: string;
  /** How places of the time axis are written, where these are no Unix times. */
  clock?: (at: number) => string;
  /** What is written beside the axes; none: nothing. */
  names?: IAxisNames;
  /** The pointer is at another moment: its place in `x`, or null. */
  onMoment: (index: number | null) => void;
  /** A part of the time axis is chosen by dragging, or the whole of it by a double click (null). */
  onZoom?: (part: readonly [number, number] | null) => void;
}

/** The curves of one chart; with one line, also the band from its least to its greatest values. */
export class Plot {
  private readonly plot: uPlot;
  private chart: IChart;
  private window: readonly [number, number];
  private index: number | null = null;

  constructor(private readonly options: IPlotOptions) {
    this.chart = options.chart;
    this.window = options.window;
    this.plot = new uPlot(this.settings(), this.data(), options.host);
  }

  /** Show other values of the same lines. */
  update(chart: IChart, window: readonly [number, number]): void {
    this.chart = chart;
    this.window = window;
    this.plot.setData(this.data());
  }

  resize(width: number): void {
    if (width > 0 && width !== this.plot.width) {
      this.plot.setSize({ width, height: this.height });
    }
  }

  /** Draw with the colours of the theme as they are now. */
  restyle(): void {
    this.plot.redraw(false, true);
  }

  setShown(line: number, shown: boolean): void {
    this.plot.setSeries(line + 1, { show: shown });
  }

  /** Make the others pale; null: none. */
  emphasise(line: number | null): void {
    this.plot.setSeries(line === null ? null : line + 1, { focus: true });
  }

  /** Move to the next moment that has a point, to the left or the right. */
  step(by: -1 | 1): void {
    const { x, lines } = this.chart;
    let index = this.index ?? (by < 0 ? x.length : -1);
    do {
      index += by;
    } while (index >= 0 && index < x.length && !lines.some(line => typeof line.values[index] === 'number'));
    const at = x[index];
    if (at !== undefined && at >= this.window[0] && at <= this.window[1]) {
      this.plot.setCursor({ left: this.plot.valToPos(at, 'x'), top: 0 });
    }
  }

  /** The moment that is shown, or the middle of what is seen. */
  get moment(): number {
    const [from, to] = this.window;
    return (this.index === null ? null : this.chart.x[this.index]) ?? (from + to) / 2;
  }

  /** Show no moment. */
  leave(): void {
    this.plot.setCursor({ left: -10, top: -10 });
  }

  dispose(): void {
    this.plot.destroy();
  }

  private data(): uPlot.AlignedData {
    const { x, lines } = this.chart;
    const [only] = lines;
    const band = lines.length === 1 && only?.least ? [only.greatest, only.least] : [];
    return [x, ...[...lines.map(line => line.values), ...band].map(broken)];
  }

  private colour(name: string): string {
    return getComputedStyle(this.options.host).getPropertyValue(name).trim() || '#888';
  }

  private settings(): uPlot.Options {
    const { chart, options } = this;
    const lines = chart.lines.length;
    const banded = lines === 1 && chart.lines[0]?.least !== null;
    const ink = (): string => this.colour('--jp-ui-font-color2');
    const grid = { stroke: () => this.colour('--jp-border-color2'), width: 1 };
    const font = ['11px', this.colour('--jp-ui-font-family')].join(' ');
    const name = (label: string | undefined): uPlot.Axis =>
      label === undefined ? {} : { label, labelFont: font, labelSize: NAME };
    return {
      width: Math.max(200, options.host.clientWidth),
      height: this.height,
      padding: [8, RIGHT, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: options.onZoom !== undefined, y: false, setScale: false },
        bind: { dblclick: () => () => (options.onZoom?.(null), null) },
        points: { size: 6 },
        sync: { key: options.sync }
      },
      focus: { alpha: 0.25 },
      scales: {
        x: { time: options.clock === undefined, range: () => [...this.window] as uPlot.Range.MinMax },
        y: { range: (_, least, most) => this.span(least, most) }
      },
      axes: [
        {
          stroke: ink,
          grid,
          ticks: grid,
          font,
          size: 28,
          ...name(options.names?.x),
          values: (_, at, __, ___, distance) =>
            at.map(each => options.clock?.(each) ?? timeText(each, distance)),
          // A label such as 12:00:00 or 1 min 30 s has this room.
          space: options.clock ? 90 : 70,
          ...(options.clock ? { incrs: [...LENGTHS] } : {})
        },
        {
          stroke: ink,
          grid,
          ticks: grid,
          font,
          size: LEFT - (options.names ? NAME : 0),
          ...name(options.names?.y),
          space: 28,
          incrs: tickSteps(chart.unit),
          values: (_, values) => values.map(value => tickText(value, chart.unit))
        }
      ],
      series: [
        {},
        ...chart.lines.map((line, index) => ({
          label: line.label,
          width: 1.5,
          dash: dashOf(line.look ?? index),
          points: { fill: () => this.colour('--jp-layout-color1') },
          stroke: () => this.colour(colourOf(line.look ?? index))
        })),
        ...(banded ? [edge(), edge()] : [])
      ],
      bands: banded ? [{ series: [2, 3], fill: () => this.colour('--hai-band') }] : [],
      hooks: {
        setCursor: [
          plot => {
            const index = plot.cursor.idx ?? null;
            if (index !== this.index) {
              this.index = index;
              options.onMoment(index);
            }
          }
        ],
        setSelect: [
          plot => {
            const { left, width } = plot.select;
            if (width > 0) {
              plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
              options.onZoom?.([plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')]);
            }
          }
        ]
      }
    };
  }

  private get height(): number {
    return HEIGHT + (this.options.names ? NAME : 0);
  }

  /** The ends of the scale of values. A job's own numbers may be negative, or lie close together far from 0. */
  private span(least: number | null, most: number | null): uPlot.Range.MinMax {
    const { unit } = this.chart;
    if (unit === '' && least !== null && most !== null) {
      const room = (most - least) * 0.08 || Math.abs(most) * 0.08 || 1;
      return [least - room, most + room];
    }
    return [0, unit === '%' ? 100 : most !== null && most > 0 ? most * 1.08 : 1];
  }
}

/** The upper or lower edge of the band, which itself is not drawn. */
function edge(): uPlot.Series {
  return { stroke: 'transparent', width: 0, points: { show: false } };
}
