/** Means and peaks of each run, as a table. */

import { useMemo, type JSX } from 'react';
import type { IRun, ITaskSeries } from '../../api/types';
import { between, duration, moment } from '../../text/format';
import { RUN_COLUMNS, runRows, type IRunRow } from './figures';
import { energyText, valueText } from './units';
import { trans } from '../../text/translate';
import { Table, type ITableColumn } from '../Table';

/** Latest runs that the table shows. */
const ROWS = 50;

export function ByRun(props: { series: ITaskSeries; runs: readonly IRun[] }): JSX.Element | null {
  const { series, runs } = props;
  const rows = useMemo(() => runRows(series, runs).slice(0, ROWS), [series, runs]);
  const columns = RUN_COLUMNS.map((column, index) => ({ ...column, index })).filter(({ index }) =>
    rows.some(row => row.cells[index])
  );
  if (rows.length === 0) {
    return null;
  }
  const gpus: ITableColumn<IRunRow>[] = [
    {
      title: trans.__('GPUs idle'),
      cell: row => (row.gpus ? trans.__('%1 % of their time', Math.round(100 * row.gpus.idle)) : '–')
    },
    { title: trans.__('Energy of GPUs'), cell: row => (row.gpus ? energyText(row.gpus.joules) : '–') }
  ];
  const runOf = (row: IRunRow): IRun | undefined => runs.find(({ number }) => number === row.run);
  return (
    <section className="hai-Performance-runs" aria-label={trans.__('Means and peaks by run')}>
      <h4>{trans.__('Means and peaks by run')}</h4>
      <p>
        {trans.__(
          'The mean of a rank or GPU, and the greatest value of any: of a whole run and all its ranks where the run has ended, else of the time and the ranks that are shown.'
        )}
      </p>
      <Table
        around="hai-Runs hai-Runs-scroll"
        className=""
        testId="hai-performance-runs"
        items={rows}
        keyOf={row => row.run}
        columns={[
          { title: trans.__('Run'), head: true, cell: row => row.run },
          {
            title: trans.__('Started'),
            cell: row => {
              const run = runOf(row);
              return run && moment(run.started_at);
            }
          },
          {
            title: trans.__('Took'),
            cell: row => {
              const run = runOf(row);
              return run && duration(between(run.started_at, run.ended_at ?? Date.now()));
            }
          },
          ...columns.map(({ index, title, unit }) => ({
            title: title(),
            cell: ({ cells }: IRunRow) => {
              const cell = cells[index];
              return cell
                ? trans.__('%1, peak %2', valueText(cell.mean, unit), valueText(cell.peak, unit))
                : '–';
            }
          })),
          ...(rows.some(row => row.gpus !== null) ? gpus : []),
          { title: trans.__('Of'), cell: row => (row.whole ? trans.__('whole run') : trans.__('time shown')) }
        ]}
      />
    </section>
  );
}
