/** What tasks took in some time: the ledger's report. */

import { useEffect, useState, type JSX } from 'react';
import { sentenceOf } from '../../api/request';
import type { IUsageReport } from '../../api/types';
import { trans } from '../../text/translate';
import { Notice } from '../react';
import { useStudio } from './context';

export function ReportsPage(): JSX.Element {
  const { api } = useStudio();
  const [report, setReport] = useState<IUsageReport | null>(null);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    api.report({}).then(setReport, (reason: unknown) => setError(sentenceOf(reason)));
  }, [api]);
  return (
    <>
      <h1>{trans.__('Reports')}</h1>
      {error !== null && <Notice kind="error">{error}</Notice>}
      {report === null && error === null && <p className="hai-Empty">{trans.__('Loading…')}</p>}
      {report && (
        <div className="hai-Table-scroll">
          <table className="hai-Table">
            <thead>
              <tr>
                <th scope="col">{trans.__('User')}</th>
                <th scope="col">{trans.__('Node hours')}</th>
                <th scope="col">{trans.__('GPU hours')}</th>
                <th scope="col">{trans.__('Runs')}</th>
              </tr>
            </thead>
            <tbody>
              {[...report.rows, report.total].map(row => (
                <tr key={row.key}>
                  <th scope="row">{row.key}</th>
                  <td>{(row.node_s / 3600).toFixed(1)}</td>
                  <td>{(row.gpu_s / 3600).toFixed(1)}</td>
                  <td>{row.starts}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}
