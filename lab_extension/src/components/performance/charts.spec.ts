import { describe, expect, it } from 'vitest';
import { aRun } from '../../testing/fakes';
import { aDay, aRank, aRunSeries, aSeries } from '../../testing/series';
import { chartsOf, hasGpus, spacing, type IChart } from './charts';
import { meanOf, peakOf, RUN_COLUMNS, runRows, sentenceOf } from './figures';
import { marksOf } from './marks';
import { broken, dashOf, DASHES, timeText } from './plot';
import { parseRanks, ranksText } from './ranks';
import { energyText, tickSteps, tickText, valueText, type Unit } from './units';

const NOW = 1_000_000;
const chart = (charts: IChart[], id: string): IChart => charts.find(each => each.id === id)!;

describe('the charts of a task', () => {
  it('are those of which something was measured, with a line for each GPU of the only rank', () => {
    const charts = chartsOf(aDay(10, 3, 10, NOW), NOW);
    expect(charts.map(each => each.id)).toEqual([
      'cpu',
      'memory',
      'gpu-use',
      'gpu-sm',
      'gpu-memory',
      'gpu-power',
      'network',
      'disk'
    ]);
    const use = chart(charts, 'gpu-use');
    expect(use.lines.map(line => line.label)).toEqual(
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(gpu => `GPU ${gpu}`)
    );
    expect(use.x).toEqual([NOW - 20, NOW - 10, NOW]);
    expect(chart(charts, 'disk').lines.map(line => line.label)).toEqual(['read', 'written']);
  });

  it('have a line for each of several ranks: the mean of use, the sum of bytes and watts', () => {
    const at = [NOW - 10, NOW];
    const charts = chartsOf(
      aSeries([
        aRunSeries(1, [
          aRank(at, { gpu0_use: [10, 20], gpu1_use: [30, 60], gpu0_power: [100, 100], gpu1_power: [50, 60] }),
          aRank([NOW], { gpu0_use: [5], net_received: [7], net_sent: [8] }, 3)
        ])
      ]),
      NOW
    );
    const use = chart(charts, 'gpu-use');
    expect(use.lines.map(line => [line.label, line.values])).toEqual([
      ['rank 0', [20, 40]],
      ['rank 3', [undefined, 5]]
    ]);
    expect(use.lines[0]?.greatest).toEqual([31, 61]);
    expect(use.what).toContain('the mean over its GPUs');
    const power = chart(charts, 'gpu-power');
    expect(power.lines[0]).toMatchObject({ values: [150, 160], greatest: [150, 160], least: null });
    expect(chart(charts, 'network').lines.map(line => [line.label, line.values[1]])).toEqual([
      ['rank 3', 15]
    ]);
  });

  it('have broken lines between runs and where points are missing, and no others', () => {
    const charts = chartsOf(
      aSeries([
        aRunSeries(1, [aRank([NOW - 200, NOW - 190, NOW - 150], { cpu: [1, 2, 3] })]),
        aRunSeries(2, [aRank([NOW - 140, NOW - 130], { cpu: [4, 5] })])
      ]),
      NOW
    );
    const { x, lines } = chart(charts, 'cpu');
    expect(x.map((at, index) => [at - NOW, lines[0]?.values[index]])).toEqual([
      [-200, 1],
      [-190, 2],
      [-151, null],
      [-150, 3],
      [-141, null],
      [-140, 4],
      [-130, 5]
    ]);
    // uPlot draws the band through what is undefined, and breaks it at null.
    const broken = (values: readonly unknown[] | null | undefined): boolean[] | undefined =>
      values?.map(value => value === null);
    expect(broken(lines[0]?.least)).toEqual(broken(lines[0]?.values));
    expect(broken(lines[0]?.greatest)).toEqual(broken(lines[0]?.values));
  });

  it('go on through the longer spans of old points', () => {
    const old = NOW - 2 * 86_400;
    const charts = chartsOf(
      aSeries([aRunSeries(1, [aRank([old, old + 60, old + 120], { cpu: [1, 2, 3] })])]),
      NOW
    );
    expect(chart(charts, 'cpu').lines[0]?.values).toEqual([1, 2, 3]);
    expect([spacing(NOW, NOW, 10), spacing(old, NOW, 10), spacing(NOW - 40 * 86_400, NOW, 10)]).toEqual([
      10, 60, 600
    ]);
    expect(spacing(old, NOW, 300)).toBe(300);
  });

  it('have no break where two runs share a long span', () => {
    const charts = chartsOf(
      aSeries(
        [
          aRunSeries(1, [aRank([600, 1200], { cpu: [1, 2] })]),
          aRunSeries(2, [aRank([1200, 1800], { cpu: [3, 4] })])
        ],
        600
      ),
      NOW
    );
    expect(chart(charts, 'cpu')).toMatchObject({ x: [600, 1200, 1800], lines: [{ values: [1, 3, 4] }] });
  });

  it('are none where nothing was measured', () => {
    expect(chartsOf(aSeries([aRunSeries(1, [aRank([], {})])]), NOW)).toEqual([]);
    expect(hasGpus(aDay(0, 2, 10, NOW))).toBe(false);
    expect(hasGpus(aDay(1, 2, 10, NOW))).toBe(true);
  });

  it('of a day of 8 GPUs have a line a GPU with all its points', () => {
    const day = aDay(8, 720, 120, NOW);
    const charts = chartsOf(day, NOW);
    const points = charts.flatMap(each => each.lines.map(line => line.values.length));
    expect([points.length, Math.max(...points)]).toEqual([38, 720]);
  });
});

describe('means and peaks', () => {
  const series = aSeries([
    aRunSeries(1, [aRank([10, 20], { cpu: [1, 3], gpu0_use: [50, null], gpu1_use: [null, null] })]),
    aRunSeries(2, [aRank([40], { cpu: [4] }), aRank([40], { cpu: [8] }, 1)])
  ]);

  const place = (title: string): number => RUN_COLUMNS.findIndex(column => column.title() === title);

  it('of each run are of all its ranks and GPUs, the latest run first', () => {
    const rows = runRows(series, []);
    expect(rows.map(each => [each.run, each.whole, each.cells[place('Processors')]])).toEqual([
      [2, false, { mean: 6, peak: 9 }],
      [1, false, { mean: 2, peak: 4 }]
    ]);
    expect(rows[1]?.cells[place('GPU use')]).toEqual({ mean: 50, peak: 51 });
    expect([rows[0]?.cells[place('GPU use')], rows[0]?.gpus]).toEqual([null, null]);
  });

  it('of a run that has ended are those of its summary, also where no point is shown', () => {
    const summary = {
      seconds: 100,
      cpu: { mean: 3, peak: 7 },
      memory: null,
      gpus: 2,
      gpu_seconds: 200,
      gpu_idle_seconds: 50,
      gpu_use: { mean: 60, peak: 100 },
      gpu_memory: null,
      gpu_power: null,
      joules: 7.2e6
    };
    const rows = runRows(series, [
      { number: 0, summary },
      { number: 1, summary },
      { number: 2, summary: null }
    ]);
    expect(rows.map(row => [row.run, row.whole, row.cells[place('Processors')]?.peak])).toEqual([
      [2, false, 9],
      [1, true, 7],
      [0, true, 7]
    ]);
    expect(rows[1]?.gpus).toEqual({ idle: 0.25, joules: 7.2e6 });
    expect(rows[1]?.cells[place('Disk read')]).toBeNull();
    expect([energyText(7.2e6), energyText(9e4), energyText(0)]).toEqual(['2 kWh', '25 Wh', '0 Wh']);
  });

  it('of a chart are said in a sentence', () => {
    const [cpu] = chartsOf(aSeries([aRunSeries(1, [aRank([10, 20], { cpu: [1, 3] })])]), 20);
    expect(sentenceOf(cpu!, at => `T${at}`)).toBe('Mean 2 cores, peak 4 cores at T20.');
    const several = chartsOf(series, 50)[0]!;
    expect(sentenceOf(several, at => `T${at}`)).toMatch(
      /^Means: rank 0 [\d.]+ cores, rank 1 [\d.]+ cores\. Peak 9 cores at T40 \(rank 1\)\.$/
    );
    const many = { ...several, lines: Array.from({ length: 5 }, () => cpu!.lines[0]!) };
    expect(sentenceOf(many, String)).toMatch(/^Mean of all lines 2 cores, peak 4 cores/);
    expect(sentenceOf({ ...cpu!, lines: [] }, String)).toBe('Nothing was measured.');
  });

  it('leave out what is missing', () => {
    expect(meanOf([undefined, 2, null, 4])).toBe(3);
    expect([meanOf([]), peakOf({ x: [] }, { greatest: [] })]).toEqual([null, null]);
  });
});

describe('the turns below the curves', () => {
  const runs = [
    aRun({ number: 1, started_at: '2026-11-21T04:00:00Z', ended_at: '2026-11-21T04:15:00Z' }),
    aRun({ number: 2, started_at: '2026-11-21T04:30:00Z', ended_at: null, state: 'running', reason: null })
  ];
  const at = (time: string): number => Date.parse(`2026-11-21T${time}Z`) / 1000;

  it('lie where they were, and a turn that goes on reaches to the end', () => {
    expect(marksOf(runs, [at('04:00:00'), at('05:00:00')])).toEqual([
      { run: 1, ending: 'saved', left: 0, width: 25 },
      { run: 2, ending: 'running', left: 50, width: 50 }
    ]);
  });

  it('are cut off at the window, and left out beyond it', () => {
    expect(marksOf(runs, [at('04:10:00'), at('04:20:00')])).toEqual([
      { run: 1, ending: 'saved', left: 0, width: 50 }
    ]);
  });
});

describe('a choice of ranks', () => {
  it.each([
    ['0', [0]],
    ['0-3, 7', [0, 1, 2, 3, 7]],
    [' 9 - 10 ,2,2', [2, 9, 10]]
  ])('“%s” is read', (text, ranks) => {
    expect(parseRanks(text, 16)).toEqual(ranks);
    expect(parseRanks(ranksText(ranks), 16)).toEqual(ranks);
  });

  it.each([
    ['', /“” is neither a number/],
    ['all', /“all” is neither a number nor a span such as 0-3/],
    ['3-1', /ends before it begins; write 1-3/],
    ['12-16', /no rank 16; the task has the ranks 0 to 15/],
    ['0-8', /at most 8/],
    ['0-5,7-9', /at most 8/],
    ['-1', /neither/],
    ['1e3', /neither/]
  ])('“%s” is refused with a reason', (text, reason) => {
    expect(() => parseRanks(text, 16)).toThrow(reason);
  });

  it('is written short', () => {
    expect(ranksText([0, 1, 2, 5, 7, 8])).toBe('0-2, 5, 7-8');
  });
});

describe('values', () => {
  it.each<[number, Unit, string]>([
    [1.234, 'cores', '1.2 cores'],
    [0.004, 'cores', '0 cores'],
    [0.25, 'cores', '0.25 cores'],
    [1536, 'bytes', '1.5 KiB'],
    [80 * 2 ** 30, 'bytes', '80 GiB'],
    [2 ** 70, 'bytes', '1048576 PiB'],
    [0, 'bytes/s', '0 B/s'],
    [99.96, '%', '100 %'],
    [412.4, 'W', '412 W']
  ])('%d %s are %s', (value, unit, text) => {
    expect(valueText(value, unit)).toBe(text);
  });

  it('have round ticks', () => {
    expect(tickText(4, 'cores')).toBe('4');
    expect(tickSteps('bytes')).toContain(2 ** 30);
    expect(tickSteps('%')).toEqual(expect.arrayContaining([0.05, 1, 20, 100]));
  });

  it('of the time axis are days, minutes or seconds', () => {
    const noon = new Date(2026, 10, 21, 12, 30, 20).getTime() / 1000;
    expect(timeText(noon, 10)).toBe('12:30:20');
    expect(timeText(noon, 300)).toBe('12:30');
    expect(timeText(noon, 86_400)).toContain('21');
    expect(timeText(new Date(2026, 10, 22).getTime() / 1000, 3600)).toContain('22');
  });

  it('of eight lines differ in their dash', () => {
    expect(new Set(DASHES.map(String)).size).toBe(8);
    expect(dashOf(9)).toEqual(DASHES[1]);
  });
});

describe('a line', () => {
  it.each([
    // Where others have points between its own and the break, these are of the break too.
    [
      [1, undefined, null, undefined, undefined, 2],
      [1, null, null, null, null, 2]
    ],
    [
      [undefined, 1, undefined, 2, null, undefined],
      [undefined, 1, undefined, 2, null, null]
    ],
    [
      [1, undefined, 2],
      [1, undefined, 2]
    ]
  ])('that is broken is so up to its next points: %j', (values, shown) => {
    expect(broken(values)).toEqual(shown);
  });
});
