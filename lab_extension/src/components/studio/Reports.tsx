/** What tasks took in some time, from the ledger: as bars, as a table, and as a file. */

import { useCallback, useMemo, type JSX } from 'react';
import type { IReportQuery } from '../../api/client';
import type { IReportRow, IUsageReport } from '../../api/types';
import { csvOf, download } from '../../text/csv';
import { duration, moment, percent } from '../../text/format';
import { language, trans } from '../../text/translate';
import { Select } from '../Select';
import { Bar, Reading, useAnswer, useSignal } from '../react';
import { Table } from '../Table';
import { useStudio } from './context';
import { changeQuery, useRouter, type Query } from './router';

const DAY = 86_400_000;
/** Lengths of time that can be chosen, in days; none: this month. */
const RANGES = ['', '1', '7', '30', '90', '365'] as const;
const BYS = ['user', 'group', 'priority', 'node_group', 'kind', 'day', 'month'] as const;

/** What an address asks for. */
export function reportQuery(query: Query, now: number): IReportQuery {
  const by = BYS.find(each => each === query.by);
  const days = Number(query.days);
  return {
    ...(by === undefined ? {} : { by }),
    ...(RANGES.includes((query.days ?? '') as (typeof RANGES)[number]) && days > 0
      ? { since: new Date(now - days * DAY).toISOString() }
      : {}),
    ...(query.user === undefined ? {} : { user: query.user })
  };
}

function byWords(): Record<(typeof BYS)[number], string> {
  return {
    user: trans.__('User'),
    group: trans.__('User group'),
    priority: trans.__('Priority'),
    node_group: trans.__('Node group'),
    kind: trans.__('Kind of work'),
    day: trans.__('Day'),
    month: trans.__('Month')
  };
}

export function ReportsPage(): JSX.Element {
  const { api, cluster } = useStudio();
  const router = useRouter();
  useSignal(cluster.changed);
  const { by, days, user } = router.route.query;
  const asked = useMemo(
    () =>
      Object.fromEntries(
        Object.entries({ by, days, user }).filter(
          (entry): entry is [string, string] => entry[1] !== undefined
        )
      ),
    [by, days, user]
  );
  const { value: report, error } = useAnswer(
    useCallback(() => api.report(reportQuery(asked, Date.now())), [api, asked])
  );
  return (
    <>
      <h1>{trans.__('Reports')}</h1>
      <Choices query={asked} shown={report?.by} onChange={words => changeQuery(router, words)} />
      <Reading error={error} ready={report !== null} />
      {report && <Report report={report} />}
    </>
  );
}

function Choices(props: {
  query: Query;
  shown: IUsageReport['by'] | undefined;
  onChange: (words: Query) => void;
}): JSX.Element {
  const words = byWords();
  const ranges: Record<(typeof RANGES)[number], string> = {
    '': trans.__('This month'),
    '1': trans.__('The last 24 hours'),
    '7': trans.__('The last 7 days'),
    '30': trans.__('The last 30 days'),
    '90': trans.__('The last 90 days'),
    '365': trans.__('The last 365 days')
  };
  return (
    <div className="hai-Filters" role="search">
      <Select
        className="hai-mod-small"
        aria-label={trans.__('By')}
        value={props.query.by ?? props.shown ?? 'user'}
        onChange={event => props.onChange({ by: event.target.value })}
        options={BYS.map(value => ({ value, label: trans.__('By %1', words[value].toLowerCase()) }))}
      />
      <Select
        className="hai-mod-small"
        aria-label={trans.__('Time')}
        value={props.query.days ?? ''}
        onChange={event => props.onChange({ days: event.target.value })}
        options={RANGES.map(value => ({ value, label: ranges[value] }))}
      />
    </div>
  );
}

function hours(seconds: number): string {
  return (seconds / 3600).toLocaleString(language(), { maximumFractionDigits: 1 });
}

interface IReportColumn {
  title: string;
  text: (row: IReportRow) => string;
  value: (row: IReportRow) => string | number | null;
}

/** The columns of the table, and of the file. */
export function reportColumns(): IReportColumn[] {
  const inHours = (title: string, of: (row: IReportRow) => number): IReportColumn => ({
    title,
    text: row => hours(of(row)),
    value: row => Math.round((of(row) / 3600) * 1000) / 1000
  });
  const whole = (title: string, of: (row: IReportRow) => number): IReportColumn => ({
    title,
    text: row => of(row).toLocaleString(language()),
    value: of
  });
  const wait = (title: string, of: (row: IReportRow) => number | null): IReportColumn => ({
    title,
    text: row => {
      const seconds = of(row);
      return seconds === null ? '–' : duration(seconds);
    },
    value: of
  });
  return [
    inHours(trans.__('Node hours'), row => row.node_s),
    inHours(trans.__('GPU hours'), row => row.gpu_s),
    { title: trans.__('Useful'), text: row => percent(row.useful_share), value: row => row.useful_share },
    inHours(trans.__('Lost'), row => row.lost_s),
    inHours(trans.__('Idle GPU hours'), row => row.gpu_idle_s),
    whole(trans.__('Runs'), row => row.starts),
    whole(trans.__('Interruptions'), row => row.interruptions),
    { title: trans.__('Failed'), text: row => percent(row.failure_rate), value: row => row.failure_rate },
    wait(trans.__('Wait, median'), row => row.wait_median_s),
    wait(trans.__('Wait, p90'), row => row.wait_p90_s),
    {
      title: trans.__('Cost'),
      text: row => amounts(row, amountText) || '–',
      value: row => amounts(row, amount => amount)
    }
  ];
}

/** An amount as its reader writes numbers; it has two digits behind the point already. */
function amountText(amount: string): string {
  return Number(amount).toLocaleString(language(), { minimumFractionDigits: 2 });
}

function amounts(row: IReportRow, text: (amount: string) => string): string {
  return Object.entries(row.amounts)
    .map(([currency, amount]) => `${text(amount)} ${currency}`)
    .join(', ');
}

function Report({ report }: { report: IUsageReport }): JSX.Element {
  const columns = reportColumns();
  const most = Math.max(...report.rows.map(row => row.node_s), 1);
  const first = byWords()[report.by];
  const all = { ...report.total, key: trans.__('All together') };
  const save = (): void =>
    download(
      `hai-report-${report.by}.csv`,
      csvOf(
        [first, ...columns.map(column => column.title)],
        report.rows.map(row => [row.key, ...columns.map(column => column.value(row))])
      )
    );
  return (
    <section className="hai-Card" aria-label={trans.__('Report')}>
      <p className="hai-Report-sentence">
        {trans.__(
          'From %1 to %2: %3 node hours, of which %4 were useful.',
          moment(report.since),
          moment(report.until),
          hours(report.total.node_s),
          percent(report.total.useful_share)
        )}
      </p>
      {report.rows.length === 0 ? (
        <p className="hai-Empty">{trans.__('No task ran in this time.')}</p>
      ) : (
        <Table
          region={trans.__('Report')}
          testId="hai-report"
          items={[...report.rows, all]}
          keyOf={row => row.key}
          rowClass={row => (row === all ? 'hai-mod-total' : undefined)}
          columns={[
            { title: first, head: true, cell: row => row.key },
            {
              title: trans._p('part of all', 'Share'),
              className: 'hai-Report-bar',
              cell: row =>
                row !== all && (
                  <Bar
                    label={trans.__('%1: %2 node hours', row.key, hours(row.node_s))}
                    total={most}
                    parts={[
                      { className: 'hai-mod-useful', value: row.useful_s },
                      { className: 'hai-mod-rest', value: row.node_s - row.useful_s }
                    ]}
                  />
                )
            },
            ...columns.map(({ title, text }) => ({ title, number: true, cell: text }))
          ]}
        />
      )}
      <p className="hai-Soft">
        {trans.__('The full part of a bar is useful time, the striped part is the rest.')}{' '}
        <button className="hai-Link" onClick={save}>
          {trans.__('Save as CSV')}
        </button>
      </p>
      {report.notes.map(note => (
        <p key={note} className="hai-Soft">
          {note}
        </p>
      ))}
    </section>
  );
}
