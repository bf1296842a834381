/** Means and peaks of each run, as a table. */

import { useMemo, type JSX } from 'react';
import type { IRun, ITaskSeries } from '../../api/types';
import { between, duration, moment } from '../../text/format';
import { RUN_COLUMNS, runRows, type IRunRow } from './figures';
import { energyText, valueText } from './units';
import { trans } from '../../text/translate';

/** Latest runs that the table shows. */
const ROWS = 50;

export function ByRun(props: { series: ITaskSeries; runs: readonly IRun[] }): JSX.Element | null {
  const { series, runs } = props;
  const rows = useMemo(() => runRows(series, runs).slice(0, ROWS), [series, runs]);
  const columns = RUN_COLUMNS.map((column, index) => ({ ...column, index })).filter(({ index }) =>
    rows.some(row => row.cells[index])
  );
  const gpus = rows.some(row => row.gpus !== null);
  const titles = [
    trans.__('Run'),
    trans.__('Started'),
    trans.__('Took'),
    ...columns.map(column => column.title())
  ];
  if (rows.length === 0) {
    return null;
  }
  return (
    <section className="hai-Performance-runs" aria-label={trans.__('Means and peaks by run')}>
      <h4>{trans.__('Means and peaks by run')}</h4>
      <p>
        {trans.__(
          'The mean of a rank or GPU, and the greatest value of any: of a whole run and all its ranks where the run has ended, else of the time and the ranks that are shown.'
        )}
      </p>
      <div className="hai-Runs hai-Runs-scroll">
        <table data-testid="hai-performance-runs">
          <thead>
            <tr>
              {[
                ...titles,
                ...(gpus ? [trans.__('GPUs idle'), trans.__('Energy of GPUs')] : []),
                trans.__('Of')
              ].map(title => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(row => (
              <tr key={row.run}>
                <th scope="row">{row.run}</th>
                <Times run={runs.find(({ number }) => number === row.run)} />
                {columns.map(({ index, title, unit }) => {
                  const cell = row.cells[index];
                  return (
                    <td key={title()}>
                      {cell
                        ? trans.__('%1, peak %2', valueText(cell.mean, unit), valueText(cell.peak, unit))
                        : '–'}
                    </td>
                  );
                })}
                {gpus && <OfGpus row={row} />}
                <td>{row.whole ? trans.__('whole run') : trans.__('time shown')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function Times({ run }: { run: IRun | undefined }): JSX.Element {
  return (
    <>
      <td>{run ? moment(run.started_at) : ''}</td>
      <td>{run ? duration(between(run.started_at, run.ended_at ?? Date.now())) : ''}</td>
    </>
  );
}

function OfGpus({ row }: { row: IRunRow }): JSX.Element {
  return row.gpus === null ? (
    <>
      <td>–</td>
      <td>–</td>
    </>
  ) : (
    <>
      <td>{trans.__('%1 % of their time', Math.round(100 * row.gpus.idle))}</td>
      <td>{energyText(row.gpus.joules)}</td>
    </>
  );
}
